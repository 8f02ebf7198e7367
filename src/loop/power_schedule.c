/* power_schedule.c - planner.c keeps the limit of the moment, loop_settings.c reads the
 * schedule from config files, cmd_policy.c from the command line */
#include "loop/power_schedule.h"

#include "base/parse.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MINUTE_S 60.0
#define DAY_S    (POWER_SCHEDULE_DAY * MINUTE_S)

/* ---- what holds when --------------------------------------------------------------- */

static bool holds(const struct power_hours *h, double minute)
{
    if (h->from_minute < h->to_minute)
        return minute >= h->from_minute && minute < h->to_minute;
    return minute >= h->from_minute || minute < h->to_minute;
}

static double minute_of(double at_s)
{
    return (at_s - floor(at_s / DAY_S) * DAY_S) / MINUTE_S;
}

double power_schedule_at(const struct power_schedule *schedule, double at_s)
{
    double minute = minute_of(at_s);

    for (int i = 0; i < schedule->count; i++)
        if (holds(&schedule->hours[i], minute))
            return schedule->hours[i].watts;
    return schedule->watts;
}

/* When the minute of the day comes again, to the very second. */
static double next_s(int minute, double after_s)
{
    double at_s = floor(after_s / DAY_S) * DAY_S + minute * MINUTE_S;

    return at_s > after_s ? at_s : at_s + DAY_S;
}

double power_schedule_changes_s(const struct power_schedule *schedule, double after_s)
{
    double at_s = INFINITY;

    for (int i = 0; i < schedule->count; i++) {
        at_s = fmin(at_s, next_s(schedule->hours[i].from_minute, after_s));
        at_s = fmin(at_s, next_s(schedule->hours[i].to_minute, after_s));
    }
    return at_s;
}

static double lower(double a, double b)
{
    if (!(a > 0) || !(b > 0))
        return fmax(a, b);
    return fmin(a, b);
}

double power_schedule_least(const struct power_schedule *schedule, double from_s,
                            double for_s)
{
    double least = power_schedule_at(schedule, from_s);

    for (double at_s = power_schedule_changes_s(schedule, from_s); at_s <= from_s + for_s;
         at_s = power_schedule_changes_s(schedule, at_s))
        least = lower(least, power_schedule_at(schedule, at_s));
    return least;
}

/* ---- as operators write it --------------------------------------------------------- */

/* One of them begins while the other holds. */
static bool overlap(const struct power_hours *a, const struct power_hours *b)
{
    return holds(a, b->from_minute) || holds(b, a->from_minute);
}

static int refuse_overlap(const struct power_hours *a, const struct power_hours *b,
                          struct err *err)
{
    return err_set(
        err, ERR_INVALID, "the hours %02d:%02d-%02d:%02d and %02d:%02d-%02d:%02d overlap",
        a->from_minute / 60, a->from_minute % 60, a->to_minute / 60, a->to_minute % 60,
        b->from_minute / 60, b->from_minute % 60, b->to_minute / 60, b->to_minute % 60);
}

int power_schedule_check(const struct power_schedule *schedule, struct err *err)
{
    for (int i = 0; i < schedule->count; i++) {
        const struct power_hours *h = &schedule->hours[i];

        if (h->from_minute == h->to_minute)
            return err_set(err, ERR_INVALID,
                           "the hours %02d:%02d-%02d:%02d have no minute; the limit of "
                           "all day stands without hours",
                           h->from_minute / 60, h->from_minute % 60, h->to_minute / 60,
                           h->to_minute % 60);
        for (int k = 0; k < i; k++)
            if (overlap(&schedule->hours[k], h))
                return refuse_overlap(&schedule->hours[k], h, err);
    }
    return 0;
}

/* "7", "07" or "07:30", and where it ends. */
static bool parse_minute(const char **text, int *minute)
{
    int hours = 0, minutes = 0, used = 0, more = 0;

    if (!isdigit((unsigned char)**text) || sscanf(*text, "%2d%n", &hours, &used) < 1)
        return false;
    *text += used;
    if (**text == ':') {
        if (!isdigit((unsigned char)(*text)[1]) || !isdigit((unsigned char)(*text)[2]) ||
            sscanf(*text + 1, "%2d%n", &minutes, &more) < 1)
            return false;
        *text += 1 + more;
    }
    *minute = hours * 60 + minutes;
    return minutes < 60 && *minute <= POWER_SCHEDULE_DAY;
}

static bool parse_watts(const char *text, double *watts)
{
    static const struct value_rule rule = {
        .type = VALUE_WATTS, .min = 0, .max = POWER_SCHEDULE_MAX_WATTS};

    if (!strcmp(text, "none")) {
        *watts = 0;
        return true;
    }
    return value_parse(&rule, text, watts);
}

static bool parse_hours(const char *text, struct power_hours *h)
{
    if (!parse_minute(&text, &h->from_minute) || *text++ != '-' ||
        !parse_minute(&text, &h->to_minute) || h->from_minute == POWER_SCHEDULE_DAY ||
        !isspace((unsigned char)*text))
        return false;
    while (isspace((unsigned char)*text))
        text++;
    return parse_watts(text, &h->watts);
}

/* The limit of all day, or one with its hours. */
static int add_item(const char *item, struct power_schedule *schedule, bool *all_day,
                    struct err *err)
{
    double watts;

    if (parse_watts(item, &watts)) {
        if (*all_day)
            return err_set(err, ERR_INVALID,
                           "'%.40s' is a second limit for all day: a limit for some "
                           "hours is as 07:00-20:00 12kW",
                           item);
        schedule->watts = watts;
        *all_day = true;
        return 0;
    }
    if (schedule->count == POWER_SCHEDULE_MAX)
        return err_set(err, ERR_LIMIT, "more than %d hours with limits of their own",
                       POWER_SCHEDULE_MAX);
    if (!parse_hours(item, &schedule->hours[schedule->count]))
        return err_set(err, ERR_INVALID,
                       "'%.40s' is no limit on power: one for all day is as 20kW or "
                       "none, one for some hours (UTC) as 07:00-20:00 12kW",
                       item);
    schedule->count++;
    return 0;
}

int power_schedule_parse(const char *text, struct power_schedule *schedule,
                         struct err *err)
{
    struct power_schedule read = {0};
    bool all_day = false;

    for (;;) {
        size_t length = strcspn(text, ","), from = 0, to = length;
        char item[64];

        while (from < to && isspace((unsigned char)text[from]))
            from++;
        while (to > from && isspace((unsigned char)text[to - 1]))
            to--;
        snprintf(item, sizeof(item), "%.*s", (int)(to - from), text + from);
        if (add_item(item, &read, &all_day, err) < 0)
            return -1;
        text += length;
        if (!*text++)
            break;
    }
    if (power_schedule_check(&read, err) < 0)
        return -1;
    *schedule = read;
    return 0;
}
