/* script.c - reading the fake's script, see script.h; libc only, as the fake itself */
#include "fake/script.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WORDS 24
#define MAX_BYTES (1 << 20)

struct reader {
    struct fake_script *script;
    char *why;
    size_t why_size;
};

static int refuse(struct reader *r, const char *what, const char *word)
{
    snprintf(r->why, r->why_size, "%s: %.60s", what, word);
    return -1;
}

static bool number(const char *word, double *value)
{
    char *end;
    double read = strtod(word, &end);

    if (end == word || *end || !isfinite(read) || fabs(read) > 1e15)
        return false;
    *value = read;
    return true;
}

static void copy(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from);
}

/* Words are parted by blanks; key="two words" keeps its blanks, loses the quotes. */
static int split(char *line, char **words)
{
    int count = 0;
    char *to = line;

    while (*line && count < MAX_WORDS) {
        bool quoted = false;

        while (*line == ' ' || *line == '\t' || *line == '\r')
            line++;
        if (!*line || *line == '#')
            break;
        words[count++] = to;
        for (; *line && (quoted || !strchr(" \t\r", *line)); line++) {
            if (*line == '"')
                quoted = !quoted;
            else
                *to++ = *line;
        }
        if (*line)
            line++;
        *to++ = '\0';
    }
    return count;
}

static int set_gpu(struct reader *r, struct fake_gpu *gpu, char *setting)
{
    char *value = strchr(setting, '=');
    double n = 0;
    bool numeric;

    if (!value)
        return refuse(r, "want key=value", setting);
    *value++ = '\0';
    numeric = number(value, &n) && n >= 0 && n < 1e9;
    if (!strcmp(setting, "name"))
        copy(gpu->name, sizeof(gpu->name), value);
    else if (!strcmp(setting, "uuid"))
        copy(gpu->uuid, sizeof(gpu->uuid), value);
    else if (!strcmp(setting, "pci"))
        copy(gpu->pci, sizeof(gpu->pci), value);
    else if (!strcmp(setting, "device_id"))
        gpu->device_id = (unsigned)strtoul(value, NULL, 0);
    else if (!strcmp(setting, "energy"))
        gpu->energy = !strcmp(value, "yes");
    else if (!strcmp(setting, "field"))
        gpu->field = !strcmp(value, "yes");
    else if (!strcmp(setting, "setlimit"))
        gpu->setlimit = !strcmp(value, "yes");
    else if (!numeric)
        return refuse(r, "not a known setting, or not a number", setting);
    else if (!strcmp(setting, "arch"))
        gpu->arch = (int)n;
    else if (!strcmp(setting, "memory"))
        gpu->memory_mb = n;
    else if (!strcmp(setting, "limit"))
        gpu->limit = n;
    else if (!strcmp(setting, "min"))
        gpu->min = n;
    else if (!strcmp(setting, "max"))
        gpu->max = n;
    else
        return refuse(r, "not a known setting", setting);
    return 0;
}

static int read_gpu(struct reader *r, char **words, int count)
{
    int index = r->script->count;
    struct fake_gpu *gpu = &r->script->gpus[index];

    if (index == FAKE_MAX_GPUS)
        return refuse(r, "too many", "gpu");
    memset(gpu, 0, sizeof(*gpu));
    gpu->arch = 5;
    gpu->memory_mb = 16384;
    gpu->limit = gpu->max = 250;
    gpu->min = 100;
    gpu->energy = gpu->setlimit = true;
    copy(gpu->name, sizeof(gpu->name), "Fake GPU");
    snprintf(gpu->uuid, sizeof(gpu->uuid), "GPU-fake0000-0000-0000-0000-%012d", index);
    snprintf(gpu->pci, sizeof(gpu->pci), "00000000:%02X:00.0", 16 + index);
    for (int i = 1; i < count; i++)
        if (set_gpu(r, gpu, words[i]) < 0)
            return -1;
    r->script->count++;
    return 0;
}

/* The shapes of event lines: F function, N number (needed), n number (optional). */
static const struct {
    const char *word;
    enum fake_kind kind;
    const char *shape; /* f from, u until, v value, 0 and 1 more; capital: needed */
} shapes[] = {
    {"power", FAKE_POWER, "FV"},       {"util", FAKE_UTIL, "FV"},
    {"throttle", FAKE_THROTTLE, "FV"}, {"process", FAKE_PROCESS, "V01fu"},
    {"error", FAKE_ERROR, "*Vfu"},     {"hang", FAKE_HANG, "*fu"},
    {"unplug", FAKE_UNPLUG, "Fu"},     {"sentinel", FAKE_SENTINEL, "*fu"},
    {"jump", FAKE_JUMP, "FV"},
};

static double *event_field(struct fake_event *event, char letter)
{
    switch (letter) {
    case 'f':
    case 'F':
        return &event->from_s;
    case 'u':
        return &event->until_s;
    case 'v':
    case 'V':
        return &event->value;
    case '0':
        return &event->more[0];
    default:
        return &event->more[1];
    }
}

