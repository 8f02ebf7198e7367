/* heartbeat.c - the socket and the file in which a job tells its own progress
 *
 * job_meter.c opens the socket and reads it, and looks at the file four times a window;
 * `corgi-probe --beat` sends to the socket from inside a job. */
#include "probe/heartbeat.h"

#include "base/json.h"
#include "base/parse.h"
#include "base/str.h"
#include "probe/match_private.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define MAX_NUMBER    1e18
#define MAX_RATE      1e9 /* as in loop/record: nothing is faster */
#define MAX_RANK      1000000
#define MAX_LATENCY_S 1e6

static int take_number(const struct fields *f, double most, double *target,
                       struct err *err)
{
    double number;

    if (!parse_double(f->value, &number) || number < 0 || number > most)
        return err_set(err, ERR_FORMAT,
                       "a heartbeat has %s=%.40s, which is no number up to %g", f->key,
                       f->value, most);
    *target = number;
    return 0;
}

static int take_pair(const struct fields *f, struct heartbeat *beat, struct err *err)
{
    const struct {
        const char *key;
        double *target;
        double most;
    } numbers[] = {
        {"rate", &beat->hit.rate, MAX_RATE},
        {"steps", &beat->hit.count, MAX_NUMBER},
        {"step", &beat->hit.count, MAX_NUMBER},
        {"demand", &beat->demand, MAX_RATE},
        {"latency", &beat->service.latency_s, MAX_LATENCY_S},
        {"median", &beat->service.median_s, MAX_LATENCY_S},
        {"busy", &beat->service.busy, 1},
        {"held", &beat->service.held, MAX_NUMBER},
    };

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (!strcmp(f->key, numbers[i].key))
            return take_number(f, numbers[i].most, numbers[i].target, err);
    if (!strcmp(f->key, "rank") && (!parse_int(f->value, &beat->hit.rank) ||
                                    beat->hit.rank < 0 || beat->hit.rank > MAX_RANK))
        return err_set(err, ERR_FORMAT, "a heartbeat has rank=%.40s", f->value);
    if (!strcmp(f->key, "unit")) {
        beat->hit.unit = units_find(f->value, strlen(f->value));
        if (!beat->hit.unit)
            beat->hit.unit = units_item();
    }
    return 0;
}

/* Of a service something may be told without a rate. */
static bool says_something(const struct heartbeat *beat)
{
    const struct probe_service *s = &beat->service;

    return !isnan(beat->hit.rate) || !isnan(beat->hit.count) || !isnan(beat->demand) ||
           !isnan(s->latency_s) || !isnan(s->median_s) || !isnan(s->busy) ||
           !isnan(s->held);
}

int heartbeat_parse(struct heartbeat *beat, const char *text, size_t length,
                    struct err *err)
{
    struct fields f = {.at = text, .end = text + length};
    struct heartbeat told = {.hit = match_told(units_find("step", 4)),
                             .demand = NAN,
                             .service = PROBE_SERVICE_UNKNOWN};
    int more;

    if (length > HEARTBEAT_MAX_BYTES)
        return err_set(err, ERR_LIMIT, "a heartbeat is longer than %d bytes",
                       HEARTBEAT_MAX_BYTES);
    while ((more = fields_next(&f)) > 0)
        if (take_pair(&f, &told, err) < 0)
            return -1;
    if (more < 0)
        return err_set(err, ERR_FORMAT, "a heartbeat is not a line of key=value pairs");
    if (!says_something(&told))
        return err_set(err, ERR_FORMAT,
                       "a heartbeat says neither rate, steps, demand nor latency");
    *beat = told;
    return 0;
}

int heartbeat_send(const char *line, struct err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *path = getenv("CORGI_HEARTBEAT");
    struct heartbeat beat;
    ssize_t sent;
    int fd;

    if (heartbeat_parse(&beat, line, strlen(line), err) < 0)
        return -1;
    if (!path)
        return 0;
    if (!str_copy(address.sun_path, sizeof(address.sun_path), path))
        return err_set(err, ERR_INVALID, "CORGI_HEARTBEAT is too long for a socket");
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return err_sys(err, "cannot make a socket");
    sent = sendto(fd, line, strlen(line), MSG_DONTWAIT | MSG_NOSIGNAL,
                  (const struct sockaddr *)&address, sizeof(address));
    if (sent < 0)
        err_sys(err, "cannot send to %.100s", path);
    close(fd);
    return sent < 0 ? -1 : 0;
}

