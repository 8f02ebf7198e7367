/* attempt.c - one start of one job: its record, its files, its marks
 *
 * start.c and adopt.c make attempts, watch_jobs.c and stop.c follow them to their end,
 * local.c keeps the list. */
#include "engine/local/local_private.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"

#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define SMALL_FILE 4096

struct attempt *attempt_create_nobody(struct local_engine *e, uint64_t job, int number)
{
    struct attempt *a = mem_new(struct attempt);
    struct str path = {0};

    a->engine = e;
    a->job = job;
    a->number = number;
    a->nobody = true;
    a->device_count = 1;
    str_addf(&path, "%s/jobs/%llu/attempt-%d", e->state_dir, (unsigned long long)job,
             number);
    a->dir = str_take(&path);
    snprintf(a->aside, sizeof(a->aside), "aside/probe-%llu-%d", (unsigned long long)job,
             number);
    a->pidfd = a->result_fd = -1;
    a->probe_watch.fd = a->result_watch.fd = -1;
    a->cpu_s = a->counted_s = NAN;
    return a;
}

struct attempt *attempt_create(struct local_engine *e, const struct engine_job *job)
{
    struct attempt *a = attempt_create_nobody(e, job->job->id, job->attempt);
    char above[24] = "gang";

    a->nobody = false;
    a->service = job->job->kind == JOB_INFERENCE;
    a->uid = job->uid;
    a->gid = job->gid;
    a->grace_s = job->stop_grace_s;
    a->checkpoint_signal = job->checkpoint_signal;
    a->device_count = job->device_count;
    memcpy(a->devices, job->devices, (size_t)job->device_count * sizeof(*job->devices));
    if (a->device_count == 1)
        snprintf(above, sizeof(above), "device-%d", a->devices[0]);
    snprintf(a->group, sizeof(a->group), "%s/job-%llu-%d", above,
             (unsigned long long)a->job, a->number);
    return a;
}

void attempt_close_probe(struct attempt *a)
{
    poller_set(a->engine->poller, &a->probe_watch, -1, 0);
    if (a->pidfd >= 0)
        close(a->pidfd);
    a->pidfd = -1;
}

void attempt_close_result(struct attempt *a)
{
    poller_set(a->engine->poller, &a->result_watch, -1, 0);
    if (a->result_fd >= 0)
        close(a->result_fd);
    a->result_fd = -1;
}

void attempt_destroy(struct attempt *a)
{
    if (!a)
        return;
    attempt_close_probe(a);
    attempt_close_result(a);
    vec_free(&a->members);
    vec_free(&a->threads);
    free(a->dir);
    free(a);
}

void attempt_explain(struct attempt *a, const char *format, ...)
{
    va_list args;

    if (a->why[0])
        return;
    va_start(args, format);
    vsnprintf(a->why, sizeof(a->why), format, args);
    va_end(args);
}

/* Bytes read, at most size - 1, the last ones of a longer file; -1 when it is not a plain
 * file of that name. */
static ssize_t read_plain(const struct attempt *a, const char *name, char *text,
                          size_t size)
{
    struct str path = {0};
    struct stat info;
    ssize_t n = -1;
    int fd;

    str_addf(&path, "%s/%s", a->dir, name);
    fd = open(str_text(&path), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    str_fini(&path);
    if (fd < 0)
        return -1;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
        off_t from =
            info.st_size > (off_t)(size - 1) ? info.st_size - (off_t)(size - 1) : 0;

        n = pread(fd, text, size - 1, from);
    }
    close(fd);
    if (n >= 0)
        text[n] = '\0';
    return n;
}

/* ---- the key ----------------------------------------------------------------------
 *
 * A name and marks in an environment are anybody's to have.  The key is in the attempt's
 * folder, where only its user can read it, and in a file of ours beside it. */

static void key_path(const struct attempt *a, bool ours, struct str *path)
{
    str_addf(path, ours ? "%s.key" : "%s/key", a->dir);
}

