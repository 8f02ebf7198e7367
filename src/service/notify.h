/* notify.h - telling systemd, and whoever reads the pid file, how we are */
#ifndef CORGI_SERVICE_NOTIFY_H
#define CORGI_SERVICE_NOTIFY_H

#include "base/err.h"

/* As sd_notify(3): "READY=1", "STOPPING=1", "WATCHDOG=1".  Nothing happens when systemd
 * did not start us. */
void notify_systemd(const char *state);

/* Seconds between signs of life systemd wants; 0: none. */
double notify_watchdog_s(void);

/* Sockets handed over by systemd, from descriptor 3 on; 0: none. */
int notify_listen_fds(void);

int notify_pid_write(const char *path, struct err *err);
void notify_pid_remove(const char *path); /* only if it is ours */

#endif
