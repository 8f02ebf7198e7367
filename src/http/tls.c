/* tls.c - see tls.h */
#include "http/tls.h"

#include "base/mem.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>

struct tls {
    SSL_CTX *context;
};

static int failed(struct err *err, const char *what, const char *path)
{
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());

    ERR_clear_error();
    return err_set(err, ERR_INVALID, "%s %s: %s", what, path,
                   reason ? reason : "OpenSSL refuses it");
}

static int load(SSL_CTX *context, const char *certificate, const char *key,
                struct err *err)
{
    if (SSL_CTX_use_certificate_chain_file(context, certificate) != 1)
        return failed(err, "cannot use the certificate", certificate);
    if (SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1)
        return failed(err, "cannot use the key", key);
    if (SSL_CTX_check_private_key(context) != 1)
        return failed(err, "the certificate does not belong to the key", key);
    return 0;
}

struct tls *tls_create(const char *certificate, const char *key, struct err *err)
{
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    struct tls *tls;

    if (!context || SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1) {
        failed(err, "cannot set up", "TLS");
        SSL_CTX_free(context);
        return NULL;
    }
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                     SSL_OP_IGNORE_UNEXPECTED_EOF);
    if (load(context, certificate, key, err) < 0) {
        SSL_CTX_free(context);
        return NULL;
    }
    tls = mem_new(struct tls);
    tls->context = context;
    return tls;
}

void tls_destroy(struct tls *tls)
{
    if (!tls)
        return;
    SSL_CTX_free(tls->context);
    free(tls);
}

struct ssl_st *tls_session(struct tls *tls)
{
    return SSL_new(tls->context);
}