static int write_key(const struct attempt *a, bool ours, struct err *err)
{
    struct str path = {0};
    size_t length = strlen(a->key);
    int fd, rc = -1;

    key_path(a, ours, &path);
    if (ours)
        unlink(str_text(&path)); /* of a folder that was put aside */
    fd =
        open(str_text(&path), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, a->key, length) != (ssize_t)length ||
        (!ours && geteuid() == 0 && fchown(fd, a->uid, a->gid) < 0))
        err_sys(err, "cannot write %s", str_text(&path));
    else
        rc = 0;
    if (fd >= 0)
        close(fd);
    str_fini(&path);
    return rc;
}

int attempt_make_key(struct attempt *a, struct err *err)
{
    unsigned char random[(PROBE_KEY_SIZE - 1) / 2];

    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return err_sys(err, "cannot draw a random number");
    for (size_t i = 0; i < sizeof(random); i++)
        snprintf(a->key + 2 * i, 3, "%02x", random[i]);
    return write_key(a, true, err) < 0 || write_key(a, false, err) < 0 ? -1 : 0;
}

void attempt_read_key(struct attempt *a)
{
    struct str path = {0};

    key_path(a, true, &path);
    if (file_head(str_text(&path), a->key, sizeof(a->key)) < 0)
        a->key[0] = '\0';
    str_fini(&path);
}

bool attempt_has_key(const struct attempt *a, const char *key)
{
    return !a->key[0] || strcmp(a->key, key) == 0;
}

bool attempt_read_status(const struct attempt *a, struct probe_report *status)
{
    char text[SMALL_FILE];
    struct probe_report s;
    struct err err;
    ssize_t n = read_plain(a, "status", text, sizeof(text));

    if (n <= 0 || probe_status_parse(&s, text, (size_t)n, &err) < 0)
        return false;
    if (s.job != a->job || s.attempt != a->number || !attempt_has_key(a, s.key))
        return false;
    *status = s;
    return true;
}

bool attempt_read_pids(const struct attempt *a, struct process_id *probe,
                       struct process_id *child)
{
    char text[SMALL_FILE];
    long long probe_start, child_start = 0;
    int probe_pid, child_pid = 0;

    if (read_plain(a, "pid", text, sizeof(text)) <= 0)
        return false;
    if (sscanf(text, "probe=%d probe_start=%lld child=%d child_start=%lld", &probe_pid,
               &probe_start, &child_pid, &child_start) < 2 ||
        probe_pid <= 1 || probe_start < 0 || child_pid < 0 || child_start < 0)
        return false;
    *probe = (struct process_id){probe_pid, (uint64_t)probe_start};
    *child = (struct process_id){child_pid, (uint64_t)child_start};
    return true;
}

void attempt_read_message(const struct attempt *a, char *text, size_t size)
{
    char messages[SMALL_FILE];
    char *line;

    text[0] = '\0';
    if (read_plain(a, "messages", messages, sizeof(messages)) <= 0)
        return;
    for (size_t n = strlen(messages); n > 0 && messages[n - 1] == '\n'; n--)
        messages[n - 1] = '\0';
    line = strrchr(messages, '\n');
    str_copy(text, size, line ? line + 1 : messages);
}

bool attempt_marked(const struct attempt *a, pid_t pid)
{
    char texts[3][512];
    const char *const all[] = {texts[0], texts[1], texts[2]};

    snprintf(texts[0], sizeof(texts[0]), "CORGI_ENGINE=%s", a->engine->state_dir);
    snprintf(texts[1], sizeof(texts[1]), "CORGI_JOB_ID=%llu", (unsigned long long)a->job);
    snprintf(texts[2], sizeof(texts[2]), "CORGI_ATTEMPT=%d", a->number);
    return process_environ_has(pid, all, 3);
}

bool attempt_is_probe(const struct attempt *a, pid_t pid)
{
    char text[16 + PROBE_KEY_SIZE];
    const char *const mark = text;
    uid_t uid;

    snprintf(text, sizeof(text), PROBE_KEY_MARK "=%s", a->key);
    return process_user(pid, &uid) && (a->nobody || uid == a->uid) &&
           attempt_marked(a, pid) && (!a->key[0] || process_environ_has(pid, &mark, 1));
}
