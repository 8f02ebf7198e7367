/* serve.c - an inference server over HTTP with a Prometheus page
 *
 * GET /infer answers with the output of a small network, GET /metrics counts what was
 * answered, how long it took from arrival on and what has come in and waits.  Requests
 * are read as they come and worked on one at a time.  On loopback only. */
#include "example.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/vec.h"
#include "nn/infer.h"

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INPUTS  64
#define HIDDEN  128
#define OUTPUTS 10

static const double bounds_s[] = {0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1,
                                  0.2,   0.5,   1,     2,    5,    10};
#define BOUNDS (sizeof(bounds_s) / sizeof(bounds_s[0]))

struct serve_args {
    struct example_args common;
    int port;
    const char *port_file;
};

struct arrived {
    struct evhttp_request *request;
    double at_s;
};

struct server {
    struct example example;
    struct event_base *base;
    struct event *work;            /* active while somebody waits */
    vec_of(struct arrived) inside; /* from `first` on, in order of arrival */
    size_t first;
    struct infer *infer;
    struct rng rng;
    int rows; /* of a request: what one costs */
    nn_real *x, *y;
    uint64_t buckets[BOUNDS + 1];
    double seconds;
};

static void note_time(struct server *server, double took_s)
{
    size_t bucket = 0;

    while (bucket < BOUNDS && took_s > bounds_s[bucket])
        bucket++;
    server->buckets[bucket]++;
    server->seconds += took_s;
    server->example.step++;
}

/* One request, then whatever else is ready to be read: the page is never kept waiting. */
static void work(evutil_socket_t fd, short what, void *ctx)
{
    struct server *server = ctx;
    struct arrived *next = &server->inside.items[server->first++];
    struct evbuffer *body = evbuffer_new();

    (void)fd;
    (void)what;
    for (int i = 0; i < server->rows * INPUTS; i++)
        server->x[i] = (nn_real)rng_range(&server->rng, -1, 1);
    infer_run(server->infer, server->x, (size_t)server->rows, server->y);
    evbuffer_add_printf(body, "{\"score\": %.5f}\n", (double)server->y[0]);
    evhttp_send_reply(next->request, HTTP_OK, "OK", body);
    evbuffer_free(body);
    note_time(server, example_now_s() - next->at_s);
    if (server->first == server->inside.count || server->first == 1024) {
        server->inside.count -= server->first;
        memmove(server->inside.items, &server->inside.items[server->first],
                server->inside.count * sizeof(server->inside.items[0]));
        server->first = 0;
    }
    if (server->inside.count > 0)
        event_active(server->work, 0, 0);
}

static void take_infer(struct evhttp_request *request, void *ctx)
{
    struct server *server = ctx;

    vec_push(&server->inside, (struct arrived){request, example_now_s()});
    event_active(server->work, 0, 0);
}

static void answer_metrics(struct evhttp_request *request, void *ctx)
{
    const struct server *server = ctx;
    struct evbuffer *body = evbuffer_new();
    uint64_t sum = 0;

    evbuffer_add_printf(
        body,
        "# HELP http_requests_total Requests answered.\n"
        "# TYPE http_requests_total counter\n"
        "http_requests_total{path=\"/infer\",code=\"200\"} %llu\n"
        "# HELP http_requests_inprogress Requests that wait or are worked on.\n"
        "# TYPE http_requests_inprogress gauge\n"
        "http_requests_inprogress %zu\n"
        "# HELP infer_seconds Time from arrival to answer.\n"
        "# TYPE infer_seconds histogram\n",
        (unsigned long long)(server->example.step - server->example.first),
        server->inside.count - server->first);
    for (size_t i = 0; i < BOUNDS; i++) {
        sum += server->buckets[i];
        evbuffer_add_printf(body, "infer_seconds_bucket{le=\"%g\"} %llu\n", bounds_s[i],
                            (unsigned long long)sum);
    }
    sum += server->buckets[BOUNDS];
    evbuffer_add_printf(body,
                        "infer_seconds_bucket{le=\"+Inf\"} %llu\n"
                        "infer_seconds_sum %.6f\ninfer_seconds_count %llu\n",
                        (unsigned long long)sum, server->seconds,
                        (unsigned long long)sum);
    evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Type",
                      "text/plain; version=0.0.4");
    evhttp_send_reply(request, HTTP_OK, "OK", body);
    evbuffer_free(body);
}

