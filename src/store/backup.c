/* backup.c - `corgi store backup`: a copy of a store that may be in use */
#include "store/store_private.h"

#include "base/str.h"

#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

static int sync_path(const char *path, int flags, struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | flags);
    int rc = fd < 0 || fsync(fd) < 0 ? err_sys(err, "cannot sync %s", path) : 0;

    if (fd >= 0)
        close(fd);
    return rc;
}

static int sync_parent(const char *path, struct err *err)
{
    char *copy = mem_strdup(path);
    int rc = sync_path(dirname(copy), O_DIRECTORY, err);

    free(copy);
    return rc;
}

/* Would the copy overwrite the store it is made from? */
static bool is_same_file(const char *a, const char *b)
{
    struct stat first, second;

    return stat(a, &first) == 0 && stat(b, &second) == 0 &&
           first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

static int refuse_target(const char *path, const char *to, bool replace, struct err *err)
{
    if (is_same_file(path, to))
        return err_set(err, ERR_INVALID, "%s is the store itself: name another file", to);
    if (!replace && access(to, F_OK) == 0)
        return err_set(err, ERR_EXISTS,
                       "%s is there already: name another file, or replace it with "
                       "--force",
                       to);
    return 0;
}

/* Into a neighbour first: under its name a backup is whole or not there. */
int store_backup(const char *path, const char *to, bool replace, struct err *err)
{
    struct str temporary = {0};
    struct db *db = NULL;
    int rc = -1;

    str_addf(&temporary, "%s.write", to);
    if (refuse_target(path, to, replace, err) < 0 ||
        db_open(&db, path, DB_READ, NULL, err) < 0 || migrations_examine(db, err) < 0)
        goto done;
    unlink(str_text(&temporary)); /* of an attempt that was interrupted */
    if (db_copy(db, str_text(&temporary), err) < 0 ||
        sync_path(str_text(&temporary), 0, err) < 0)
        goto done;
    if (rename(str_text(&temporary), to) < 0) {
        err_sys(err, "cannot rename %s to %s", str_text(&temporary), to);
        goto done;
    }
    rc = sync_parent(to, err);
done:
    if (rc < 0)
        unlink(str_text(&temporary));
    db_close(db);
    str_fini(&temporary);
    return rc;
}
