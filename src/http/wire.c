/* wire.c - see wire.h
 *
 * The socket does not block; waiting is done by poll() alone, so that every wait has its
 * limit. */
#include "http/wire.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct wire {
    int fd;
    SSL_CTX *context; /* NULL: plain */
    SSL *tls;
};

/* 1: ready, 0: too late, -1: an error. */
static int wait_for(int fd, short what, double until_s)
{
    struct pollfd p = {.fd = fd, .events = what};

    for (;;) {
        double left_s = until_s - clock_wall_s();
        int rc = poll(&p, 1, left_s > 0 ? (int)(left_s * 1000) + 1 : 0);

        if (rc > 0 || (rc == 0 && clock_wall_s() >= until_s))
            return rc;
        if (rc < 0 && errno != EINTR)
            return -1;
    }
}

/* ---- opening ----------------------------------------------------------------------- */

static int connect_to(int fd, const struct sockaddr *address, socklen_t size,
                      double until_s)
{
    int problem = 0;
    socklen_t length = sizeof(problem);

    if (connect(fd, address, size) == 0)
        return 0;
    if (errno != EINPROGRESS && errno != EAGAIN)
        return -1;
    if (wait_for(fd, POLLOUT, until_s) != 1) {
        errno = ETIMEDOUT;
        return -1;
    }
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &problem, &length) < 0)
        return -1;
    errno = problem;
    return problem ? -1 : 0;
}

static int cannot_connect(const char *where, struct err *err)
{
    if (errno == ENOENT || errno == ECONNREFUSED)
        return err_set(err, ERR_NOT_FOUND, "nobody listens on %s", where);
    return err_sys(err, "cannot connect to %s", where);
}

static int open_unix(const char *path, double until_s, struct err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd;

    if (!str_copy(address.sun_path, sizeof(address.sun_path), path))
        return err_set(err, ERR_INVALID, "the socket's path %s is too long", path);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_sys(err, "cannot make a socket");
    if (connect_to(fd, (struct sockaddr *)&address, sizeof(address), until_s) < 0) {
        cannot_connect(path, err);
        close(fd);
        return -1;
    }
    return fd;
}

static int open_tcp(const struct wire_target *target, double until_s, struct err *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    struct str where = {0};
    const int one = 1;
    int fd = -1;
    int rc = getaddrinfo(target->host, target->port, &hints, &found);

    if (rc != 0)
        return err_set(err, ERR_NOT_FOUND, "cannot find the host '%.100s': %s",
                       target->host, gai_strerror(rc));
    errno = 0;
    for (struct addrinfo *a = found; a && fd < 0; a = a->ai_next) {
        fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd >= 0 && connect_to(fd, a->ai_addr, a->ai_addrlen, until_s) < 0) {
            int problem = errno;

            close(fd);
            errno = problem;
            fd = -1;
        }
    }
    freeaddrinfo(found);
    if (fd < 0) {
        str_addf(&where, "%s:%s", target->host, target->port);
        cannot_connect(str_text(&where), err);
        str_fini(&where);
        return -1;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    return fd;
}

static int tls_failed(struct wire *w, const char *what, struct err *err)
{
    long verified = w->tls ? SSL_get_verify_result(w->tls) : X509_V_OK;
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());

    if (verified != X509_V_OK)
        reason = X509_verify_cert_error_string(verified);
    ERR_clear_error();
    return err_set(err, ERR_SYSTEM, "%s: %s", what,
                   reason ? reason : "the connection was cut");
}

/* What OpenSSL waits for; 0 when it does not wait but has failed. */
static short tls_waits_for(const struct wire *w, int rc)
{
    switch (SSL_get_error(w->tls, rc)) {
    case SSL_ERROR_WANT_READ:
        return POLLIN;
    case SSL_ERROR_WANT_WRITE:
        return POLLOUT;
    default:
        return 0;
    }
}

static bool is_address(const char *host)
{
    return strchr(host, ':') || strspn(host, "0123456789.") == strlen(host);
}

