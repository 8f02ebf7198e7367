/* helper_socket.h - where the helper listens when systemd started it, and for whom
 *
 * Whoever connects may do what the helper may, so the kernel is asked who it is: root,
 * the user the helper runs as, and one more whom the operator names. */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

struct helper_socket {
    int fd;
    uid_t allowed; /* beside root and our own user */
};

/* allow: the name of a user; NULL: nobody else.  What was at the path is replaced. */
int helper_socket_listen(struct helper_socket *socket, const char *path,
                         const char *allow, int backlog, struct err *err);

/* The next client; -1: there is none, or it was refused, which is logged. */
int helper_socket_accept(const struct helper_socket *socket);
