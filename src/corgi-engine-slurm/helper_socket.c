/* helper_socket.c - helper_server.c listens here for corgid */
#include "corgi-engine-slurm/helper_socket.h"

#include "base/log.h"
#include "base/str.h"

#include <pwd.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define OWNER_ALONE 0077
#define ANYBODY     0111 /* may connect: who it is decides */

static int find_user(const char *name, uid_t *uid, struct err *err)
{
    const struct passwd *account = getpwnam(name);

    if (!account)
        return err_set(err, ERR_NOT_FOUND, "--allow: there is no user '%.64s'", name);
    *uid = account->pw_uid;
    return 0;
}

int helper_socket_listen(struct helper_socket *made, const char *path, const char *allow,
                         int backlog, struct err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    uid_t allowed = geteuid();
    mode_t mask;
    int fd, rc;

    if (!str_copy(address.sun_path, sizeof(address.sun_path), path))
        return err_set(err, ERR_INVALID, "%s is too long for a Unix socket", path);
    if (allow && find_user(allow, &allowed, err) < 0)
        return -1;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return err_sys(err, "cannot make a socket");
    unlink(path);
    mask = umask(allow ? ANYBODY : OWNER_ALONE);
    rc = bind(fd, (struct sockaddr *)&address, sizeof(address));
    umask(mask);
    if (rc < 0 || listen(fd, backlog) < 0) {
        err_sys(err, "cannot listen at %s", path);
        close(fd);
        return -1;
    }
    *made = (struct helper_socket){.fd = fd, .allowed = allowed};
    return 0;
}

int helper_socket_accept(const struct helper_socket *s)
{
    int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC);
    struct ucred peer;
    socklen_t size = sizeof(peer);

    if (fd < 0)
        return -1;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
        (peer.uid == 0 || peer.uid == geteuid() || peer.uid == s->allowed))
        return fd;
    log_warn("client_refused");
    close(fd);
    return -1;
}
