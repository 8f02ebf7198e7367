/* forecast.h - how long the queue is and when devices come free, for quotes
 *
 * A quote asks how many jobs are ahead and when what runs will have ended.  The records
 * count the former; of the latter the order is kept until a step in a job's life or a new
 * round has it made again when next asked for. */
#ifndef CORGI_SERVICE_FORECAST_H
#define CORGI_SERVICE_FORECAST_H

#include "service/service_private.h"

struct forecast *forecast_create(void);
void forecast_destroy(struct forecast *forecast); /* NULL is fine */

void forecast_forget(struct service *s);

/* Jobs that wait and would go before this one. */
int forecast_ahead(const struct service *s, const struct job *job);
/* When so many of the jobs that run will have ended; NaN: not known. */
double forecast_start_s(struct service *s, int places);

#endif
