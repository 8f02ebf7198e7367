/* load.c - asks an inference server for so many answers a second
 *
 * Requests leave when their time has come, whether or not earlier ones were answered (an
 * open loop), over many connections.  At its end it waits for what was not answered yet,
 * and tells what was asked, what was answered, and how long answers took. */
#include "example.h"

#include "base/mem.h"

#include <event2/event.h>
#include <event2/http.h>
#include <stdio.h>
#include <stdlib.h>

#define CONNECTIONS 64
#define MAX_SAMPLES 200000
#define LAST_S      10.0 /* for the last answers to come */

struct load_args {
    struct example_args common;
    int port;
    double rate;
};

struct load {
    struct example example;
    const struct load_args *args;
    struct event_base *base;
    struct evhttp_connection *connections[CONNECTIONS];
    uint64_t answered, failed;
    uint64_t in_flight;
    double ending_s; /* since when nothing more is asked; 0: it goes on */
    double *took_s;  /* (sample_count) */
    size_t sample_count;
};

struct asked {
    struct load *load;
    double at_s;
};

static void on_answer(struct evhttp_request *request, void *ctx)
{
    struct asked *asked = ctx;
    struct load *load = asked->load;

    load->in_flight--;
    if (request && evhttp_request_get_response_code(request) == HTTP_OK) {
        load->answered++;
        if (load->sample_count < MAX_SAMPLES)
            load->took_s[load->sample_count++] = example_now_s() - asked->at_s;
    } else {
        load->failed++;
    }
    free(asked);
}

static void ask(struct load *load)
{
    struct evhttp_connection *connection =
        load->connections[load->example.step % CONNECTIONS];
    struct asked *asked = mem_new(struct asked);
    struct evhttp_request *request = evhttp_request_new(on_answer, asked);

    *asked = (struct asked){.load = load, .at_s = example_now_s()};
    evhttp_add_header(evhttp_request_get_output_headers(request), "Host", "localhost");
    load->in_flight++;
    if (evhttp_make_request(connection, request, EVHTTP_REQ_GET, "/infer") < 0) {
        load->in_flight--;
        load->failed++;
        free(asked);
    }
    load->example.step++;
}

static void on_time(evutil_socket_t fd, short what, void *ctx)
{
    struct load *load = ctx;
    double due = (example_now_s() - load->example.started_s) * load->args->rate;

    (void)fd;
    (void)what;
    if (load->ending_s == 0 && !example_more(&load->example))
        load->ending_s = example_now_s();
    if (load->ending_s > 0) {
        if (load->in_flight == 0 || example_now_s() - load->ending_s > LAST_S)
            event_base_loopbreak(load->base);
        return;
    }
    while ((double)(load->example.step - load->example.first) < due &&
           load->in_flight < 1000)
        ask(load);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double quantile_ms(const struct load *load, double share)
{
    size_t index = (size_t)(share * (double)load->sample_count);

    if (load->sample_count == 0)
        return 0;
    return 1e3 *
           load->took_s[index < load->sample_count ? index : load->sample_count - 1];
}

static int run(struct command_call *call)
{
    const struct timeval often = {.tv_usec = 5000};
    struct load load = {.args = call->args};
    struct event *timer;
    int status;

    load.took_s = mem_array(double, MAX_SAMPLES);
    load.base = event_base_new();
    for (int i = 0; i < CONNECTIONS; i++)
        load.connections[i] = evhttp_connection_base_new(load.base, NULL, "127.0.0.1",
                                                         (ev_uint16_t)load.args->port);
    timer = event_new(load.base, -1, EV_PERSIST, on_time, &load);
    event_add(timer, &often);
    example_begin(&load.example, "load", &load.args->common);
    event_base_dispatch(load.base);
    status = example_end(&load.example);
    qsort(load.took_s, load.sample_count, sizeof(double), compare);
    printf("load: asked %llu, answered %llu, failed %llu, p50 %.2f ms, p99 %.2f ms\n",
           (unsigned long long)(load.example.step - load.example.first),
           (unsigned long long)load.answered, (unsigned long long)load.failed,
           quantile_ms(&load, 0.5), quantile_ms(&load, 0.99));
    event_free(timer);
    for (int i = 0; i < CONNECTIONS; i++)
        evhttp_connection_free(load.connections[i]);
    event_base_free(load.base);
    free(load.took_s);
    return status;
}

static const struct option_spec options[] = {
    EXAMPLE_OPTIONS("1", "unused here"),
    {.name = "port",
     .type = OPTION_INT,
     .argument = "PORT",
     .min = 1,
     .max = 65535,
     .default_text = "8000",
     .offset = offsetof(struct load_args, port),
     .help = "of the server, on loopback"},
    {.name = "rate",
     .type = OPTION_DOUBLE,
     .argument = "R",
     .min = 0.01,
     .max = 100000,
     .default_text = "50",
     .offset = offsetof(struct load_args, rate),
     .help = "requests per second"},
    {0},
};

static const struct command load = {
    .name = "example-load",
    .summary = "ask an inference server for answers",
    .options = options,
    .args_size = sizeof(struct load_args),
    .run = run,
};

int main(int argc, char **argv)
{
    return command_main(&load, argc, argv);
}
