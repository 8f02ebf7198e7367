/* reader.c - a connection that only reads; the files of the tables walk their rows with
 * reader_walk() */
#include "store/reader.h"

#include "base/mem.h"
#include "store/reader_private.h"
#include "store/migrations.h"

#include <stdlib.h>

/* No answer is longer; callers page. */
#define MOST_ROWS 1000000

int store_reader_open(struct store_reader **opened, const char *path, struct err *err)
{
    struct store_reader *reader;
    struct db *db;

    if (db_open(&db, path, DB_READ, NULL, err) < 0)
        return -1;
    if (db_exec(db, "PRAGMA query_only = ON", err) < 0 ||
        migrations_examine(db, err) < 0) {
        db_close(db);
        return -1;
    }
    reader = mem_new(struct store_reader);
    reader->db = db;
    *opened = reader;
    return 0;
}

void store_reader_close(struct store_reader *reader)
{
    if (!reader)
        return;
    db_close(reader->db);
    free(reader);
}

int reader_limit(int asked, int otherwise)
{
    if (asked <= 0)
        return otherwise;
    return asked < MOST_ROWS ? asked : MOST_ROWS;
}

int reader_walk(struct db_query *q, int (*visit)(void *ctx, struct db_query *q),
                void *ctx, struct err *err)
{
    int rows = 0, rc = -1;

    if (!q)
        return -1;
    while ((rc = db_next(q, err)) > 0) {
        rows++;
        if (visit(ctx, q) != 0)
            break;
    }
    db_reset(q);
    return rc < 0 ? -1 : rows;
}
