/* listen.c - server.c opens its Unix and TCP sockets here, and gives their files back at
 * the end */
#include "http/listen.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/str.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG      1024
#define DEFAULT_MODE 0666

/* ---- Unix -------------------------------------------------------------------------- */

static int make_folder(const char *path, struct err *err)
{
    const char *slash = strrchr(path, '/');
    char *folder;
    int rc;

    if (!slash || slash == path)
        return 0;
    folder = mem_strdup(path);
    folder[slash - path] = '\0';
    rc = file_make_dirs(folder, err);
    free(folder);
    return rc;
}

static int take_lock(struct listen_unix *l, struct err *err)
{
    struct str path = {0};
    int rc = 0;

    str_addf(&path, "%s.lock", l->path);
    l->lock_fd = open(str_text(&path), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (l->lock_fd < 0)
        rc = err_sys(err, "cannot open %s", str_text(&path));
    else if (flock(l->lock_fd, LOCK_EX | LOCK_NB) < 0)
        rc = err_set(err, ERR_EXISTS,
                     "another daemon serves %s; stop it or choose another socket",
                     l->path);
    str_fini(&path);
    return rc;
}

/* Remove a socket that nobody serves. */
static int remove_stale(const char *path, const struct sockaddr_un *address,
                        struct err *err)
{
    struct stat there;
    int fd, refused;

    if (lstat(path, &there) < 0)
        return errno == ENOENT ? 0 : err_sys(err, "cannot look at %s", path);
    if (!S_ISSOCK(there.st_mode))
        return err_set(err, ERR_EXISTS, "%s is there and is not a socket; remove it",
                       path);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_sys(err, "cannot make a socket");
    refused = connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 &&
              errno == ECONNREFUSED;
    close(fd);
    if (!refused)
        return err_set(err, ERR_EXISTS,
                       "another daemon serves %s; stop it or choose another socket",
                       path);
    if (unlink(path) < 0)
        return err_sys(err, "cannot remove the stale socket %s", path);
    return 0;
}

static int set_owner(const char *path, const struct server_unix *where, struct err *err)
{
    struct group *group;

    if (where->group) {
        group = getgrnam(where->group);
        if (!group)
            return err_set(err, ERR_NOT_FOUND, "there is no group '%s' for the socket %s",
                           where->group, path);
        if (chown(path, (uid_t)-1, group->gr_gid) < 0)
            return err_sys(err, "cannot give %s to the group %s", path, where->group);
    }
    if (chmod(path, where->mode ? where->mode : DEFAULT_MODE) < 0)
        return err_sys(err, "cannot set the mode of %s", path);
    return 0;
}

static int bind_unix(struct listen_unix *l, const struct server_unix *where,
                     struct err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat made;

    memcpy(address.sun_path, l->path, strlen(l->path));
    if (remove_stale(l->path, &address, err) < 0)
        return -1;
    l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (l->fd < 0 || bind(l->fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        return err_sys(err, "cannot make the socket %s", l->path);
    if (lstat(l->path, &made) == 0) {
        l->device = made.st_dev;
        l->inode = made.st_ino;
    }
    /* Nobody can connect before listen(), so there is no moment with a wrong mode. */
    if (set_owner(l->path, where, err) < 0)
        return -1;
    if (listen(l->fd, BACKLOG) < 0)
        return err_sys(err, "cannot listen on %s", l->path);
    return 0;
}

int listen_unix_open(struct listen_unix *l, const struct server_unix *where,
                     struct err *err)
{
    struct listen_unix made = {.fd = -1, .lock_fd = -1};

    if (strlen(where->path) >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
        return err_set(err, ERR_LIMIT, "the socket's path %s is longer than %zu bytes",
                       where->path, sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1);
    if (make_folder(where->path, err) < 0)
        return -1;
    made.path = mem_strdup(where->path);
    if (take_lock(&made, err) < 0 || bind_unix(&made, where, err) < 0) {
        listen_unix_close(&made);
        return -1;
    }
    *l = made;
    return 0;
}

void listen_unix_close(struct listen_unix *l)
{
    struct stat there;

    if (l->inode && lstat(l->path, &there) == 0 && there.st_dev == l->device &&
        there.st_ino == l->inode)
        unlink(l->path);
    if (l->fd >= 0)
        close(l->fd);
    if (l->lock_fd >= 0)
        close(l->lock_fd);
    free(l->path);
}

/* ---- TCP --------------------------------------------------------------------------- */

union tcp_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static int read_address(const char *text, union tcp_address *address, socklen_t *size,
                        struct err *err)
{
    const char *colon = strrchr(text, ':');
    char host[64] = "";
    int port = 0;
    size_t length = colon ? (size_t)(colon - text) : 0;

    memset(address, 0, sizeof(*address));
    if (!colon || length >= sizeof(host) || !parse_int(colon + 1, &port) || port < 0 ||
        port > 65535)
        return err_set(err, ERR_INVALID,
                       "'%.80s' is not ADDRESS:PORT, as in 127.0.0.1:8421", text);
    memcpy(host, text, length);
    if (host[0] == '[' && host[length - 1] == ']') {
        host[length - 1] = '\0';
        address->v6.sin6_family = AF_INET6;
        address->v6.sin6_port = htons((uint16_t)port);
        *size = sizeof(address->v6);
        if (inet_pton(AF_INET6, host + 1, &address->v6.sin6_addr) == 1)
            return 0;
    } else {
        address->v4.sin_family = AF_INET;
        address->v4.sin_port = htons((uint16_t)port);
        *size = sizeof(address->v4);
        if (inet_pton(AF_INET, strcmp(host, "localhost") ? host : "127.0.0.1",
                      &address->v4.sin_addr) == 1)
            return 0;
    }
    return err_set(err, ERR_INVALID, "'%.60s' is not an address, as in 127.0.0.1", host);
}

static bool is_loopback(const union tcp_address *address)
{
    if (address->any.sa_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr);
    return ntohl(address->v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

int listen_tcp_open(const struct server_tcp *where, int *fd, struct err *err)
{
    union tcp_address address;
    socklen_t size = 0;
    const int one = 1;
    int made;

    if (read_address(where->address, &address, &size, err) < 0)
        return -1;
    if (!is_loopback(&address) && !where->certificate && !where->anywhere)
        return err_set(
            err, ERR_INVALID,
            "%s can be reached from other machines, so it needs a certificate; "
            "without one listen on 127.0.0.1",
            where->address);
    made = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made < 0)
        return err_sys(err, "cannot make a socket for %s", where->address);
    setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (address.any.sa_family == AF_INET6)
        setsockopt(made, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
    if (bind(made, &address.any, size) < 0 || listen(made, BACKLOG) < 0) {
        err_sys(err, "cannot listen on %s", where->address);
        close(made);
        return -1;
    }
    *fd = made;
    return 0;
}

int listen_port(int fd)
{
    union tcp_address address;
    socklen_t size = sizeof(address);

    if (getsockname(fd, &address.any, &size) < 0)
        return -1;
    if (address.any.sa_family == AF_INET)
        return ntohs(address.v4.sin_port);
    if (address.any.sa_family == AF_INET6)
        return ntohs(address.v6.sin6_port);
    return -1;
}
