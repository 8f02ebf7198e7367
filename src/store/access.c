/* access.c - tokens and the audit log: service/ writes both, and reads the tokens when it
 * starts; the log is for `corgi store export` */
#include "store/access.h"

#include "store/batch.h"
#include "store/reader_private.h"

#include <string.h>

static const char *const roles[] = {"viewer", "user", "operator", NULL};

/* ---- tokens ------------------------------------------------------------------------ */

#define TOKEN_COLUMNS                                                                    \
    "id, digest, role, user, uid, gid, note, created_s, expires_s, revoked_s"

void store_put_token(struct store_batch *batch, const struct store_token *token)
{
    batch_statement(batch,
                    "INSERT INTO tokens (" TOKEN_COLUMNS
                    ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    NULL);
    BATCH(batch, DB(token->id), db_value_blob(token->digest, sizeof(token->digest)),
          DB(roles[token->role]), DB(token->user), DB(token->uid), DB(token->gid),
          DB(token->note), DB(token->created_s), DB(token->expires_s),
          DB(token->revoked_s));
}

/* The first revocation stands. */
void store_revoke_token(struct store_batch *batch, uint64_t id, double at_s)
{
    batch_statement(batch,
                    "UPDATE tokens SET revoked_s ="
                    " CASE WHEN revoked_s > 0 THEN revoked_s ELSE ?2 END WHERE id = ?1",
                    "there is no such token");
    BATCH(batch, DB(id), DB(at_s));
}

READER_WALK(token);

static int visit_token(void *ctx, struct db_query *q)
{
    const struct token_walk *walk = ctx;
    size_t count;
    const void *digest = db_blob(q, 1, &count);
    struct store_token token = {.id = db_u64(q, 0),
                                .role = (enum store_role)db_word(roles, db_text(q, 2))};

    DB_ROW(q, 3, DB_TO(token.user), DB_TO(token.uid), DB_TO(token.gid), DB_TO(token.note),
           DB_TO(token.created_s), DB_TO(token.expires_s), DB_TO(token.revoked_s));
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

/* ---- audit ------------------------------------------------------------------------- */

void store_add_audit(struct store_batch *batch, const struct store_audit *audit)
{
    batch_statement(batch,
                    "INSERT INTO audit (at_s, user, peer, action, target, outcome,"
                    " note) VALUES (?, ?, ?, ?, ?, ?, ?)",
                    NULL);
    BATCH(batch, DB(audit->at_s), DB(audit->user), DB(audit->from), DB(audit->action),
          DB(audit->target), DB(audit->outcome), DB(audit->detail));
}
