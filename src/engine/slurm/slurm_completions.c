/* slurm_completions.c - corgi-engine-slurm reads the file, and asks here when the
 * daemon's engine asks what became of a job */
#include "engine/slurm/slurm_completions.h"

#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST_LINE 8192

/* Behind " KEY=" of the line; NULL: it has none. */
static const char *value_of(const char *line, const char *key)
{
    const char *at = strstr(line, key);

    return at ? at + strlen(key) : NULL;
}

static void copy_word(const char *line, const char *key, char *to, size_t size)
{
    const char *at = value_of(line, key);
    size_t length = at ? strcspn(at, " ") : 0;

    length = length < size ? length : size - 1;
    if (at)
        memcpy(to, at, length);
    to[length] = '\0';
}

/* Local time, as Slurm writes it. */
static double time_of(const char *line, const char *key)
{
    struct tm tm = {.tm_isdst = -1};
    char word[32];

    copy_word(line, key, word, sizeof(word));
    if (sscanf(word, "%4d-%2d-%2dT%2d:%2d:%2d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
               &tm.tm_hour, &tm.tm_min, &tm.tm_sec) != 6)
        return 0;
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    return (double)mktime(&tm);
}

/* A name may have blanks in it: it goes as far as what follows it. */
static void copy_name(const char *line, char *to, size_t size)
{
    const char *at = value_of(line, " Name="),
               *end = at ? strstr(at, " JobState=") : NULL;
    size_t length = end ? (size_t)(end - at) : 0;

    length = length < size ? length : size - 1;
    if (end)
        memcpy(to, at, length);
    to[length] = '\0';
}

static void read_line(const char *line, struct slurm_completion *c)
{
    const char *uid = value_of(line, " UserId="), *exit = value_of(line, " ExitCode=");

    *c = (struct slurm_completion){.start_s = time_of(line, " StartTime="),
                                   .end_s = time_of(line, " EndTime=")};
    uid = uid ? strchr(uid, '(') : NULL;
    c->uid = uid ? (unsigned)strtoul(uid + 1, NULL, 10) : (unsigned)-1;
    copy_name(line, c->name, sizeof(c->name));
    copy_word(line, " JobState=", c->state, sizeof(c->state));
    if (exit)
        sscanf(exit, "%d:%d", &c->exit_status, &c->signal);
}

/* Is it what a slurmctld that forgot the end made of a run that had completed? */
static bool is_afterthought(const struct slurm_completion *last,
                            const struct slurm_completion *read)
{
    return strcmp(last->state, "COMPLETED") == 0 &&
           strcmp(read->state, "NODE_FAIL") == 0 && last->start_s > 0 &&
           last->start_s == read->start_s && last->uid == read->uid &&
           strcmp(last->name, read->name) == 0;
}

bool slurm_completion_find(const char *text, size_t length, const char *job,
                           double since_s, struct slurm_completion *found)
{
    const char *end = text + length;
    struct slurm_completion last = {0};
    struct str begins = {0};
    char line[MOST_LINE];

    str_addf(&begins, "JobId=%s ", job);
    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        size_t bytes = (size_t)((newline ? newline : end) - text);
        struct slurm_completion read;

        if (bytes < sizeof(line) && bytes > begins.length &&
            memcmp(text, begins.text, begins.length) == 0) {
            memcpy(line, text, bytes);
            line[bytes] = '\0';
            read_line(line, &read);
            if (read.end_s >= since_s && !is_afterthought(&last, &read))
                last = read;
        }
        text += bytes + 1;
    }
    str_fini(&begins);
    if (!last.state[0] || strcmp(last.state, "REQUEUED") == 0 ||
        strcmp(last.state, "PENDING") == 0)
        return false;
    *found = last;
    return true;
}

/* ---- slurmdbd ---------------------------------------------------------------------- */

/* Others replace the comment when a job ends, so no mark says nothing. */
static bool may_be(const struct slurm_accounted *r, const char *mark)
{
    return !mark || !r->digest[0] || str_ends(r->digest, mark);
}

static bool same_job(const struct slurm_accounted *a, const struct slurm_accounted *b)
{
    return a->job.uid == b->job.uid &&
           (!a->job.name[0] || !b->job.name[0] || !strcmp(a->job.name, b->job.name));
}

/* Slurm queues it again unless its user said not to, and writes down only why it ended.
 */
static bool may_go_on(const struct slurm_accounted *r)
{
    return r->queued_again || strcmp(r->job.state, "NODE_FAIL") == 0 ||
           strcmp(r->job.state, "PREEMPTED") == 0;
}

const struct slurm_accounted *slurm_accounted_find(const struct slurm_accounted *records,
                                                   size_t count, double since_s,
                                                   double submit_s, const char *mark)
{
    const struct slurm_accounted *now = NULL, *next;
    double from_s = submit_s;

    for (;; now = next, from_s = now->submit_s + 1) {
        next = NULL;
        for (size_t i = 0; i < count; i++) {
            const struct slurm_accounted *r = &records[i];
            bool over = r->job.end_s > 0 && r->job.end_s < since_s;

            if (r->submit_s >= from_s && !over && may_be(r, mark) &&
                (!now || same_job(now, r)) && (!next || r->submit_s < next->submit_s))
                next = r;
        }
        if (!next)
            return now && !now->queued_again && now->job.end_s > 0 ? now : NULL;
        if (!may_go_on(next))
            return next->job.end_s > 0 ? next : NULL;
    }
}
