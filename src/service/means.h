/* means.h - what the daemon takes of the machine beyond what a process gets */
#ifndef CORGI_SERVICE_MEANS_H
#define CORGI_SERVICE_MEANS_H

/* A nice value for this thread and those it will start, where the daemon has the right;
 * it goes on with the usual one where it has not. */
void means_priority(int nice);

/* Descriptors for so many connections; less is logged. */
void means_descriptors(int connections);

#endif