static int prepare_tls(struct wire *w, const struct wire_target *target, struct err *err)
{
    int trusts;

    w->context = SSL_CTX_new(TLS_client_method());
    if (!w->context || SSL_CTX_set_min_proto_version(w->context, TLS1_2_VERSION) != 1)
        return tls_failed(w, "cannot set up TLS", err);
    SSL_CTX_set_verify(w->context, SSL_VERIFY_PEER, NULL);
    trusts = target->ca_file
                 ? SSL_CTX_load_verify_locations(w->context, target->ca_file, NULL)
                 : SSL_CTX_set_default_verify_paths(w->context);
    if (trusts != 1)
        return tls_failed(w, "cannot read the certificates to trust", err);
    w->tls = SSL_new(w->context);
    if (!w->tls || SSL_set_fd(w->tls, w->fd) != 1)
        return tls_failed(w, "cannot set up TLS", err);
    if (is_address(target->host)) {
        X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(w->tls), target->host);
    } else {
        SSL_set1_host(w->tls, target->host);
        SSL_set_tlsext_host_name(w->tls, target->host);
    }
    return 0;
}

static int shake_hands(struct wire *w, const struct wire_target *target, double until_s,
                       struct err *err)
{
    int rc;

    if (prepare_tls(w, target, err) < 0)
        return -1;
    while ((rc = SSL_connect(w->tls)) != 1) {
        short what = tls_waits_for(w, rc);

        if (!what)
            return tls_failed(w, "the TLS handshake failed", err);
        if (wait_for(w->fd, what, until_s) != 1)
            return err_set(err, ERR_SYSTEM, "the TLS handshake takes too long");
    }
    return 0;
}

struct wire *wire_open(const struct wire_target *target, double limit_s, struct err *err)
{
    double until_s = clock_wall_s() + limit_s;
    int fd = target->socket ? open_unix(target->socket, until_s, err)
                            : open_tcp(target, until_s, err);
    struct wire *w;

    if (fd < 0)
        return NULL;
    w = mem_new(struct wire);
    w->fd = fd;
    if (target->tls && shake_hands(w, target, until_s, err) < 0) {
        wire_close(w);
        return NULL;
    }
    return w;
}

void wire_close(struct wire *w)
{
    if (!w)
        return;
    if (w->tls && SSL_is_init_finished(w->tls))
        SSL_shutdown(w->tls);
    SSL_free(w->tls);
    SSL_CTX_free(w->context);
    close(w->fd);
    free(w);
}

/* ---- bytes ------------------------------------------------------------------------- */

/* One attempt: >0 bytes, 0 the end, -1 failed, or -2 with what to wait for. */
static long try_write(struct wire *w, const char *bytes, size_t count, short *what)
{
    long done;

    if (w->tls) {
        done = SSL_write(w->tls, bytes, count > INT32_MAX ? INT32_MAX : (int)count);
        *what = done > 0 ? 0 : tls_waits_for(w, (int)done);
        return done > 0 ? done : *what ? -2 : -1;
    }
    done = send(w->fd, bytes, count, MSG_NOSIGNAL);
    *what = POLLOUT;
    return done >= 0 ? done : errno == EAGAIN || errno == EINTR ? -2 : -1;
}

static long try_read(struct wire *w, char *bytes, size_t most, short *what)
{
    long done;

    if (w->tls) {
        done = SSL_read(w->tls, bytes, most > INT32_MAX ? INT32_MAX : (int)most);
        if (done > 0)
            return done;
        *what = tls_waits_for(w, (int)done);
        return *what                                                       ? -2
               : SSL_get_error(w->tls, (int)done) == SSL_ERROR_ZERO_RETURN ? 0
                                                                           : -1;
    }
    done = recv(w->fd, bytes, most, 0);
    *what = POLLIN;
    return done >= 0 ? done : errno == EAGAIN || errno == EINTR ? -2 : -1;
}

int wire_write(struct wire *w, const char *bytes, size_t count, double limit_s,
               struct err *err)
{
    double until_s = clock_wall_s() + limit_s;

    while (count > 0) {
        short what;
        long done = try_write(w, bytes, count, &what);

        if (done == -1)
            return err_sys(err, "the connection was lost");
        if (done == -2) {
            if (wait_for(w->fd, what, until_s) != 1)
                return err_set(err, ERR_LIMIT, "the other side takes no bytes");
            continue;
        }
        bytes += done;
        count -= (size_t)done;
    }
    return 0;
}

long wire_read(struct wire *w, char *bytes, size_t most, double limit_s, struct err *err)
{
    double until_s = clock_wall_s() + limit_s;
    short what;
    long done;

    while ((done = try_read(w, bytes, most, &what)) == -2) {
        int ready = wait_for(w->fd, what, until_s);

        if (ready == 0)
            return err_set(err, ERR_LIMIT, "there was no answer within %g s", limit_s);
        if (ready < 0)
            return err_sys(err, "cannot wait for an answer");
    }
    if (done < 0) {
        ERR_clear_error();
        return err_sys(err, "the connection was lost");
    }
    return done;
}
