/* migrations.c - the tables, step by step (schema/); store.c takes the missing steps when
 * it opens a store, and readers check that they know its version */
#include "store/store_private.h"

#include "base/embed.h"
#include "base/str.h"

/* schema/N.sql leads from version N - 1 to N. */
EMBED(store_schema_1, CORGI_SCHEMA_DIR "/1.sql");
EMBED(store_schema_2, CORGI_SCHEMA_DIR "/2.sql");
EMBED(store_schema_3, CORGI_SCHEMA_DIR "/3.sql");
EMBED(store_schema_4, CORGI_SCHEMA_DIR "/4.sql");
EMBED(store_schema_5, CORGI_SCHEMA_DIR "/5.sql");
EMBED(store_schema_6, CORGI_SCHEMA_DIR "/6.sql");

const char *const migrations_steps[] = {
    (const char *)store_schema_1, (const char *)store_schema_2,
    (const char *)store_schema_3, (const char *)store_schema_4,
    (const char *)store_schema_5, (const char *)store_schema_6,
};
const int migrations_count = sizeof(migrations_steps) / sizeof(migrations_steps[0]);

/* The version, when the file is a store or empty. */
static int read_version(struct db *db, int *version, struct err *err)
{
    int64_t application, number, objects;

    if (db_number(db, "PRAGMA application_id", &application, err) < 0 ||
        db_number(db, "PRAGMA user_version", &number, err) < 0 ||
        db_number(db, "SELECT count(*) FROM sqlite_schema", &objects, err) < 0)
        return -1;
    if (application != MIGRATIONS_APPLICATION_ID && objects + application + number != 0)
        return err_set(err, ERR_FORMAT,
                       "%s is a database of another program: give the path of a store, "
                       "or of a file that is not there yet",
                       db->path);
    *version = (int)number;
    return 0;
}

static int refuse_newer(struct db *db, int version, int known, struct err *err)
{
    return err_set(err, ERR_UNSUPPORTED,
                   "%s was written by a newer corgi (schema %d, this one knows %d): "
                   "install that version again, or start from a backup",
                   db->path, version, known);
}

static int take_step(struct db *db, const char *sql, int version, struct err *err)
{
    struct str mark = {0};
    int rc;

    str_addf(&mark, "PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT",
             MIGRATIONS_APPLICATION_ID, version);
    rc = db_exec(db, "BEGIN IMMEDIATE", err) < 0 || db_exec(db, sql, err) < 0 ||
                 db_exec(db, str_text(&mark), err) < 0
             ? -1
             : 0;
    if (rc < 0) {
        db_rollback(db);
        err_prefix(err, "cannot bring %s to schema %d", db->path, version);
    }
    str_fini(&mark);
    return rc;
}

int migrations_apply(struct db *db, const char *const *steps, int count, int *from,
                     struct err *err)
{
    int version;

    if (read_version(db, &version, err) < 0)
        return -1;
    if (version > count)
        return refuse_newer(db, version, count, err);
    for (int step = version; step < count; step++)
        if (take_step(db, steps[step], step + 1, err) < 0)
            return -1;
    *from = version;
    return 0;
}

int migrations_examine(struct db *db, struct err *err)
{
    int version;

    if (read_version(db, &version, err) < 0)
        return -1;
    if (version > migrations_count)
        return refuse_newer(db, version, migrations_count, err);
    if (version < migrations_count)
        return err_set(err, ERR_UNSUPPORTED,
                       "%s has schema %d, this corgi reads %d: start corgid on it once, "
                       "which brings it up to date",
                       db->path, version, migrations_count);
    return 0;
}
