/* store_mark.c - store.c reads the mark when it opens a store, writer.c notes each commit
 * in it, see store_mark.h */
#include "store/store_mark.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* One sector, which a disk writes whole or not at all. */
#define RECORD_BYTES 512
#define FORM         "corgi-mark 1 "

static void read_boot(char *boot, size_t size)
{
    if (file_head("/proc/sys/kernel/random/boot_id", boot, size) < 0)
        str_copy(boot, size, "unknown");
    boot[strcspn(boot, "\n")] = '\0';
}

/* "name=number" in a line of them; 0 when it is not there. */
static uint64_t number_of(const char *line, const char *name)
{
    char key[24], word[32];
    const char *at;
    uint64_t number = 0;

    snprintf(key, sizeof(key), " %s=", name);
    at = strstr(line, key);
    if (at) {
        at += strlen(key);
        snprintf(word, sizeof(word), "%.*s", (int)strcspn(at, " "), at);
        parse_u64(word, &number);
    }
    return number;
}

/* The numbers of all sequences, each under its own name. */
static void read_numbers(const char *line, const char *word,
                         uint64_t numbers[STORE_SEQUENCE_COUNT])
{
    for (int i = 0; i < STORE_SEQUENCE_COUNT; i++) {
        char name[16];

        snprintf(name, sizeof(name), "%s%d", word, i);
        numbers[i] = number_of(line, name);
    }
}

static void add_numbers(struct str *line, const char *word,
                        const uint64_t numbers[STORE_SEQUENCE_COUNT])
{
    for (int i = 0; i < STORE_SEQUENCE_COUNT; i++)
        str_addf(line, " %s%d=%llu", word, i, (unsigned long long)numbers[i]);
}

/* False: damaged, or of a form this program does not know. */
static bool parse(const struct store_mark *mark, char *line, struct mark_record *record)
{
    char *sum = strstr(line, " sum=");
    char boot[64];

    if (!str_starts(line, FORM) || !sum)
        return false;
    if (number_of(sum, "sum") != hash_bytes(line, (size_t)(sum - line)))
        return false;
    *record = (struct mark_record){.store = number_of(line, "store"),
                                   .commit = number_of(line, "commit"),
                                   .closed = number_of(line, "closed") != 0};
    read_numbers(line, "next", record->reserved);
    read_numbers(line, "least", record->least);
    snprintf(boot, sizeof(boot), " boot=%s ", mark->boot);
    record->same_boot = strstr(line, boot) != NULL;
    return true;
}

static void format(const struct store_mark *mark, char line[RECORD_BYTES])
{
    const struct mark_record *r = &mark->now;
    struct str text = {0};

    str_addf(&text, FORM "store=%llu commit=%llu closed=%d boot=%s",
             (unsigned long long)r->store, (unsigned long long)r->commit, r->closed,
             mark->boot);
    add_numbers(&text, "next", r->reserved);
    add_numbers(&text, "least", r->least);
    str_addf(&text, " sum=%llu", (unsigned long long)hash_bytes(text.text, text.length));
    memset(line, ' ', RECORD_BYTES);
    memcpy(line, text.text, text.length < RECORD_BYTES ? text.length : RECORD_BYTES - 1);
    line[RECORD_BYTES - 1] = '\n';
    str_fini(&text);
}

int mark_open(struct store_mark *mark, const char *store_path, struct mark_record *found,
              struct err *err)
{
    struct str path = {0};
    char line[RECORD_BYTES + 1];
    ssize_t n;

    *found = (struct mark_record){0};
    read_boot(mark->boot, sizeof(mark->boot));
    str_addf(&path, "%s.mark", store_path);
    mark->fd = open(str_text(&path), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (mark->fd < 0) {
        err_sys(err, "cannot open %s", str_text(&path));
        str_fini(&path);
        return -1;
    }
    n = pread(mark->fd, line, RECORD_BYTES, 0);
    line[n > 0 ? n : 0] = '\0';
    if (n > 0 && !parse(mark, line, found))
        log_warn("store_mark_damaged", LOG_STR("file", str_text(&path)));
    str_fini(&path);
    return 0;
}

void mark_write(struct store_mark *mark, bool sync)
{
    char line[RECORD_BYTES];

    if (mark->fd < 0)
        return;
    format(mark, line);
    if (pwrite(mark->fd, line, RECORD_BYTES, 0) == RECORD_BYTES &&
        (!sync || fdatasync(mark->fd) == 0)) {
        mark->failed = false;
    } else if (!mark->failed) {
        mark->failed = true;
        log_error("store_mark_failed", LOG_STR("error", strerror(errno)));
    }
}

void mark_close(struct store_mark *mark)
{
    if (mark->fd >= 0)
        close(mark->fd);
    mark->fd = -1;
}
