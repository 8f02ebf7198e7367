/* helper_server.c - main.c runs it; clients are the daemon's engine/slurm, or tests */
#include "corgi-engine-slurm/helper_server.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/poller.h"
#include "corgi-engine-slurm/helper_socket.h"
#include "corgi-engine-slurm/helper_workers.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define CLIENTS    8
#define LINE_BYTES ((size_t)1 << 20) /* of a request */
#define OUT_BYTES                                                                        \
    ((size_t)64 << 20)   /* that a client has not read: then it is dropped               \
                          */
#define WITHIN_S    10.0 /* a request's time when it names none */
#define WITHIN_MOST 120.0
#define ROWS_MOST   500.0 /* of an answer, when the request names no number */
#define TASKS_MOST  64    /* of a client at once */

struct helper_client {
    uint64_t number;
    int in, out; /* the same of a socket */
    struct poller_watch reading, writing;
    struct helper_server *server;
    struct str line, unsent;
    int tasks;
    time_t since[HELPER_TABLES];
    struct changed_rows *tables[HELPER_TABLES];
    bool loading[HELPER_TABLES];
    bool gone;
};

struct helper_server {
    struct helper_options options;
    int poller, woken;
    struct helper_socket socket;
    struct poller_watch accepting, waking;
    vec_of(struct helper_client *) clients;
    vec_of(struct helper_task *) tasks; /* that are not answered and freed yet */
    uint64_t clients_seen;
    bool ended;
    struct helper_workers *workers;
};

/* ---- answers ----------------------------------------------------------------------- */

static void drop_client(struct helper_client *c)
{
    if (c->gone)
        return;
    c->gone = true;
    poller_set(c->server->poller, &c->reading, -1, 0);
    poller_set(c->server->poller, &c->writing, -1, 0);
    if (c->server->options.socket)
        close(c->in);
    else
        c->server->ended = true;
}

static void flush(struct helper_client *c)
{
    size_t sent = 0;

    while (!c->gone && sent < c->unsent.length) {
        ssize_t n = write(c->out, c->unsent.text + sent, c->unsent.length - sent);

        if (n > 0)
            sent += (size_t)n;
        else if (n < 0 && errno == EINTR)
            continue;
        else if (n < 0 && errno == EAGAIN)
            break;
        else
            drop_client(c);
    }
    if (c->gone)
        return;
    memmove(c->unsent.text, c->unsent.text + sent, c->unsent.length - sent);
    c->unsent.length -= sent;
    poller_set(c->server->poller, &c->writing, c->unsent.length ? c->out : -1,
               c->unsent.length ? EPOLLOUT : 0);
}

static void send_line(struct helper_client *c, struct str *line)
{
    str_add(line, "\n");
    if (c->unsent.length + line->length > OUT_BYTES)
        drop_client(c);
    else if (!c->gone)
        str_add_bytes(&c->unsent, line->text, line->length);
    str_fini(line);
    if (!c->gone)
        flush(c);
}

static void begin_answer(struct json_out *out, struct str *line, double id, bool ok)
{
    json_out_init(out, line, false);
    json_out_begin_object(out);
    json_out_key_number(out, "id", id);
    json_out_key_bool(out, "ok", ok);
}

static void refuse(struct helper_client *c, double id, const char *code,
                   const char *sentence)
{
    struct str line = {0};
    struct json_out out;

    begin_answer(&out, &line, id, false);
    json_out_key_string(&out, "code", code);
    json_out_key_string(&out, "error", sentence);
    json_out_end(&out);
    send_line(c, &line);
}

static void answer_table(struct helper_client *c, enum helper_table table, double id,
                         double most)
{
    struct str line = {0};
    struct json_out out;

    begin_answer(&out, &line, id, true);
    changed_rows_write(c->tables[table], (size_t)most, &out);
    json_out_end(&out);
    send_line(c, &line);
}

static void answer(struct helper_client *c, struct helper_task *t)
{
    enum helper_table table = t->what->table;
    struct str line = {0};
    struct json_out out;

    if (t->rc < 0) {
        refuse(c, t->id,
               t->err.code == ERR_SYSTEM        ? "slurm"
               : t->err.code == ERR_EXISTS      ? "foreign"
               : t->err.code == ERR_UNSUPPORTED ? "rights"
               : t->err.code == ERR_BUSY        ? "busy"
                                                : "refused",
               t->err.text);
    } else if (t->what->load) {
        c->since[table] = t->since;
        if (t->rc == 0)
            changed_rows_set(c->tables[table], &t->rows);
        answer_table(c, table, t->id, t->most);
    } else {
        begin_answer(&out, &line, t->id, true);
        json_out_key(&out, t->what->op);
        json_out_raw(&out, t->members.text);
        json_out_end(&out);
        send_line(c, &line);
    }
}

