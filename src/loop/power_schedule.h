/* power_schedule.h - what the whole cluster may draw, by hour of the day
 *
 * One limit for all day, and others for hours of their own, in UTC as all times of day.
 * As operators write it, in config files and on the command line:
 *
 *     20kW                                   all day
 *     20kW, 07:00-20:00 12kW                 less by day
 *     none, 17:00-19:30 8kW, 22:00-06:00 30kW
 *
 * Hours may go over midnight and never overlap.  Plain data: it is copied with the
 * settings it is a part of. */
#pragma once

#include "base/err.h"
#include "base/str.h"

#define POWER_SCHEDULE_MAX       24   /* hours with a limit of their own */
#define POWER_SCHEDULE_DAY       1440 /* minutes */
#define POWER_SCHEDULE_MAX_WATTS 1e9

struct power_hours {
    int from_minute; /* of the day, 0 .. 1439 */
    int to_minute;   /* the first that is no longer in it, 0 .. 1440 */
    double watts;    /* 0: no limit */
};

struct power_schedule {
    double watts; /* at all other times; 0: no limit */
    int count;
    struct power_hours hours[POWER_SCHEDULE_MAX];
};

/* The limit at a time in seconds since 1970; 0: none. */
double power_schedule_at(const struct power_schedule *schedule, double at_s);

/* The least of the limits from a time on for so long; 0: none in all of it. */
double power_schedule_least(const struct power_schedule *schedule, double from_s,
                            double for_s);

/* When it becomes another after that time; infinite: never. */
double power_schedule_changes_s(const struct power_schedule *schedule, double after_s);

/* Hours that are empty or overlap are told in err, by their place in the list. */
int power_schedule_check(const struct power_schedule *schedule, struct err *err);

/* As in the head of this file; err tells the mistake, and the schedule stays. */
int power_schedule_parse(const char *text, struct power_schedule *schedule,
                         struct err *err);