int heartbeat_open(const char *path, struct err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    mode_t mask;
    int fd, rc;

    if (strlen(path) >= sizeof(address.sun_path))
        return err_set(err, ERR_LIMIT, "the path %s is too long for a socket", path);
    strcpy(address.sun_path, path);
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return err_sys(err, "cannot make a socket");
    unlink(path); /* of an attempt before that was killed */
    mask = umask(0177);
    rc = bind(fd, (const struct sockaddr *)&address, sizeof(address));
    umask(mask);
    if (rc < 0) {
        err_sys(err, "cannot bind %s", path);
        close(fd);
        return -1;
    }
    return fd;
}

int heartbeat_receive(int fd, struct heartbeat *beat)
{
    char text[HEARTBEAT_MAX_BYTES + 1];

    for (;;) {
        ssize_t length = recv(fd, text, sizeof(text), MSG_DONTWAIT);

        if (length < 0 && errno == EINTR)
            continue;
        if (length < 0)
            return 0;
        if (heartbeat_parse(beat, text, (size_t)length, NULL) == 0)
            return 1;
    }
}

/* ---- the progress file ------------------------------------------------------------- */

#define TAIL_BYTES 4096

static bool parse_json(const char *text, size_t length, struct match_hit *hit)
{
    static const char *const keys[] = {"step",       "steps",       "iteration", "iter",
                                       "iterations", "global_step", "count",     "done",
                                       "batch",      "samples"};
    struct json_doc *doc = NULL;
    const struct json_value *root;
    double number;

    if (json_doc_parse(&doc, text, length, "progress", NULL) < 0)
        return false;
    root = json_doc_root(doc);
    *hit = match_told(units_find("step", 4));
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]) && isnan(hit->count); i++)
        if (json_value_number(json_value_get(root, keys[i]), &number) && number >= 0)
            hit->count = number;
    if (json_value_number(json_value_get(root, "rate"), &number) && number >= 0)
        hit->rate = number;
    json_doc_destroy(doc);
    return !isnan(hit->count) || !isnan(hit->rate);
}

static bool parse_pairs(const char *text, size_t length, struct match_hit *hit)
{
    struct heartbeat beat;

    if (heartbeat_parse(&beat, text, length, NULL) < 0)
        return false;
    *hit = beat.hit;
    return !isnan(hit->count) || !isnan(hit->rate);
}

static bool parse_count(const char *text, size_t length, struct match_hit *hit)
{
    const struct scan scan = {.line = text, .end = text + length};
    struct scan_number number, total;
    const char *next;

    for (const char *p = text; p < scan.end; p = next) {
        if (!scan_number(&scan, p, &number, &next))
            continue;
        *hit = match_told(units_find("step", 4));
        hit->count = number.value;
        if (next + 1 < scan.end && *next == '/' &&
            scan_number(&scan, next + 1, &total, &next))
            hit->total = total.value;
        return true;
    }
    return false;
}

bool progress_file_parse(const char *text, size_t length, struct match_hit *hit)
{
    const char *line;

    while (length > 0 && isspace((unsigned char)text[length - 1]))
        length--;
    line = memrchr(text, '\n', length);
    line = line ? line + 1 : text;
    if (length > 0 && text[0] == '{' && parse_json(text, length, hit))
        return true;
    length -= (size_t)(line - text);
    if (length == 0)
        return false;
    if (*line == '{')
        return parse_json(line, length, hit);
    return parse_pairs(line, length, hit) || parse_count(line, length, hit);
}

void progress_file_init(struct progress_file *file, const char *path)
{
    struct stat st;

    *file = (struct progress_file){.path = path, .size = -1};
    if (stat(path, &st) == 0) {
        file->written = st.st_mtim;
        file->size = st.st_size;
    }
}

static double age_of(const struct timespec *written)
{
    struct timespec now;
    double age_s;

    clock_gettime(CLOCK_REALTIME, &now);
    age_s = (double)(now.tv_sec - written->tv_sec) +
            1e-9 * (double)(now.tv_nsec - written->tv_nsec);
    return fmin(fmax(age_s, 0), 1e6);
}

bool progress_file_look(struct progress_file *file, struct match_hit *hit, double *age_s)
{
    char text[TAIL_BYTES];
    struct stat st;
    ssize_t length;
    int fd;

    if (stat(file->path, &st) < 0 || !S_ISREG(st.st_mode))
        return false;
    if (st.st_size == file->size && st.st_mtim.tv_sec == file->written.tv_sec &&
        st.st_mtim.tv_nsec == file->written.tv_nsec)
        return false;
    fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &st) < 0) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    length = pread(fd, text, sizeof(text),
                   st.st_size > TAIL_BYTES ? st.st_size - TAIL_BYTES : 0);
    close(fd);
    file->written = st.st_mtim;
    file->size = st.st_size;
    *age_s = age_of(&st.st_mtim);
    return length > 0 && progress_file_parse(text, (size_t)length, hit);
}
