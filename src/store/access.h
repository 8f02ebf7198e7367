/* access.h - tokens, of which only the digest is stored, and the audit log */
#ifndef CORGI_STORE_ACCESS_H
#define CORGI_STORE_ACCESS_H

#include "store/store_jobs.h"
#include "store/reader.h"
#include "store/store.h"

enum store_role { STORE_VIEWER, STORE_USER, STORE_OPERATOR };

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
struct store_audit {
    double at_s;
    const char *user;    /* NULL: not known */
    const char *from;    /* peer: unix uid=1000, 127.0.0.1:4711 */
    const char *action;  /* job.cancel */
    const char *target;  /* 17 */
    const char *outcome; /* done, refused, failed */
    const char *detail;  /* NULL: none; nothing secret */
};

void store_add_audit(struct store_batch *batch, const struct store_audit *audit);

#endif
