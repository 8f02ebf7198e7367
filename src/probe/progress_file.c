/* progress_file.c - the count a job keeps in a file, see progress_file.h
 *
 * job_meter.c looks four times a window; a count that is new goes into sources.c. */
#include "probe/progress_file.h"

#include "base/json.h"
#include "probe/heartbeat.h"
#include "probe/match_private.h"

#include <ctype.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

    if (heartbeat_parse(&beat, text, length, NULL) < 0 ||
        (isnan(beat.steps) && isnan(beat.rate)))
        return false;
    *hit = match_told(beat.unit);
    hit->count = beat.steps;
    hit->rate = beat.rate;
    hit->rank = beat.rank;
    return true;
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