static struct helper_client *client_of(const struct helper_server *s,
                                       const struct helper_task *t)
{
    for (size_t i = 0; i < s->clients.count; i++)
        if (s->clients.items[i]->number == t->client && !s->clients.items[i]->gone)
            return s->clients.items[i];
    return NULL;
}

/* Answer what is done, and what has waited too long; returns until when to wait. */
static double settle(struct helper_server *s)
{
    double now_s = clock_wall_s(), next_s = INFINITY;
    size_t kept = 0;

    for (size_t i = 0; i < s->tasks.count; i++) {
        struct helper_task *t = s->tasks.items[i];
        struct helper_client *c = client_of(s, t);
        bool done = helper_workers_done(s->workers, t);

        if (!done && !t->late && t->deadline_s <= now_s) {
            t->late = true;
            if (c)
                refuse(c, t->id, "late", "Slurm has not answered in time");
        }
        if (done && c && !t->late)
            answer(c, t);
        if (done && c) {
            c->tasks--;
            if (t->what->load)
                c->loading[t->what->table] = false;
        }
        if (done) {
            helper_task_destroy(t);
        } else {
            s->tasks.items[kept++] = t;
            if (!t->late)
                next_s = fmin(next_s, t->deadline_s);
        }
    }
    s->tasks.count = kept;
    return next_s;
}

/* ---- requests ---------------------------------------------------------------------- */

static void hello(struct helper_client *c, double id, const struct json_value *request)
{
    double version = json_member_number(request, "version", 0);
    struct str line = {0};
    struct json_out out;

    begin_answer(&out, &line, id, version == HELPER_VERSION);
    if (version != HELPER_VERSION) {
        json_out_key_string(&out, "code", "version");
        json_out_key_string(&out, "error", "the helper is of another version of Corgi");
    }
    json_out_key_int(&out, "version", HELPER_VERSION);
    json_out_key_string(&out, "corgi", CORGI_VERSION);
    json_out_key_string(&out, "slurm", slurm_source_version());
    json_out_key_bool(&out, "read_only", c->server->options.read_only);
    json_out_end(&out);
    send_line(c, &line);
}

static void take_request(struct helper_client *c, const struct json_value *request)
{
    double id = json_member_number(request, "id", NAN);
    const char *op = json_member_string(request, "op");
    const struct helper_request *what;
    struct err err = {0};
    struct helper_task *t;
    struct json_out copy;
    double within_s;

    if (!isfinite(id) || !op) {
        refuse(c, isfinite(id) ? id : 0, "request", "a request has an id and an op");
        return;
    }
    if (strcmp(op, "hello") == 0) {
        hello(c, id, request);
        return;
    }
    what = helper_request_find(op, c->server->options.read_only, &err);
    if (!what) {
        refuse(c, id, err.code == ERR_INFEASIBLE ? "read_only" : "request", err.text);
        return;
    }
    if (c->tasks >= TASKS_MOST || (what->load && c->loading[what->table])) {
        refuse(c, id, "busy", "an earlier request is not answered yet");
        return;
    }
    t = mem_new(struct helper_task);
    *t = (struct helper_task){.client = c->number, .id = id, .what = what};
    within_s = json_member_number(request, "within_s", WITHIN_S);
    t->deadline_s = clock_wall_s() + fmin(fmax(within_s, 0.01), WITHIN_MOST);
    t->most = fmin(fmax(json_member_number(request, "most", ROWS_MOST), 1), 1e5);
    if (what->load && changed_rows_waiting(c->tables[what->table])) {
        answer_table(c, what->table, id, t->most); /* the rest of what is known */
        helper_task_destroy(t);
        return;
    }
    if (what->load) {
        c->loading[what->table] = true;
        t->since = c->since[what->table];
    }
    if (what->order) {
        json_out_init(&copy, &t->request, false);
        json_value_write(request, &copy);
    }
    c->tasks++;
    vec_push(&c->server->tasks, t);
    helper_workers_add(c->server->workers, t);
}

static void take_line(struct helper_client *c, const char *text, size_t length)
{
    struct json_doc *doc;
    struct err err = {0};

    if (json_doc_parse_few(&doc, text, length, "request", 10000, &err) < 0) {
        refuse(c, 0, "request", err.text);
        return;
    }
    take_request(c, json_doc_root(doc));
    json_doc_destroy(doc);
}

static void take_lines(struct helper_client *c)
{
    size_t from = 0;
    char *end;

    while (!c->gone && c->line.length > from &&
           (end = memchr(c->line.text + from, '\n', c->line.length - from))) {
        size_t length = (size_t)(end - c->line.text) - from;

        if (length > 0)
            take_line(c, c->line.text + from, length);
        from += length + 1;
    }
    memmove(c->line.text, c->line.text + from, c->line.length - from);
    c->line.length -= from;
    if (c->line.length > LINE_BYTES)
        drop_client(c);
}

