/* weights_file.c - weights on disk, see weights.h */
#include "nn/weights.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int write_all(int fd, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t done = write(fd, bytes, count);

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return -1;
        bytes += done;
        count -= (size_t)done;
    }
    return 0;
}

/* The name of the new file is on disk only once its folder is. */
static int sync_folder(const char *path, struct err *err)
{
    const char *slash = strrchr(path, '/');
    struct str folder = {0};
    int fd, rc = 0;

    if (slash)
        str_add_bytes(&folder, path, slash == path ? 1 : (size_t)(slash - path));
    else
        str_add(&folder, ".");
    fd = open(str_text(&folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fsync(fd) < 0)
        rc = err_sys(err, "cannot sync the folder of %s", path);
    if (fd >= 0)
        close(fd);
    str_fini(&folder);
    return rc;
}

static int write_file(const char *path, const struct str *bytes, struct err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    int rc = 0;

    if (fd < 0)
        return err_sys(err, "cannot create %s", path);
    if (write_all(fd, bytes->text, bytes->length) < 0 || fsync(fd) < 0)
        rc = err_sys(err, "cannot write %s", path);
    if (close(fd) < 0 && rc == 0)
        rc = err_sys(err, "cannot write %s", path);
    if (rc < 0)
        unlink(path);
    return rc;
}

int weights_save(const struct params *params, const char *path, const char *text,
                 struct err *err)
{
    static atomic_uint saved; /* two threads may save beside the same path */
    struct str bytes = {0}, beside = {0};
    int rc = -1;

    if (weights_encode(params, text, &bytes, err) < 0)
        return -1;
    str_addf(&beside, "%s.%ld-%u.tmp", path, (long)getpid(), atomic_fetch_add(&saved, 1));
    unlink(str_text(&beside)); /* left by a process of the same number that crashed */
    if (write_file(str_text(&beside), &bytes, err) < 0)
        goto done;
    if (rename(str_text(&beside), path) < 0) {
        err_sys(err, "cannot rename %s to %s", str_text(&beside), path);
        unlink(str_text(&beside));
        goto done;
    }
    rc = sync_folder(path, err);
done:
    str_fini(&beside);
    str_fini(&bytes);
    return rc;
}

static int read_file(const char *path, struct str *bytes, struct err *err)
{
    char block[65536];
    struct stat status;
    ssize_t count;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int rc = -1;

    if (fd < 0)
        return err_sys(err, "cannot open %s", path);
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode)) {
        err_set(err, ERR_FORMAT, "%s is not a plain file", path);
        goto done;
    }
    while ((count = read(fd, block, sizeof(block))) != 0) {
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0) {
            err_sys(err, "cannot read %s", path);
            goto done;
        }
        str_add_bytes(bytes, block, (size_t)count);
        if (bytes->length > WEIGHTS_MAX_BYTES) {
            err_set(err, ERR_LIMIT, "%s is over %zu bytes", path, WEIGHTS_MAX_BYTES);
            goto done;
        }
    }
    rc = 0;
done:
    close(fd);
    return rc;
}

int weights_load(struct params *params, const char *path, struct str *text,
                 struct err *err)
{
    struct str bytes = {0};
    int rc = read_file(path, &bytes, err);

    if (rc == 0) {
        rc = weights_decode(params, str_text(&bytes), bytes.length, text, err);
        if (rc < 0)
            err_prefix(err, "%s", path);
    }
    str_fini(&bytes);
    return rc;
}