static void check_end(evutil_socket_t fd, short what, void *ctx)
{
    struct server *server = ctx;

    (void)fd;
    (void)what;
    if (!example_more(&server->example))
        event_base_loopbreak(server->base);
}

static void make_net(struct server *server, uint64_t seed)
{
    struct params *params = params_create();
    struct mlp net;

    rng_init(&server->rng, seed);
    mlp_init(&net, params, "net", (const int[]){INPUTS, HIDDEN, HIDDEN, OUTPUTS}, 4,
             &server->rng);
    server->infer = infer_create(&net, params);
    params_destroy(params);
    server->x = mem_array(nn_real, (size_t)server->rows * INPUTS);
    server->y = mem_array(nn_real, (size_t)server->rows * OUTPUTS);
}

static int listen_on(struct evhttp *http, const struct serve_args *args)
{
    struct evhttp_bound_socket *bound =
        evhttp_bind_socket_with_handle(http, "127.0.0.1", (ev_uint16_t)args->port);
    struct sockaddr_in address;
    socklen_t length = sizeof(address);
    struct str text = {0};
    struct err err = {0};
    int rc = 0;

    if (!bound) {
        fprintf(stderr, "serve: cannot listen on port %d: %m\n", args->port);
        return -1;
    }
    getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&address, &length);
    str_addf(&text, "%d\n", ntohs(address.sin_port));
    if (args->port_file)
        rc = file_write(args->port_file, text.text, text.length, &err);
    if (rc < 0)
        fprintf(stderr, "serve: %s\n", err.text);
    str_fini(&text);
    return rc;
}

static int run(struct command_call *call)
{
    const struct serve_args *args = call->args;
    const struct timeval often = {.tv_usec = 50000};
    struct server server = {.rows = args->common.size};
    struct evhttp *http;
    struct event *timer;
    int status = 1;

    make_net(&server, args->common.seed);
    server.base = event_base_new();
    event_base_priority_init(server.base, 3); /* all is 1 where nothing else is said */
    server.work = event_new(server.base, -1, 0, work, &server);
    event_priority_set(server.work, 2);
    http = evhttp_new(server.base);
    evhttp_set_cb(http, "/infer", take_infer, &server);
    evhttp_set_cb(http, "/metrics", answer_metrics, &server);
    timer = event_new(server.base, -1, EV_PERSIST, check_end, &server);
    event_add(timer, &often);
    if (listen_on(http, args) == 0) {
        example_begin(&server.example, "serve", &args->common);
        event_base_dispatch(server.base);
        status = example_end(&server.example);
    }
    event_free(timer);
    event_free(server.work);
    vec_free(&server.inside);
    evhttp_free(http);
    event_base_free(server.base);
    infer_destroy(server.infer);
    free(server.x);
    free(server.y);
    return status;
}

static const struct option_spec options[] = {
    EXAMPLE_OPTIONS("64", "rows of a request"),
    {.name = "port",
     .type = OPTION_INT,
     .argument = "PORT",
     .min = 0,
     .max = 65535,
     .offset = offsetof(struct serve_args, port),
     .help = "listen there on loopback; 0: any"},
    {.name = "port-file",
     .type = OPTION_STRING,
     .argument = "FILE",
     .offset = offsetof(struct serve_args, port_file),
     .help = "write the port there"},
    {0},
};

static const struct command serve = {
    .name = "example-serve",
    .summary = "answer inference requests; has a Prometheus page",
    .options = options,
    .args_size = sizeof(struct serve_args),
    .run = run,
};

int main(int argc, char **argv)
{
    return command_main(&serve, argc, argv);
}
