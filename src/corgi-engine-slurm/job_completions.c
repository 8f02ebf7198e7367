/* job_completions.c - the request `ended`: what became of a job that Slurm has forgotten,
 * by the file of jobcomp/filetxt, else by slurmdbd (job_accounting.c); a worker thread of
 * helper_server.c calls it */
#include "corgi-engine-slurm/slurm_orders.h"

#include "base/mem.h"
#include "corgi-engine-slurm/job_accounting.h"
#include "corgi-engine-slurm/slurm_source.h"
#include "engine/slurm/slurm_completions.h"

#include <slurm/slurm.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_BYTES ((off_t)32 << 20) /* of its end: some 60,000 jobs */

/* Which books there are. */
struct books {
    char *file; /* of jobcomp/filetxt; NULL: it keeps none */
    bool slurmdbd;
};

static int find_books(struct books *books, struct err *err)
{
    slurm_conf_t *conf = NULL;

    if (slurm_load_ctl_conf(0, &conf))
        return err_set(err, ERR_SYSTEM, "Slurm does not tell its configuration");
    if (conf->job_comp_type && strstr(conf->job_comp_type, "filetxt") &&
        conf->job_comp_loc)
        books->file = mem_strdup(conf->job_comp_loc);
    books->slurmdbd = conf->accounting_storage_type &&
                      strstr(conf->accounting_storage_type, "slurmdbd");
    slurm_free_ctl_conf(conf);
    return 0;
}

static char *read_end(const char *path, size_t *length, struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat now;
    char *text = NULL;
    off_t from;

    if (fd < 0 || fstat(fd, &now) < 0) {
        err_set(err, ERR_INFEASIBLE, "%.200s cannot be read here", path);
    } else {
        from = now.st_size > MOST_BYTES ? now.st_size - MOST_BYTES : 0;
        text = mem_array(char, (size_t)(now.st_size - from) + 1);
        *length = 0;
        for (ssize_t n;
             (n = pread(fd, text + *length, (size_t)(now.st_size - from) - *length,
                        from + (off_t)*length)) > 0;)
            *length += (size_t)n;
    }
    if (fd >= 0)
        close(fd);
    return text;
}

/* 1: found; 0: the file does not have it. */
static int find_in_file(const char *path, const struct json_value *request,
                        struct slurm_completion *found, struct err *err)
{
    size_t length = 0;
    char *text = read_end(path, &length, err);
    int rc = -1;

    if (text)
        rc = slurm_completion_find(text, length, json_member_string(request, "job"),
                                   json_member_number(request, "since_s", 0), found);
    free(text);
    return rc;
}

static int find(const struct books *books, const struct json_value *request,
                struct slurm_completion *found, struct err *err)
{
    int rc = 0;

    if (!books->file && !books->slurmdbd)
        return err_set(err, ERR_INFEASIBLE,
                       "JobCompType is not jobcomp/filetxt, and AccountingStorageType "
                       "not accounting_storage/slurmdbd");
    if (books->file)
        rc = find_in_file(books->file, request, found, err);
    if (rc <= 0 && books->slurmdbd)
        rc = job_accounting_find(request, found, err);
    return rc;
}

int slurm_order_ended(const struct json_value *request, struct json_out *out,
                      struct err *err)
{
    const char *job = json_member_string(request, "job");
    struct books books = {0};
    struct slurm_completion found;
    int rc;

    if (!job || strlen(job) > 60)
        return err_set(err, ERR_FORMAT, "job is missing");
    slurm_source_ready();
    if (find_books(&books, err) < 0)
        return -1;
    rc = find(&books, request, &found, err);
    free(books.file);
    if (rc > 0) {
        json_out_key_bool(out, "marked", found.marked);
        json_out_key_int(out, "uid", found.uid);
        json_out_key_string(out, "name", found.name);
        json_out_key_string(out, "state", found.state);
        json_out_key_number(out, "start_s", found.start_s);
        json_out_key_number(out, "end_s", found.end_s);
        json_out_key_int(out, "exit_status", found.exit_status);
        json_out_key_int(out, "signal", found.signal);
    }
    return rc < 0 ? -1 : 0;
}
