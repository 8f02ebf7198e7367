/* helper_link.c - slurm_engine.c asks over it; node and job tables get the answers */
#include "engine/slurm/helper_link.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/poller.h"
#include "base/process.h"
#include "base/str.h"
#include "base/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define VERSION      1 /* as HELPER_VERSION of the helper */
#define LINE_BYTES   ((size_t)32 << 20)
#define LINE_VALUES  500000
#define REQUESTS     40   /* the helper takes 64 */
#define TABLES       8    /* of them for looks */
#define PAUSE_S      0.25 /* before the second try; then twice as long each time */
#define PAUSE_MOST_S 10.0
#define STEADY_S     30.0 /* a line that held this long begins to count anew */
#define SLACK_S      2.0  /* of the helper behind a request's own time */

struct link_request {
    double id; /* 0: none */
    const char *op;
    bool order;
    uint64_t tag; /* of an order */
    double deadline_s;
};

struct helper_link {
    int poller;
    struct helper_link_options options;
    char *helper;
    struct helper_link_sink sink;
    int fd; /* -1: down */
    struct poller_watch watch;
    pid_t child; /* 0: none of ours */
    vec_of(pid_t) ended;
    struct str in, out;
    size_t searched; /* of `in`: no newline up to here */
    struct link_request requests[REQUESTS];
    double last_id;
    bool greeted;
    double since_s; /* the line is up, or down, since then */
    double again_s; /* when to try again */
    double pause_s;
};

static const char *const unix_prefix = "unix:";

/* ---- the end of a line ------------------------------------------------------------- */

static void reap(struct helper_link *l)
{
    size_t kept = 0;

    for (size_t i = 0; i < l->ended.count; i++)
        if (waitpid(l->ended.items[i], NULL, WNOHANG) == 0)
            l->ended.items[kept++] = l->ended.items[i];
    l->ended.count = kept;
}

static void hang_up(struct helper_link *l)
{
    if (l->fd >= 0) {
        poller_set(l->poller, &l->watch, -1, 0);
        close(l->fd);
    }
    l->fd = -1;
    if (l->child > 0) {
        kill(l->child, SIGKILL);
        vec_push(&l->ended, l->child);
        l->child = 0;
    }
    reap(l);
    str_clear(&l->in);
    str_clear(&l->out);
    l->searched = 0;
    memset(l->requests, 0, sizeof(l->requests));
    l->greeted = false;
}

static void fail(struct helper_link *l, const char *why)
{
    double now_s = clock_wall_s();

    if (l->greeted && now_s - l->since_s > STEADY_S)
        l->pause_s = 0;
    l->pause_s = l->pause_s > 0 ? fmin(2 * l->pause_s, PAUSE_MOST_S) : PAUSE_S;
    l->again_s = now_s + l->pause_s;
    l->since_s = now_s;
    hang_up(l);
    l->sink.down(l->sink.ctx, why);
}

/* ---- sending ----------------------------------------------------------------------- */

static void flush(struct helper_link *l)
{
    size_t sent = 0;

    while (sent < l->out.length) {
        ssize_t n = send(l->fd, l->out.text + sent, l->out.length - sent, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n <= 0)
            return; /* the reading side will see it */
        sent += (size_t)n;
    }
    if (sent > 0) {
        memmove(l->out.text, l->out.text + sent, l->out.length - sent);
        l->out.length -= sent;
    }
    poller_set(l->poller, &l->watch, l->fd,
               EPOLLIN | (l->out.length > 0 ? (uint32_t)EPOLLOUT : 0));
}

/* In a slot of its own from `first` on; NULL: all are taken. */
static struct link_request *take_slot(struct helper_link *l, int first, int end)
{
    for (int i = first; i < end; i++)
        if (l->requests[i].id == 0)
            return &l->requests[i];
    return NULL;
}

static void send_request(struct helper_link *l, struct link_request *slot,
                         struct link_request what, const char *members)
{
    what.id = ++l->last_id;
    what.deadline_s = clock_wall_s() + l->options.within_s + SLACK_S;
    *slot = what;
    str_addf(&l->out, "{\"id\":%.0f,\"op\":\"%s\",\"within_s\":%g,%s}\n", l->last_id,
             what.op, l->options.within_s, members);
    flush(l);
}