static int read_event(struct reader *r, struct fake_gpu *gpu, size_t shape, char **words,
                      int count)
{
    struct fake_event event = {.kind = shapes[shape].kind, .until_s = INFINITY};
    int at = 1;

    if (gpu->event_count == FAKE_MAX_EVENTS)
        return refuse(r, "too many events", words[0]);
    for (const char *s = shapes[shape].shape; *s; s++, at++) {
        if (at >= count) {
            if (*s == '*' || *s == 'F' || *s == 'V')
                return refuse(r, "too few words", words[0]);
            break;
        }
        if (*s == '*')
            copy(event.function, sizeof(event.function), words[at]);
        else if (!number(words[at], event_field(&event, *s)))
            return refuse(r, "not a number", words[at]);
    }
    if (at < count)
        return refuse(r, "too many words", words[at]);
    if (event.until_s <= 0)
        event.until_s = INFINITY;
    gpu->events[gpu->event_count++] = event;
    return 0;
}

static int read_numbers(struct reader *r, char **words, int count, double *values,
                        int wanted)
{
    if (count != wanted + 1)
        return refuse(r, "wrong number of words", words[0]);
    for (int i = 0; i < wanted; i++)
        if (!number(words[i + 1], &values[i]) || values[i] < 0 || values[i] > 1e9)
            return refuse(r, "not a number", words[i + 1]);
    return 0;
}

static int read_line(struct reader *r, char *line)
{
    struct fake_script *script = r->script;
    struct fake_gpu *gpu = script->count ? &script->gpus[script->count - 1] : NULL;
    char *words[MAX_WORDS];
    double values[3];
    int count = split(line, words);

    if (count == 0)
        return 0;
    if (!strcmp(words[0], "driver") && count == 2) {
        copy(script->driver, sizeof(script->driver), words[1]);
        return strstr(script->driver, "fake") ? 0 : refuse(r, "must say fake", words[1]);
    }
    if (!strcmp(words[0], "reload")) {
        if (read_numbers(r, words, count, values, 2) < 0)
            return -1;
        script->reload_from_s = values[0];
        script->reload_until_s = values[1];
        return 0;
    }
    if (!strcmp(words[0], "gpu"))
        return read_gpu(r, words, count);
    if (!gpu)
        return refuse(r, "stands before the first gpu", words[0]);
    if (!strcmp(words[0], "mig")) {
        if (read_numbers(r, words, count, values, 2) < 0 || values[0] > FAKE_MAX_MIG)
            return refuse(r, "want at most 7 instances and their MB", words[0]);
        gpu->mig = (int)values[0];
        gpu->mig_memory_mb = values[1];
        return 0;
    }
    if (!strcmp(words[0], "follow")) {
        if (read_numbers(r, words, count, values, 3) < 0)
            return -1;
        gpu->follow = true;
        gpu->follow_watts = values[0];
        gpu->follow_percent = values[1];
        gpu->follow_mb = values[2];
        return 0;
    }
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
        if (!strcmp(words[0], shapes[i].word))
            return read_event(r, gpu, i, words, count);
    return refuse(r, "not a known word", words[0]);
}

int fake_script_parse(struct fake_script *script, const char *text, size_t length,
                      char *why, size_t why_size)
{
    struct reader r = {.script = script, .why = why, .why_size = why_size};
    char *copied = malloc(length + 1);
    char *line = copied, *end = copied + length;
    int number_of = 0, wrong = 0;

    if (!copied)
        return refuse(&r, "no memory", "script"), 1;
    memcpy(copied, text, length);
    *end = '\0';
    memset(script, 0, sizeof(*script));
    copy(script->driver, sizeof(script->driver), "fake-1.0");
    while (line < end && !wrong) {
        char *next = memchr(line, '\n', (size_t)(end - line));

        if (next)
            *next = '\0';
        number_of++;
        if (read_line(&r, line) < 0)
            wrong = number_of;
        line = next ? next + 1 : end;
    }
    free(copied);
    return wrong;
}

int fake_script_load(struct fake_script *script, const char *path, char *why,
                     size_t why_size)
{
    FILE *f = fopen(path, "r");
    char *text = malloc(MAX_BYTES);
    size_t length;
    int wrong = 1;

    snprintf(why, why_size, "cannot be read");
    if (f && text) {
        length = fread(text, 1, MAX_BYTES, f);
        wrong = fake_script_parse(script, text, length, why, why_size);
    }
    if (f)
        fclose(f);
    free(text);
    return wrong;
}

double fake_script_value(const struct fake_gpu *gpu, enum fake_kind kind, double at_s,
                         double otherwise)
{
    double value = otherwise, newest = -INFINITY;

    for (int i = 0; i < gpu->event_count; i++) {
        const struct fake_event *e = &gpu->events[i];

        if (e->kind == kind && e->from_s <= at_s && e->from_s >= newest) {
            newest = e->from_s;
            value = e->value;
        }
    }
    return value;
}

const struct fake_event *fake_script_event(const struct fake_gpu *gpu,
                                           enum fake_kind kind, const char *function,
                                           double at_s)
{
    for (int i = 0; i < gpu->event_count; i++) {
        const struct fake_event *e = &gpu->events[i];

        if (e->kind == kind && e->from_s <= at_s && at_s < e->until_s &&
            (!function || !strcmp(e->function, function)))
            return e;
    }
    return NULL;
}
