/* exporter_scrape.h - a thread that fetches the pages of exporters on many nodes
 *
 * Names are looked up and pages fetched there, so that a node that does not answer keeps
 * nobody waiting.  Each round ends with one reading a node that answered. */
#pragma once

#include "base/err.h"
#include "engine/slurm/exporter_page.h"

#include <stdbool.h>

struct exporter_scrape;

struct exporter_reading {
    double at_s; /* epoch */
    struct exporter_page page;
};

/* urls: with commas between; {node} and {address} stand for a node's name and address.
 * ERR_INVALID: one of them is no http://. */
int exporter_scrape_create(struct exporter_scrape **scrape, const char *urls,
                           double every_s, struct err *err);
void exporter_scrape_destroy(struct exporter_scrape *scrape); /* NULL is fine */

/* Is it a list of URLs such as these? */
int exporter_scrape_check(const char *urls, struct err *err);

/* Node number n is there under this name and address, from the next round on. */
void exporter_scrape_node(struct exporter_scrape *scrape, int n, const char *name,
                          const char *address);

/* The newest reading of the node; false: there is none. */
bool exporter_scrape_take(struct exporter_scrape *scrape, int n,
                          struct exporter_reading *reading);
