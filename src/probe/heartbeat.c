/* heartbeat.c - the socket a job reports its own progress to, see heartbeat.h
 *
 * job_meter.c opens it and reads it; `corgi-probe --beat` sends to it from inside a
 * job; progress_file.c reads lines of the same kind. */
#include "probe/heartbeat.h"

#include "base/parse.h"
#include "base/str.h"
#include "probe/probe_report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define MAX_NUMBER 1e18
#define MAX_RANK   1000000

static int take_number(const struct fields *f, double *target, struct err *err)
{
    double number;

    if (!parse_double(f->value, &number) || number < 0 || number > MAX_NUMBER)
        return err_set(err, ERR_FORMAT, "a heartbeat has %s=%.40s, which is no number",
                       f->key, f->value);
    *target = number;
    return 0;
}

static int take_pair(struct heartbeat *beat, const struct fields *f, struct err *err)
{
    if (!strcmp(f->key, "rate"))
        return take_number(f, &beat->rate, err);
    if (!strcmp(f->key, "steps") || !strcmp(f->key, "step"))
        return take_number(f, &beat->steps, err);
    if (!strcmp(f->key, "demand"))
        return take_number(f, &beat->demand, err);
    if (!strcmp(f->key, "rank")) {
        int rank;

        if (!parse_int(f->value, &rank) || rank < 0 || rank > MAX_RANK)
            return err_set(err, ERR_FORMAT, "a heartbeat has rank=%.40s", f->value);
        beat->rank = rank;
    }
    if (!strcmp(f->key, "unit")) {
        const struct work_unit *unit = units_find(f->value, strlen(f->value));

        beat->unit = unit ? unit : units_item();
    }
    return 0;
}

int heartbeat_parse(struct heartbeat *beat, const char *text, size_t length,
                    struct err *err)
{
    struct heartbeat b = {.rate = NAN, .steps = NAN, .demand = NAN, .rank = -1};
    struct fields f = {.at = text, .end = text + length};
    int more;

    if (length > HEARTBEAT_MAX_BYTES)
        return err_set(err, ERR_LIMIT, "a heartbeat is longer than %d bytes",
                       HEARTBEAT_MAX_BYTES);
    b.unit = units_find("step", 4);
    while ((more = fields_next(&f)) > 0)
        if (take_pair(&b, &f, err) < 0)
            return -1;
    if (more < 0)
        return err_set(err, ERR_FORMAT, "a heartbeat is not a line of key=value pairs");
    if (isnan(b.rate) && isnan(b.steps) && isnan(b.demand))
        return err_set(err, ERR_FORMAT,
                       "a heartbeat says neither rate, steps nor demand");
    *beat = b;
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
