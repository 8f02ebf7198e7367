/* process_priority.h - what the daemon takes of the machine beyond what a process gets */
#ifndef CORGI_SERVICE_PROCESS_PRIORITY_H
#define CORGI_SERVICE_PROCESS_PRIORITY_H

/* A nice value for this thread and those it will start, where the daemon has the right;
 * it goes on with the usual one where it has not. */
void process_priority_priority(int nice);

/* Descriptors for so many connections; less is logged. */
void process_priority_descriptors(int connections);

#endif
