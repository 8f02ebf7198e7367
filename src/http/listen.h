/* listen.h - sockets to listen on, as a Unix user expects them */
#ifndef CORGI_HTTP_LISTEN_H
#define CORGI_HTTP_LISTEN_H

#include "base/err.h"
#include "http/server.h"

struct listen_unix {
    int fd;
    int lock_fd; /* held as long as the socket is served */
    char *path;
    dev_t device; /* of the socket's file, to remove only our own */
    ino_t inode;
};

/* A socket file that is served refuses with ERR_EXISTS, one that is not is replaced, and
 * what is not a socket is left alone.  A lock beside it keeps two from doing so at once.
 */
int listen_unix_open(struct listen_unix *l, const struct server_unix *where,
                     struct err *err);
void listen_unix_close(struct listen_unix *l);

/* Numbers and localhost only; beyond loopback only with TLS or when told to. */
int listen_tcp_open(const struct server_tcp *where, int *fd, struct err *err);

int listen_port(int fd); /* -1: not TCP */

#endif