static void ask(struct helper_link *l, const char *op)
{
    struct link_request *slot = take_slot(l, 0, TABLES);
    char version[24];

    for (int i = 0; i < TABLES; i++)
        if (l->requests[i].id > 0 && strcmp(l->requests[i].op, op) == 0)
            return;
    snprintf(version, sizeof(version), "\"version\":%d", VERSION);
    if (slot)
        send_request(l, slot, (struct link_request){.op = op}, version);
}

bool helper_link_order(struct helper_link *l, const char *op, const char *members,
                       uint64_t tag)
{
    struct link_request *slot = l->greeted ? take_slot(l, TABLES, REQUESTS) : NULL;

    if (slot)
        send_request(l, slot, (struct link_request){.op = op, .order = true, .tag = tag},
                     members);
    return slot;
}

void helper_link_ask(struct helper_link *l, const char *op)
{
    if (l->greeted)
        ask(l, op);
}

/* ---- answers ----------------------------------------------------------------------- */

static void greet(struct helper_link *l, const struct json_value *answer)
{
    char why[200];

    if (json_member_number(answer, "version", 0) != VERSION) {
        snprintf(why, sizeof(why),
                 "the helper speaks version %g, this daemon %d: they are of different "
                 "releases of Corgi",
                 json_member_number(answer, "version", 0), VERSION);
        fail(l, why);
    } else if (l->options.read_only && !json_member_bool(answer, "read_only", false)) {
        fail(l, "the helper was not started with --read-only, and this daemon only "
                "advises");
    } else {
        l->greeted = true;
        l->since_s = clock_wall_s();
        l->sink.up(l->sink.ctx);
    }
}

static void take_answer(struct helper_link *l, const struct json_value *answer)
{
    double id = json_member_number(answer, "id", 0);
    const char *error = json_member_string(answer, "error"),
               *code = json_member_string(answer, "code");
    bool ok = json_member_bool(answer, "ok", false);
    struct link_request what = {0};

    for (int i = 0; i < REQUESTS && !what.op; i++)
        if (id > 0 && l->requests[i].id == id) {
            what = l->requests[i];
            l->requests[i].id = 0;
        }
    error = ok ? NULL : error ? error : "the helper does not say why";
    if (!what.op)
        fail(l, "the helper answers what nobody asked");
    else if (strcmp(what.op, "hello") == 0)
        greet(l, answer);
    else if (l->greeted && what.order)
        l->sink.ordered(l->sink.ctx, what.tag,
                        ok ? json_value_get(answer, what.op) : NULL, code ? code : "",
                        error);
    else if (l->greeted)
        l->sink.answer(l->sink.ctx, what.op, ok ? answer : NULL, error);
}

static void take_line(struct helper_link *l, const char *text, size_t length)
{
    struct json_doc *doc;
    struct err err = {0};
    char why[300];

    if (json_doc_parse_few(&doc, text, length, "the helper's answer", LINE_VALUES, &err) <
        0) {
        snprintf(why, sizeof(why), "the helper speaks nonsense: %.200s", err.text);
        fail(l, why);
        return;
    }
    take_answer(l, json_doc_root(doc));
    json_doc_destroy(doc);
}

/* The line may end in the middle of it. */
static void take_lines(struct helper_link *l)
{
    size_t from = 0;
    char *end;

    while (l->fd >= 0 && l->searched < l->in.length &&
           (end = memchr(l->in.text + l->searched, '\n', l->in.length - l->searched))) {
        size_t to = (size_t)(end - l->in.text);

        l->searched = to + 1;
        take_line(l, l->in.text + from, to - from);
        from = to + 1;
    }
    if (l->fd < 0)
        return;
    if (from > 0) {
        memmove(l->in.text, l->in.text + from, l->in.length - from);
        l->in.length -= from;
    }
    l->searched = l->in.length;
    if (l->in.length > LINE_BYTES)
        fail(l, "the helper sends a line without an end");
}

/* It left before it had said hello. */
static const char *why_no_word(const struct helper_link *l, char *why, size_t size)
{
    if (str_starts(l->helper, unix_prefix))
        snprintf(why, size,
                 "the helper at %.150s hangs up: it speaks with root, with its own user "
                 "and with whom its --allow names",
                 l->helper + strlen(unix_prefix));
    else
        snprintf(why, size,
                 "the helper does not start: run %.150s by hand to see why; it must be "
                 "built for this machine's release of Slurm",
                 l->helper);
    return why;
}

