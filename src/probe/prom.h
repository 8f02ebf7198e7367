/* prom.h - sums of named series out of Prometheus' text format, as it arrives
 *
 *     # TYPE vllm:request_success_total counter
 *     vllm:request_success_total{model="m",finished_reason="stop"} 12.0
 *
 * The sum over all label sets is taken.  A page is read in pieces of any size; lines that
 * are too long or cannot be read are passed over. */
#ifndef CORGI_PROBE_PROM_H
#define CORGI_PROBE_PROM_H

#include <stdbool.h>
#include <stddef.h>

#define PROM_MAX_NAMES 16
#define PROM_MAX_LINE  4096

struct prom {
    const char *names[PROM_MAX_NAMES]; /* borrowed; also found with _total behind it */
    double sums[PROM_MAX_NAMES];       /* NaN: not on the page */
    int count;
    size_t length;
    bool cut; /* the line at hand is too long */
    char line[PROM_MAX_LINE];
};

void prom_init(struct prom *prom, const char *const *names, int count);
void prom_begin(struct prom *prom); /* another page: the sums begin again */
void prom_feed(struct prom *prom, const char *bytes, size_t count);
void prom_end(struct prom *prom); /* the last line may lack its newline */

/* One line: its name within the line and its value.  False for comments and whatever else
 * is no sample with a finite value. */
bool prom_sample(const char *line, size_t length, size_t *name_length, double *value);

#endif
