/* file.c - whole files: read within a limit, written so that they are there whole or not
 * at all */
#include "base/file.h"

#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define READ_CHUNK       65536
#define LOCK_HOLDER_SIZE 32

static int read_all(FILE *f, const char *path, size_t max_bytes, struct str *text,
                    struct err *err)
{
    char *chunk = mem_array(char, READ_CHUNK);
    int rc = 0;
    size_t n;

    while (rc == 0 && (n = fread(chunk, 1, READ_CHUNK, f)) > 0) {
        if (n > max_bytes - text->length)
            rc = err_set(err, ERR_LIMIT,
                         "%s is larger than the %zu bytes that are allowed", path,
                         max_bytes);
        else
            str_add_bytes(text, chunk, n);
    }
    if (rc == 0 && ferror(f))
        rc = err_sys(err, "cannot read %s", path);
    free(chunk);
    return rc;
}

int file_read(const char *path, size_t max_bytes, char **bytes, size_t *count,
              struct err *err)
{
    struct str text = {0};
    FILE *f = fopen(path, "rbe");
    int rc;

    if (!f) {
        bool missing = errno == ENOENT;

        err_sys(err, "cannot open %s", path);
        if (missing && err)
            err->code = ERR_NOT_FOUND;
        return -1;
    }
    rc = read_all(f, path, max_bytes, &text, err);
    fclose(f);
    if (rc == 0) {
        *count = text.length;
        *bytes = str_take(&text);
    }
    str_fini(&text);
    return rc;
}

ssize_t file_head(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC), code;
    size_t used = 0;
    ssize_t n = 1;

    if (fd < 0)
        return -1;
    while (used + 1 < size && (n = read(fd, text + used, size - 1 - used)) > 0)
        used += (size_t)n;
    code = errno;
    close(fd);
    text[used] = '\0';
    errno = code;
    return n < 0 ? -1 : (ssize_t)used;
}

struct file_out {
    char *path; /* the final name, symbolic links followed */
    char *temp; /* NULL: written in place */
    FILE *stream;
};

void file_out_abort(struct file_out *out)
{
    if (!out)
        return;
    if (out->stream)
        fclose(out->stream);
    if (out->temp)
        unlink(out->temp);
    free(out->temp);
    free(out->path);
    free(out);
}