static void readable(void *ctx, uint32_t events)
{
    struct helper_client *c = ctx;
    char bytes[65536];
    ssize_t n = read(c->in, bytes, sizeof(bytes));

    (void)events;
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n <= 0) {
        drop_client(c);
        return;
    }
    str_add_bytes(&c->line, bytes, (size_t)n);
    take_lines(c);
}

static void writable(void *ctx, uint32_t events)
{
    (void)events;
    flush(ctx);
}

/* ---- clients ----------------------------------------------------------------------- */

static void add_client(struct helper_server *s, int in, int out)
{
    struct helper_client *c = mem_new(struct helper_client);

    *c = (struct helper_client){
        .number = ++s->clients_seen, .in = in, .out = out, .server = s};
    c->reading = (struct poller_watch){.fd = -1, .ready = readable, .ctx = c};
    c->writing = (struct poller_watch){.fd = -1, .ready = writable, .ctx = c};
    for (int t = 0; t < HELPER_TABLES; t++)
        c->tables[t] = changed_rows_create();
    /* epoll knows a descriptor once: answers go out over a copy. */
    c->out = fcntl(out, F_DUPFD_CLOEXEC, 0);
    fcntl(in, F_SETFL, O_NONBLOCK);
    fcntl(c->out, F_SETFL, O_NONBLOCK);
    poller_set(s->poller, &c->reading, in, EPOLLIN);
    vec_push(&s->clients, c);
}

static void free_client(struct helper_client *c)
{
    close(c->out);
    for (int t = 0; t < HELPER_TABLES; t++)
        changed_rows_destroy(c->tables[t]);
    str_fini(&c->line);
    str_fini(&c->unsent);
    free(c);
}

static void sweep_clients(struct helper_server *s)
{
    size_t kept = 0;

    for (size_t i = 0; i < s->clients.count; i++) {
        if (s->clients.items[i]->gone)
            free_client(s->clients.items[i]);
        else
            s->clients.items[kept++] = s->clients.items[i];
    }
    s->clients.count = kept;
}

static void connecting(void *ctx, uint32_t events)
{
    struct helper_server *s = ctx;
    int fd = helper_socket_accept(&s->socket);

    (void)events;
    if (fd < 0)
        return;
    if (s->clients.count >= CLIENTS) {
        log_warn("client_refused");
        close(fd);
        return;
    }
    add_client(s, fd, fd);
}

static int listen_at(struct helper_server *s, struct err *err)
{
    if (helper_socket_listen(&s->socket, s->options.socket, s->options.allow, CLIENTS,
                             err) < 0)
        return -1;
    s->accepting = (struct poller_watch){.fd = -1, .ready = connecting, .ctx = s};
    poller_set(s->poller, &s->accepting, s->socket.fd, EPOLLIN);
    return 0;
}

/* ---- all of it --------------------------------------------------------------------- */

static void woken(void *ctx, uint32_t events)
{
    const struct helper_server *s = ctx;
    uint64_t count;
    ssize_t n = read(s->woken, &count, sizeof(count));

    (void)events;
    (void)n; /* nothing there is fine */
}

/* The client has said its last word and may still listen. */
static void send_the_rest(struct helper_server *s)
{
    for (size_t i = 0; i < s->clients.count; i++) {
        struct helper_client *c = s->clients.items[i];
        size_t sent = 0;
        ssize_t n = 1;

        fcntl(c->out, F_SETFL, 0);
        while (n > 0 && sent < c->unsent.length) {
            n = write(c->out, c->unsent.text + sent, c->unsent.length - sent);
            sent += n > 0 ? (size_t)n : 0;
        }
    }
}

int helper_server_run(const struct helper_options *options, struct err *err)
{
    struct helper_server s = {.options = *options};

    signal(SIGPIPE, SIG_IGN);
    slurm_source_prepare();
    s.poller = poller_open(err);
    s.woken = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (s.poller < 0 || s.woken < 0)
        return err_sys(err, "cannot make a descriptor to wait on");
    s.waking = (struct poller_watch){.fd = -1, .ready = woken, .ctx = &s};
    poller_set(s.poller, &s.waking, s.woken, EPOLLIN);
    if (helper_workers_start(&s.workers, s.woken, err) < 0)
        return -1;
    if (options->socket && listen_at(&s, err) < 0)
        return -1;
    if (!options->socket)
        add_client(&s, STDIN_FILENO, STDOUT_FILENO);
    while (!s.ended) {
        double next_s = settle(&s);

        if (s.ended) /* its last answer could not be sent */
            break;
        sweep_clients(&s);
        poller_wait(s.poller, fmax(0, next_s - clock_wall_s()));
    }
    send_the_rest(&s);
    /* Workers may be inside of libslurm for a minute: nobody waits for them. */
    _exit(0);
}
