/* test_probe_logs.c - the corpus of tests/logs: every rate is found, and nothing else
 *
 * A sample begins with lines of "# key value":
 *
 *     # rate 14.9       what is to be found, within 2 %; or "# none"
 *     # unit iteration  of it
 *     # window 10       seconds, the default
 *
 * and then has output, one line of the file a piece: the time it arrives in seconds, left
 * out when it is the same, a bar, and the text, in which \r \b \e \t \\ and \xHH stand
 * for bytes.  A newline follows unless the text ends with \c. */
#include "base/file.h"
#include "base/str.h"
#include "probe/lines.h"
#include "probe/tracks.h"
#include "support/test.h"

#include <dirent.h>
#include <libgen.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIN_RATES     60
#define MIN_UNRELATED 20

struct sample {
    double rate; /* NaN: none is to be found */
    double window_s;
    char unit[32];
    double now_s;
    struct tracks *tracks;
    struct lines lines;
};

static char *logs_dir(void)
{
    char *file = strdup(__FILE__), *dir = file_join(dirname(file), "../logs");

    free(file);
    return dir;
}

static void take_line(void *ctx, double at_s, const char *text, size_t length)
{
    struct sample *sample = ctx;

    tracks_line(sample->tracks, at_s, text, length);
}

static void read_header(struct sample *sample, const char *line)
{
    sscanf(line, "# rate %lf", &sample->rate);
    sscanf(line, "# window %lf", &sample->window_s);
    sscanf(line, "# unit %31s", sample->unit);
}

/* Text with escapes to bytes; false when no newline follows. */
static bool unescape(const char *text, struct str *bytes)
{
    static const char names[] = "rbetc\\x", codes[] = "\r\b\033\t";

    for (; *text; text++) {
        const char *name = *text == '\\' ? strchr(names, text[1]) : NULL;
        char byte = *text;

        if (name && *name == 'c')
            return false;
        if (name && *name == 'x') {
            byte = (char)strtol((char[]){text[2], text[3], '\0'}, NULL, 16);
            text += 3;
        } else if (name) {
            byte = *name == '\\' ? '\\' : codes[name - names];
            text++;
        }
        str_add_bytes(bytes, &byte, 1);
    }
    return true;
}

static void feed_piece(struct sample *sample, const char *line)
{
    const char *bar = strchr(line, '|');
    struct str bytes = {0};

    if (!bar)
        fail_msg("no time and bar before: %s", line);
    if (bar > line)
        sample->now_s = strtod(line, NULL);
    if (unescape(bar + 1, &bytes))
        str_add(&bytes, "\n");
    /* In two pieces, as a pipe would have it now and then. */
    lines_feed(&sample->lines, sample->now_s, str_text(&bytes), bytes.length / 2);
    lines_feed(&sample->lines, sample->now_s, str_text(&bytes) + bytes.length / 2,
               bytes.length - bytes.length / 2);
    str_fini(&bytes);
}

static void load(struct sample *sample, const char *path)
{
    struct err err = {0};
    char *text, *rest, *line;
    size_t size;

    *sample = (struct sample){.rate = NAN, .window_s = 10};
    if (file_read(path, 1 << 20, &text, &size, &err) < 0)
        fail_msg("%s", err.text);
    for (rest = text; (line = strsep(&rest, "\n")) && line[0] == '#';)
        read_header(sample, line);
    sample->tracks = tracks_create(sample->window_s);
    lines_init(&sample->lines, take_line, sample);
    for (; line; line = strsep(&rest, "\n"))
        if (*line || rest)
            feed_piece(sample, line);
    lines_flush(&sample->lines);
    free(text);
}

/* 0: as it should be. */
static int check(const char *path, bool *unrelated)
{
    struct sample sample;
    struct tracks_rate found = {0};
    bool any, right;

    load(&sample, path);
    any = tracks_rate(sample.tracks, sample.now_s, true, &found);
    *unrelated = isnan(sample.rate);
    if (*unrelated)
        right = !any;
    else
        right = any && fabs(found.rate / sample.rate - 1) <= 0.02 &&
                (!sample.unit[0] || !strcmp(sample.unit, found.unit->name));
    if (!right)
        print_message("%s: expected %g %s, found %g %s\n", path, sample.rate, sample.unit,
                      any ? found.rate : NAN, any ? found.unit->name : "");
    tracks_destroy(sample.tracks);
    return right ? 0 : 1;
}

CASE(every_sample_gives_its_rate_and_unrelated_logs_none)
{
    char *dir = logs_dir(), *path;
    struct dirent **names;
    int wrong = 0, rates = 0, none = 0, count = scandir(dir, &names, NULL, alphasort);
    bool unrelated;

    assert_true(count > 0);
    for (int i = 0; i < count; i++) {
        path = file_join(dir, names[i]->d_name);
        if (str_ends(path, ".log")) {
            wrong += check(path, &unrelated);
            rates += !unrelated;
            none += unrelated;
        }
        free(path);
        free(names[i]);
    }
    free(names);
    free(dir);
    print_message("%d samples with a rate, %d without\n", rates, none);
    assert_int_equal(wrong, 0);
    assert_true(rates >= MIN_RATES);
    assert_true(none >= MIN_UNRELATED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sample_gives_its_rate_and_unrelated_logs_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