/* A new neighbour of the path, with the mode an ordinary new file gets. */
static int open_temp(struct file_out *out)
{
    struct str name = {0};
    int fd = -1;

    for (int attempt = 0; fd < 0 && attempt < 100; attempt++) {
        str_clear(&name);
        str_addf(&name, "%s.tmp-%ld-%d", out->path, (long)getpid(), attempt);
        fd = open(str_text(&name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    if (fd >= 0)
        out->temp = str_take(&name);
    str_fini(&name);
    return fd;
}

static int open_target(struct file_out *out)
{
    struct stat st;
    int fd;

    if (stat(out->path, &st) < 0)
        return open_temp(out);
    if (S_ISDIR(st.st_mode)) {
        errno = EISDIR;
        return -1;
    }
    if (!S_ISREG(st.st_mode)) /* a rename would replace the device itself */
        return open(out->path, O_WRONLY | O_CLOEXEC);
    fd = open_temp(out);
    if (fd >= 0 && fchmod(fd, st.st_mode & 07777) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

struct file_out *file_out_open(const char *path, struct err *err)
{
    struct file_out *out = mem_new(struct file_out);
    char *real = realpath(path, NULL);
    int fd;

    out->path = real ? real : mem_strdup(path);
    fd = open_target(out);
    if (fd >= 0 && !(out->stream = fdopen(fd, "wb")))
        close(fd);
    if (!out->stream) {
        err_sys(err, "cannot write %s", path);
        file_out_abort(out);
        return NULL;
    }
    return out;
}

FILE *file_out_stream(struct file_out *out)
{
    return out->stream;
}

int file_out_reserve(struct file_out *out, size_t bytes, struct err *err)
{
    if (fallocate(fileno(out->stream), FALLOC_FL_KEEP_SIZE, 0, (off_t)bytes) < 0 &&
        errno != EOPNOTSUPP && errno != ENOSYS)
        return err_sys(err, "cannot make room for %s", out->path);
    return 0;
}

int file_rename(const char *temp, const char *path, struct err *err)
{
    char *copy = mem_strdup(path);
    int fd = -1, rc = rename(temp, path);

    if (rc == 0) {
        fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        rc = fd < 0 ? -1 : fsync(fd);
        if (rc < 0 && (errno == EINVAL || errno == EACCES))
            rc = 0; /* some file systems cannot; the file is there all the same */
    }
    if (rc < 0)
        err_sys(err, "cannot write %s", path);
    if (fd >= 0)
        close(fd);
    free(copy);
    return rc;
}

static bool finish_stream(struct file_out *out)
{
    FILE *stream = out->stream;
    bool fine = fflush(stream) == 0 && !ferror(stream);

    if (fine && out->temp)
        fine = fsync(fileno(stream)) == 0;
    out->stream = NULL;
    if (!fine) {
        int saved = errno;

        fclose(stream);
        errno = saved;
        return false;
    }
    return fclose(stream) == 0;
}

int file_out_commit(struct file_out *out, struct err *err)
{
    int rc = 0;

    errno = 0;
    if (!finish_stream(out)) {
        /* An earlier write failed and its errno is gone. */
        errno = errno ? errno : EIO;
        rc = err_sys(err, "cannot write %s", out->path);
    } else if (out->temp) {
        rc = file_rename(out->temp, out->path, err);
    }
    file_out_abort(out);
    return rc;
}

int file_write(const char *path, const void *bytes, size_t count, struct err *err)
{
    struct file_out *out = file_out_open(path, err);

    if (!out)
        return -1;
    if (fwrite(bytes, 1, count, out->stream) != count) {
        err_sys(err, "cannot write %s", path);
        file_out_abort(out);
        return -1;
    }
    return file_out_commit(out, err);
}

int file_make_dirs(const char *path, struct err *err)
{
    char *copy = mem_strdup(path);
    struct stat st;
    int rc = 0;

    for (char *c = copy + 1; *copy; c++) {
        char saved = *c;

        if (*c != '/' && *c != '\0')
            continue;
        *c = '\0';
        if (mkdir(copy, 0777) < 0 && errno != EEXIST)
            rc = err_sys(err, "cannot make the directory %s", copy);
        *c = saved;
        if (rc < 0 || saved == '\0')
            break;
    }
    if (rc == 0 && (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))) {
        errno = ENOTDIR;
        rc = err_sys(err, "cannot make the directory %s", path);
    }
    free(copy);
    return rc;
}

int file_make_parent(const char *path, struct err *err)
{
    char *copy = mem_strdup(path);
    int rc = file_make_dirs(dirname(copy), err);

    free(copy);
    return rc;
}

/* A process that was killed while it started another one leaves its lock with the child
 * until that has become another program: so long is waited for. */
static bool lock_soon(int fd, const char *name, char holder[LOCK_HOLDER_SIZE])
{
    const struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};
    bool locked;

    for (int i = 0; !(locked = flock(fd, LOCK_EX | LOCK_NB) == 0) && i < 100; i++) {
        if (errno != EWOULDBLOCK || file_head(name, holder, LOCK_HOLDER_SIZE) < 0 ||
            kill((pid_t)atoi(holder), 0) == 0 || errno != ESRCH)
            break;
        nanosleep(&pause, NULL);
    }
    return locked;
}

int file_lock(const char *path, struct err *err)
{
    struct str name = {0};
    char holder[LOCK_HOLDER_SIZE] = "";
    int fd;

    str_addf(&name, "%s.lock", path);
    fd = open(str_text(&name), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) {
        err_sys(err, "cannot open the lock file %s", str_text(&name));
    } else if (!lock_soon(fd, str_text(&name), holder)) {
        if (holder[0])
            err_set(err, ERR_EXISTS, "%s is in use by process %s: stop that one first",
                    path, holder);
        else
            err_sys(err, "cannot lock %s", str_text(&name));
        close(fd);
        fd = -1;
    } else if (ftruncate(fd, 0) == 0) { /* that only makes the refusal clearer */
        dprintf(fd, "%d", (int)getpid());
    }
    str_fini(&name);
    return fd;
}

char *file_join(const char *dir, const char *name)
{
    struct str path = {0};

    str_addf(&path, "%s%s%s", dir, str_ends(dir, "/") ? "" : "/", name);
    return str_take(&path);
}
