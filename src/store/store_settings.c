/* store_settings.c - what the daemon must know again after a restart: texts by name, and
 * the words of operators about nodes and devices */
#include "store/store_settings.h"

#include "base/mem.h"
#include "store/batch.h"
#include "store/reader_private.h"

void store_put_setting(struct store_batch *batch, const char *name, const char *text)
{
    if (text) {
        batch_statement(batch, "INSERT OR REPLACE INTO settings VALUES (?1, ?2)", NULL);
        BATCH(batch, DB(name), DB(text));
    } else {
        batch_statement(batch, "DELETE FROM settings WHERE name = ?1", NULL);
        BATCH(batch, DB(name));
    }
}

READER_WALK(setting);

static int visit_setting(void *ctx, struct db_query *q)
{
    const struct setting_walk *walk = ctx;

    return walk->row(walk->ctx, db_text(q, 0), db_text(q, 1));
}

int store_read_settings(struct store_reader *reader, store_setting_row row, void *ctx,
                        struct err *err)
{
    struct setting_walk walk = {row, ctx};
    struct db_query *q =
        db_query(reader->db, "SELECT name, text FROM settings ORDER BY name", err);

    return reader_walk(q, visit_setting, &walk, err) < 0 ? -1 : 0;
}

static int keep_text(void *ctx, struct db_query *q)
{
    *(char **)ctx = mem_strdup(db_text(q, 0));
    return 0;
}

int store_read_setting(struct store_reader *reader, const char *name, char **text,
                       struct err *err)
{
    struct db_query *q =
        db_query(reader->db, "SELECT text FROM settings WHERE name = ?1", err);
    int rows;

    DB_BIND(q, DB(name));
    rows = reader_walk(q, keep_text, text, err);
    if (rows == 0)
        return err_set(err, ERR_NOT_FOUND, "%s is not set", name);
    return rows < 0 ? -1 : 0;
}

/* ---- nodes and devices ------------------------------------------------------------- */

static const char *const scopes[] = {"node", "device", NULL};
static const char *const wishes[] = {"auto", "on", "off", NULL};

void store_put_operator(struct store_batch *batch, const struct store_operator *word)
{
    batch_statement(batch,
                    "INSERT OR REPLACE INTO operator_settings"
                    " (scope, name, drained, power, cap_watts, reason, user, at_s)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    NULL);
    BATCH(batch, DB(scopes[word->scope]), DB(word->name), DB(word->drained),
          DB(wishes[word->power]), DB(word->cap_watts), DB(word->reason), DB(word->user),
          DB(word->at_s));
}

READER_WALK(operator);

static int visit_operator(void *ctx, struct db_query *q)
{
    const struct operator_walk *walk = ctx;
    struct store_operator word = {0};
    const char *scope = NULL, *power = NULL;

    DB_ROW(q, 0, DB_TO(scope), DB_TO(word.name), DB_TO(word.drained), DB_TO(power),
           DB_TO(word.cap_watts), DB_TO(word.reason), DB_TO(word.user), DB_TO(word.at_s));
    word.scope = (enum store_scope)db_word(scopes, scope);
    word.power = (enum store_power_wish)db_word(wishes, power);
    return walk->row(walk->ctx, &word);
}

int store_read_operators(struct store_reader *reader, store_operator_row row, void *ctx,
                         struct err *err)
{
    struct operator_walk walk = {row, ctx};
    struct db_query *q =
        db_query(reader->db,
                 "SELECT scope, name, drained, power, cap_watts, reason, user, at_s"
                 " FROM operator_settings ORDER BY scope, name",
                 err);

    return reader_walk(q, visit_operator, &walk, err) < 0 ? -1 : 0;
}
