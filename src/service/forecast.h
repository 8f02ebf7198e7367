/* forecast.h - how long the queue is and when devices come free, for quotes
 *
 * A quote asks how many jobs are ahead and when what runs will have ended.  With ten
 * thousand jobs looking through all of them for every request is what costs most, so the
 * answer is kept: a new job is counted in, any other step in a job's life or a new round
 * has it made again when next asked for. */
#ifndef CORGI_SERVICE_FORECAST_H
#define CORGI_SERVICE_FORECAST_H

#include "service/state.h"

struct forecast *forecast_create(void);
void forecast_destroy(struct forecast *forecast); /* NULL is fine */

void forecast_forget(struct service *s);
/* A job was submitted and nothing else has changed. */
void forecast_joined(struct service *s, const struct record *record);

/* Jobs that wait and would go before this one. */
int forecast_ahead(struct service *s, const struct job *job);
/* When so many of the jobs that run will have ended; NaN: not known. */
double forecast_start_s(struct service *s, int places);

#endif
