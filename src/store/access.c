/* access.c - see access.h */
#include "store/access.h"

#include "store/batch.h"
#include "store/names.h"
#include "store/reader_private.h"

#include <string.h>

static const char *const roles[] = {"viewer", "user", "operator", NULL};

const char *store_role_name(enum store_role role)
{
    return roles[role];
}

bool store_role_named(const char *name, enum store_role *role)
{
    int index = names_find(roles, name);

    if (strcmp(roles[index], name) != 0)
        return false;
    *role = (enum store_role)index;
    return true;
}

/* ---- tokens ------------------------------------------------------------------------ */

#define TOKEN_COLUMNS                                                                    \
    "id, digest, role, user, uid, gid, note, created_s, expires_s, revoked_s"

void store_put_token(struct store_batch *batch, const struct store_token *token)
{
    batch_statement(batch,
                    "INSERT INTO tokens (" TOKEN_COLUMNS
                    ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    NULL);
    batch_u64(batch, token->id);
    batch_blob(batch, token->digest, sizeof(token->digest));
    batch_text(batch, store_role_name(token->role));
    batch_text(batch, token->user);
    batch_int(batch, token->uid);
    batch_int(batch, token->gid);
    batch_text(batch, token->note);
    batch_real(batch, token->created_s);
    batch_real(batch, token->expires_s);
    batch_real(batch, token->revoked_s);
}

/* The first revocation stands. */
void store_revoke_token(struct store_batch *batch, uint64_t id, double at_s)
{
    batch_statement(batch,
                    "UPDATE tokens SET revoked_s ="
                    " CASE WHEN revoked_s > 0 THEN revoked_s ELSE ?2 END WHERE id = ?1",
                    "there is no such token");
    batch_u64(batch, id);
    batch_real(batch, at_s);
}

struct token_walk {
    store_token_row row;
    void *ctx;
};

static int visit_token(void *ctx, struct db_query *q)
{
    const struct token_walk *walk = ctx;
    size_t count;
    const void *digest = db_blob(q, 1, &count);
    struct store_token token = {
        .id = db_u64(q, 0),
        .role = (enum store_role)names_find(roles, db_text(q, 2)),
        .user = db_text(q, 3),
        .uid = (uid_t)db_int(q, 4),
        .gid = (gid_t)db_int(q, 5),
        .note = db_text(q, 6),
        .created_s = db_real(q, 7),
        .expires_s = db_real(q, 8),
        .revoked_s = db_real(q, 9),
    };

    if (count == sizeof(token.digest))
        memcpy(token.digest, digest, count);
    return walk->row(walk->ctx, &token);
}

int store_read_tokens(struct store_reader *reader, store_token_row row, void *ctx,
                      struct err *err)
{
    static const char sql[] = "SELECT " TOKEN_COLUMNS " FROM tokens ORDER BY id";
    struct token_walk walk = {row, ctx};

    return reader_walk(db_query(reader->db, sql, err), visit_token, &walk, err) < 0 ? -1
                                                                                    : 0;
}

int store_find_token(struct store_reader *reader,
                     const unsigned char digest[STORE_DIGEST_BYTES], store_token_row row,
                     void *ctx, struct err *err)
{
    static const char sql[] = "SELECT " TOKEN_COLUMNS " FROM tokens WHERE digest = ?1";
    struct token_walk walk = {row, ctx};
    struct db_query *q = db_query(reader->db, sql, err);
    int rows;

    if (!q)
        return -1;
    db_bind_blob(q, 1, digest, STORE_DIGEST_BYTES);
    rows = reader_walk(q, visit_token, &walk, err);
    if (rows == 0)
        return err_set(err, ERR_NOT_FOUND, "there is no such token");
    return rows < 0 ? -1 : 0;
}

/* ---- audit ------------------------------------------------------------------------- */

void store_add_audit(struct store_batch *batch, const struct store_audit *audit)
{
    batch_statement(batch,
                    "INSERT INTO audit (at_s, user, peer, action, target, outcome,"
                    " note) VALUES (?, ?, ?, ?, ?, ?, ?)",
                    NULL);
    batch_real(batch, audit->at_s);
    batch_text(batch, audit->user);
    batch_text(batch, audit->from);
    batch_text(batch, audit->action);
    batch_text(batch, audit->target);
    batch_text(batch, audit->outcome);
    batch_text(batch, audit->detail);
}

struct audit_walk {
    store_audit_row row;
    void *ctx;
};

static int visit_audit(void *ctx, struct db_query *q)
{
    const struct audit_walk *walk = ctx;
    struct store_audit audit = {
        .id = db_u64(q, 0),
        .at_s = db_real(q, 1),
        .user = db_text(q, 2),
        .from = db_text(q, 3),
        .action = db_text(q, 4),
        .target = db_text(q, 5),
        .outcome = db_text(q, 6),
        .detail = db_text(q, 7),
    };

    return walk->row(walk->ctx, &audit);
}

int store_read_audit(struct store_reader *reader, uint64_t before_id, int limit,
                     store_audit_row row, void *ctx, struct err *err)
{
    struct audit_walk walk = {row, ctx};
    struct db_query *q =
        db_query(reader->db,
                 "SELECT id, at_s, user, peer, action, target, outcome, note FROM audit"
                 " WHERE id < ?1 ORDER BY id DESC LIMIT ?2",
                 err);

    if (!q)
        return -1;
    db_bind_int(q, 1, before_id > 0 ? (int64_t)before_id : INT64_MAX);
    db_bind_int(q, 2, reader_limit(limit, 1000));
    return reader_walk(q, visit_audit, &walk, err) < 0 ? -1 : 0;
}
