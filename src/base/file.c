/* file.c - see file.h */
#include "base/file.h"

#include "base/str.h"

#include <stdio.h>

int file_read(char **text, size_t *length, const char *path, size_t max_bytes,
              struct err *err)
{
    struct str all = {0};
    char block[16384];
    FILE *f = fopen(path, "rb");
    size_t got;
    int rc = -1;

    if (!f)
        return err_sys(err, "cannot open %s", path);
    while ((got = fread(block, 1, sizeof(block), f)) > 0) {
        if (got > max_bytes - all.length) {
            err_set(err, ERR_LIMIT,
                    "%s is larger than %zu bytes, the most that is read: split it", path,
                    max_bytes);
            goto done;
        }
        str_add_bytes(&all, block, got);
    }
    if (ferror(f)) {
        err_sys(err, "cannot read %s", path);
        goto done;
    }
    *length = all.length;
    *text = str_take(&all);
    rc = 0;
done:
    str_fini(&all);
    fclose(f);
    return rc;
}
