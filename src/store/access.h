/* access.h - tokens, of which only the digest is stored, and the audit log */
#ifndef CORGI_STORE_ACCESS_H
#define CORGI_STORE_ACCESS_H

#include "store/store_jobs.h"
#include "store/reader.h"
#include "store/store.h"

enum store_role { STORE_VIEWER, STORE_USER, STORE_OPERATOR };

const char *store_role_name(enum store_role role); /* viewer, user, operator */
bool store_role_named(const char *name, enum store_role *role);

struct store_token {
    uint64_t id;                              /* store_take_id(STORE_TOKEN_ID) */
    unsigned char digest[STORE_DIGEST_BYTES]; /* store_digest() of the token's text */
    enum store_role role;
    const char *user;
    uid_t uid; /* jobs submitted with it run as this user */
    gid_t gid;
    const char *note; /* what it is for; NULL: none */
    double created_s;
    double expires_s; /* 0: never */
    double revoked_s; /* 0: valid */
};

/* ERR_EXISTS when the id or the digest is taken. */
void store_put_token(struct store_batch *batch, const struct store_token *token);
void store_revoke_token(struct store_batch *batch, uint64_t id, double at_s);

typedef int (*store_token_row)(void *ctx, const struct store_token *token);

/* All, revoked and expired ones too, oldest first: the daemon keeps them in memory. */
int store_read_tokens(struct store_reader *reader, store_token_row row, void *ctx,
                      struct err *err);
/* ERR_NOT_FOUND; expiry is for the caller to look at. */
int store_find_token(struct store_reader *reader,
                     const unsigned char digest[STORE_DIGEST_BYTES], store_token_row row,
                     void *ctx, struct err *err);

struct store_audit {
    uint64_t id; /* only when read */
    double at_s;
    const char *user;    /* NULL: not known */
    const char *from;    /* peer: unix uid=1000, 127.0.0.1:4711 */
    const char *action;  /* job.cancel */
    const char *target;  /* 17 */
    const char *outcome; /* done, refused, failed */
    const char *detail;  /* NULL: none; nothing secret */
};

void store_add_audit(struct store_batch *batch, const struct store_audit *audit);

typedef int (*store_audit_row)(void *ctx, const struct store_audit *audit);
int store_read_audit(struct store_reader *reader, uint64_t before_id, int limit,
                     store_audit_row row, void *ctx, struct err *err); /* newest first */

#endif
