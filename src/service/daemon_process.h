/* daemon_process.h - the daemon as a process: systemd, pid file, priority, descriptors */
#ifndef CORGI_SERVICE_DAEMON_PROCESS_H
#define CORGI_SERVICE_DAEMON_PROCESS_H

#include "base/err.h"

/* As sd_notify(3): "READY=1", "STOPPING=1", "WATCHDOG=1".  Nothing happens when systemd
 * did not start us. */
void daemon_process_notify(const char *state);

/* Seconds between signs of life systemd wants; 0: none. */
double daemon_process_watchdog_s(void);

/* Sockets handed over by systemd, from descriptor 3 on; 0: none. */
int daemon_process_listen_fds(void);

int daemon_process_write_pid(const char *path, struct err *err);
void daemon_process_remove_pid(const char *path); /* only if it is ours */

/* A nice value for this thread and those it will start, where the daemon has the right;
 * it goes on with the usual one where it has not. */
void daemon_process_nice(int nice);

/* Descriptors for so many connections; less is logged. */
void daemon_process_descriptors(int connections);

#endif
