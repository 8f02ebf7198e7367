/* report_spool.c - corgi-report keeps here what it could not deliver yet
 *
 * The file is written as reports come, and cut back to its first line when all of them
 * are delivered; what a killed process left in it comes once more to the daemon, which
 * knows the numbers it has seen. */
#include "probe/report_spool.h"

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/slurm_token.h"
#include "base/vec.h"
#include "probe/probe_report.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".spool"

struct report_spool {
    struct report_origin origin;
    vec_of(char *) lines; /* from `begin` on they wait */
    size_t begin;
    uint64_t first; /* number of lines[begin] */
    char *path;     /* NULL: in memory only */
    int fd;         /* locked; -1: in memory only */
    off_t head;     /* bytes of the first line */
};

int report_run_make(char run[REPORT_RUN_DIGITS + 1], struct err *err)
{
    unsigned char bytes[REPORT_RUN_DIGITS / 2];

    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return err_sys(err, "the system has no random bytes to give");
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(run + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}

/* ---- tokens of jobs -----------------------------------------------------------------
 */

int report_token_read(const char *file, char **token, struct err *err)
{
    const char *given = getenv(REPORT_TOKEN_VARIABLE);
    char line[256] = "";
    FILE *f;

    if (!file && (!given || !*given))
        return err_set(err, ERR_INVALID,
                       "there is no token: give " REPORT_TOKEN_VARIABLE
                       " or --token-file");
    if (!file) {
        *token = mem_strdup(given);
        return 0;
    }
    f = fopen(file, "re");
    if (!f)
        return err_sys(err, "cannot read %s", file);
    if (!fgets(line, sizeof(line), f))
        line[0] = '\0';
    fclose(f);
    line[strcspn(line, "\r\n")] = '\0';
    *token = mem_strdup(line);
    explicit_bzero(line, sizeof(line));
    return 0;
}

int report_token_job(const char *token, uint64_t *job, struct err *err)
{
    static const char prefix[] = "corgi-job-";
    size_t length = 0;
    char digits[24];

    if (str_starts(token, prefix))
        length = strspn(token + strlen(prefix), "0123456789");
    if (length > 0 && length < sizeof(digits)) {
        memcpy(digits, token + strlen(prefix), length);
        digits[length] = '\0';
        if (parse_u64(digits, job) && *job > 0)
            return 0;
    }
    if (slurm_token_is(token)) {
        *job = 0;
        return 0;
    }
    return err_set(err, ERR_INVALID, "the token is not one of a job");
}

/* ---- origins ------------------------------------------------------------------------
 */

static char *copy(const char *text)
{
    return text ? mem_strdup(text) : NULL;
}

static struct report_origin origin_dup(const struct report_origin *o)
{
    struct report_origin made = *o;

    made.daemon = copy(o->daemon);
    made.ca = copy(o->ca);
    made.token = copy(o->token);
    made.node = copy(o->node);
    made.slurm_job = copy(o->slurm_job);
    made.gpus = copy(o->gpus);
    return made;
}

void report_origin_fini(struct report_origin *o)
{
    if (o->token)
        explicit_bzero(o->token, strlen(o->token));
    free(o->daemon);
    free(o->ca);
    free(o->token);
    free(o->node);
    free(o->slurm_job);
    free(o->gpus);
    *o = (struct report_origin){0};
}

static void origin_write(const struct report_origin *o, struct str *text)
{
    struct json_out out;

    json_out_init(&out, text, false);
    json_out_begin_object(&out);
    json_out_key_int(&out, "version", 1);
    json_out_key_string(&out, "daemon", o->daemon);
    json_out_key_string(&out, "ca", o->ca);
    json_out_key_string(&out, "token", o->token);
    json_out_key(&out, "job");
    json_out_u64(&out, o->job);
    json_out_key_string(&out, "run", o->run);
    json_out_key_string(&out, "node", o->node);
    json_out_key_int(&out, "rank", o->rank);
    json_out_key_string(&out, "slurm_job", o->slurm_job);
    json_out_key_bool(&out, "whole", o->whole);
    json_out_key_string(&out, "gpus", o->gpus);
    json_out_end(&out);
    str_add(text, "\n");
}

static int origin_read(struct report_origin *o, const char *line, size_t length,
                       const char *path, struct err *err)
{
    struct json_doc *doc;
    const struct json_value *v;
    const char *run;
    double job = 0, rank = 0;
    int rc = 0;

    if (json_doc_parse_few(&doc, line, length, path, 64, err) < 0)
        return -1;
    v = json_doc_root(doc);
    run = json_member_string(v, "run");
    if (json_member_number(v, "version", 0) != 1 || !json_member_string(v, "daemon") ||
        !json_member_string(v, "token") || !json_member_string(v, "node") || !run ||
        strlen(run) != REPORT_RUN_DIGITS ||
        json_value_need_number(v, "job", 0, 9007199254740991, &job, NULL) < 0 ||
        (job < 1 && !json_member_string(v, "slurm_job")) || /* nobody's */
        json_value_need_number(v, "rank", 0, 1e6, &rank, NULL) < 0) {
        rc = err_set(err, ERR_FORMAT, "%s is no spool of reports", path);
    } else {
        *o = origin_dup(&(struct report_origin){
            .daemon = (char *)(uintptr_t)json_member_string(v, "daemon"),
            .ca = (char *)(uintptr_t)json_member_string(v, "ca"),
            .token = (char *)(uintptr_t)json_member_string(v, "token"),
            .job = (uint64_t)job,
            .node = (char *)(uintptr_t)json_member_string(v, "node"),
            .rank = (int)rank,
            .whole = json_member_bool(v, "whole", false),
            .slurm_job = (char *)(uintptr_t)json_member_string(v, "slurm_job"),
            .gpus = (char *)(uintptr_t)json_member_string(v, "gpus")});
        str_copy(o->run, sizeof(o->run), run);
    }
    json_doc_destroy(doc);
    return rc;
}

/* ---- the file -----------------------------------------------------------------------
 */

/* Of this user alone: the token is in there, and nobody else may lay files. */
static bool make_folder(const char *dir)
{
    struct stat info;

    if (mkdir(dir, 0700) < 0 && errno != EEXIST)
        return false;
    return lstat(dir, &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
           (info.st_mode & 077) == 0;
}

static void give_up_file(struct report_spool *s)
{
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
}

static void write_all(struct report_spool *s, const struct str *text)
{
    size_t done = 0;

    while (s->fd >= 0 && done < text->length) {
        ssize_t n = write(s->fd, text->text + done, text->length - done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) /* a full disk: what is in memory may still be delivered */
            give_up_file(s);
        else
            done += (size_t)n;
    }
}

static void begin_file(struct report_spool *s, const char *dir)
{
    struct str name = {0}, head = {0};

    if (!dir || !make_folder(dir))
        return;
    str_addf(&name, "%s" SUFFIX, s->origin.run);
    s->path = file_join(dir, str_text(&name));
    s->fd = open(s->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (s->fd >= 0 && flock(s->fd, LOCK_EX | LOCK_NB) < 0)
        give_up_file(s);
    origin_write(&s->origin, &head);
    write_all(s, &head);
    s->head = (off_t)head.length;
    if (head.text)
        explicit_bzero(head.text, head.length);
    str_fini(&head);
    str_fini(&name);
}

struct report_spool *report_spool_create(const struct report_origin *origin,
                                         const char *dir)
{
    struct report_spool *s = mem_new(struct report_spool);

    s->origin = origin_dup(origin);
    s->first = 1;
    s->fd = -1;
    begin_file(s, dir);
    return s;
}

void report_spool_destroy(struct report_spool *s)
{
    if (!s)
        return;
    if (s->path && s->fd >= 0 && report_spool_count(s) == 0)
        unlink(s->path);
    give_up_file(s);
    for (size_t i = s->begin; i < s->lines.count; i++)
        free(s->lines.items[i]);
    vec_free(&s->lines);
    report_origin_fini(&s->origin);
    free(s->path);
    free(s);
}

const struct report_origin *report_spool_origin(const struct report_spool *s)
{
    return &s->origin;
}

/* ---- what waits ---------------------------------------------------------------------
 */

size_t report_spool_count(const struct report_spool *s)
{
    return s->lines.count - s->begin;
}

const char *report_spool_line(const struct report_spool *s, size_t index)
{
    return index < report_spool_count(s) ? s->lines.items[s->begin + index] : NULL;
}

uint64_t report_spool_first(const struct report_spool *s)
{
    return s->first;
}

static void drop_first(struct report_spool *s)
{
    free(s->lines.items[s->begin++]);
    s->first++;
    if (s->begin < 1024 || s->begin * 2 < s->lines.count)
        return;
    memmove(s->lines.items, s->lines.items + s->begin,
            (s->lines.count - s->begin) * sizeof(s->lines.items[0]));
    s->lines.count -= s->begin;
    s->begin = 0;
}

static void keep(struct report_spool *s, const char *line)
{
    if (report_spool_count(s) == REPORT_SPOOL_MOST)
        drop_first(s);
    vec_push(&s->lines, mem_strdup(line));
}

void report_spool_put(struct report_spool *s, const char *line)
{
    struct str text = {0};

    if (strlen(line) > PROBE_REPORT_MAX_LINE || strchr(line, '\n'))
        return;
    keep(s, line);
    str_addf(&text, "%llu %s\n",
             (unsigned long long)(s->first + report_spool_count(s) - 1), line);
    write_all(s, &text);
    str_fini(&text);
}

void report_spool_delivered(struct report_spool *s, uint64_t next)
{
    while (report_spool_count(s) > 0 && s->first < next)
        drop_first(s);
    if (report_spool_count(s) == 0 && s->fd >= 0) {
        if (ftruncate(s->fd, s->head) < 0 || lseek(s->fd, s->head, SEEK_SET) < 0)
            give_up_file(s);
    }
}

/* ---- what others left ---------------------------------------------------------------
 */

/* Lines behind the first, as far as they are whole and in order. */
static void read_lines(struct report_spool *s, char *rest)
{
    char *line;

    while ((line = rest) && (rest = strchr(line, '\n'))) {
        char *behind = strchr(line, ' ');
        uint64_t number;

        *rest++ = '\0';
        if (!behind)
            return;
        *behind++ = '\0';
        if (!parse_u64(line, &number) || strlen(behind) > PROBE_REPORT_MAX_LINE)
            return;
        if (report_spool_count(s) == 0)
            s->first = number;
        if (number != s->first + report_spool_count(s))
            return;
        keep(s, behind);
    }
}

struct report_spool *report_spool_open(const char *path, struct err *err)
{
    struct report_spool *s = mem_new(struct report_spool);
    char *text = NULL, *end;
    struct stat info;
    size_t count;

    s->first = 1;
    s->path = mem_strdup(path);
    s->fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (s->fd < 0 || fstat(s->fd, &info) < 0) {
        err_sys(err, "cannot open %s", path);
        goto failed;
    }
    if (!S_ISREG(info.st_mode) || info.st_uid != geteuid()) {
        err_set(err, ERR_FORMAT, "%s is not a file of this user", path);
        goto failed;
    }
    if (flock(s->fd, LOCK_EX | LOCK_NB) < 0) {
        err_set(err, ERR_EXISTS, "%s is in use", path);
        goto failed;
    }
    if (file_read(path, REPORT_SPOOL_MAX_BYTES, &text, &count, err) < 0)
        goto failed;
    end = strchr(text, '\n');
    if (!end) {
        err_set(err, ERR_FORMAT, "%s is no spool of reports", path);
        goto failed;
    }
    if (origin_read(&s->origin, text, (size_t)(end - text), path, err) < 0)
        goto failed;
    s->head = end + 1 - text;
    read_lines(s, end + 1);
    free(text);
    return s;
failed:
    free(text);
    give_up_file(s); /* the file stays as it is */
    report_spool_destroy(s);
    return NULL;
}

char **report_spool_list(const char *dir)
{
    vec_of(char *) paths = {0};
    DIR *folder = make_folder(dir) ? opendir(dir) : NULL;
    struct dirent *entry;

    while (folder && (entry = readdir(folder)))
        if (str_ends(entry->d_name, SUFFIX))
            vec_push(&paths, file_join(dir, entry->d_name));
    if (folder)
        closedir(folder);
    vec_push(&paths, NULL);
    return paths.items;
}
