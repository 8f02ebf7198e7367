/* job_environment.c - run_job.c reads the job's environment here and gives it to
 * supervisor.c, see job_environment.h */
#include "probe/job_environment.h"

#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_BYTES ((size_t)4 << 20)
#define HEARTBEAT  "CORGI_HEARTBEAT"

static int read_all(int fd, struct str *text, struct err *err)
{
    char part[16384];
    ssize_t n;

    while ((n = read(fd, part, sizeof(part))) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_sys(err, "cannot read the job's environment");
        if (text->length + (size_t)n > MOST_BYTES)
            return err_set(err, ERR_LIMIT, "the job's environment is larger than %zu MiB",
                           MOST_BYTES >> 20);
        str_add_bytes(text, part, (size_t)n);
    }
    if (text->length > 0 && text->text[text->length - 1] != '\0')
        return err_set(err, ERR_FORMAT, "the job's environment is cut short");
    return 0;
}

/* Room for one more, the heartbeat's. */
static int split(struct job_environment *env, size_t length, struct err *err)
{
    size_t count = 0;

    for (size_t at = 0; at < length; at += strlen(env->text + at) + 1)
        count++;
    env->items = mem_array(char *, count + 2);
    count = 0;
    for (size_t at = 0; at < length; at += strlen(env->text + at) + 1) {
        char *entry = env->text + at;

        if (!strchr(entry, '=') || *entry == '=')
            return err_set(err, ERR_FORMAT, "'%.40s' in the environment is no NAME=value",
                           entry);
        if (!str_starts(entry, HEARTBEAT "="))
            env->items[count++] = entry;
    }
    return 0;
}

int job_environment_read(struct job_environment *env, int fd, struct err *err)
{
    struct str text = {0};
    size_t length;
    int rc;

    if (fd < 0)
        return 0;
    rc = read_all(fd, &text, err);
    close(fd);
    length = text.length;
    if (rc == 0) {
        str_add(&text, ""); /* never NULL, as that is the probe's own */
        env->text = str_take(&text);
        rc = split(env, length, err);
    }
    str_fini(&text);
    return rc;
}

char *const *job_environment_items(struct job_environment *env)
{
    const char *path = getenv(HEARTBEAT);
    size_t count = 0;

    if (!env->text)
        return environ;
    while (env->items[count] && env->items[count] != env->heartbeat)
        count++;
    free(env->heartbeat);
    env->heartbeat = NULL;
    env->items[count] = NULL;
    if (path && asprintf(&env->heartbeat, HEARTBEAT "=%s", path) >= 0) {
        env->items[count] = env->heartbeat;
        env->items[count + 1] = NULL;
    }
    return env->items;
}

void job_environment_fini(struct job_environment *env)
{
    free(env->heartbeat);
    free(env->items);
    free(env->text);
    *env = (struct job_environment){0};
}