static void ready(void *ctx, uint32_t events)
{
    struct helper_link *l = ctx;
    char bytes[65536], why[300];
    ssize_t n;

    if (events & EPOLLOUT)
        flush(l);
    if (!(events & ~(uint32_t)EPOLLOUT))
        return;
    n = recv(l->fd, bytes, sizeof(bytes), 0);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n <= 0) {
        fail(l, l->greeted ? "the helper has gone" : why_no_word(l, why, sizeof(why)));
        return;
    }
    str_add_bytes(&l->in, bytes, (size_t)n);
    take_lines(l);
}

/* ---- a new line -------------------------------------------------------------------- */

static int start_program(struct helper_link *l, struct err *err)
{
    char read_only[] = "--read-only";
    char *words[] = {l->helper, l->options.read_only ? read_only : NULL, NULL};
    int pair[2];
    sigset_t none;
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return err_sys(err, "cannot make a line to the helper");
    sigemptyset(&none);
    pid = fork();
    if (pid == 0) {
        dup2(pair[1], STDIN_FILENO);
        dup2(pair[1], STDOUT_FILENO);
        process_reset_signals(&none);
        execvp(words[0], words);
        _exit(127);
    }
    close(pair[1]);
    if (pid < 0) {
        close(pair[0]);
        return err_sys(err, "cannot start the helper");
    }
    l->child = pid;
    l->fd = pair[0];
    return 0;
}

static int connect_socket(struct helper_link *l, struct err *err)
{
    const char *path = l->helper + strlen(unix_prefix);
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (!str_copy(address.sun_path, sizeof(address.sun_path), path))
        return err_set(err, ERR_INVALID, "%s is too long for a Unix socket", path);
    /* A helper that takes nobody lets its line fill up: then this must not wait. */
    l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (l->fd >= 0 && connect(l->fd, (struct sockaddr *)&address, sizeof(address)) == 0)
        return 0;
    err_sys(err, "no helper listens at %s", path);
    if (l->fd >= 0)
        close(l->fd);
    l->fd = -1;
    return -1;
}

static void dial(struct helper_link *l)
{
    struct err err = {0};
    int rc = str_starts(l->helper, unix_prefix) ? connect_socket(l, &err)
                                                : start_program(l, &err);

    if (rc < 0) {
        fail(l, err.text);
        return;
    }
    fcntl(l->fd, F_SETFL, O_NONBLOCK);
    l->since_s = clock_wall_s();
    l->watch = (struct poller_watch){.fd = -1, .ready = ready, .ctx = l};
    poller_set(l->poller, &l->watch, l->fd, EPOLLIN);
    ask(l, "hello");
}

struct helper_link *helper_link_create(int poller,
                                       const struct helper_link_options *options,
                                       struct helper_link_sink sink)
{
    struct helper_link *l = mem_new(struct helper_link);

    l->poller = poller;
    l->options = *options;
    l->helper = mem_strdup(options->helper);
    l->sink = sink;
    l->fd = -1;
    l->watch.fd = -1;
    return l;
}

void helper_link_destroy(struct helper_link *l)
{
    if (!l)
        return;
    hang_up(l);
    vec_each (pid_t, pid, &l->ended)
        waitpid(*pid, NULL, 0); /* they were killed */
    vec_free(&l->ended);
    str_fini(&l->in);
    str_fini(&l->out);
    free(l->helper);
    free(l);
}

bool helper_link_is_up(const struct helper_link *l)
{
    return l->greeted;
}

double helper_link_advance(struct helper_link *l, double now_s)
{
    double next_s = INFINITY;
    char why[120];

    reap(l);
    if (l->fd < 0 && l->again_s <= now_s)
        dial(l);
    for (int i = 0; l->fd >= 0 && i < REQUESTS; i++) {
        if (l->requests[i].id == 0)
            continue;
        if (l->requests[i].deadline_s <= now_s) {
            snprintf(why, sizeof(why), "the helper has not answered '%s' in time",
                     l->requests[i].op);
            fail(l, why);
            break;
        }
        next_s = fmin(next_s, l->requests[i].deadline_s);
    }
    return l->fd < 0 ? l->again_s : next_s;
}
