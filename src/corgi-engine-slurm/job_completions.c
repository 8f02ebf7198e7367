/* job_completions.c - the request `ended`: what became of a job that Slurm has forgotten,
 * by the file of jobcomp/filetxt; a worker thread of helper_server.c calls it */
#include "corgi-engine-slurm/slurm_orders.h"

#include "base/mem.h"
#include "corgi-engine-slurm/slurm_source.h"
#include "engine/slurm/slurm_completions.h"

#include <slurm/slurm.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_BYTES ((off_t)32 << 20) /* of its end: some 60,000 jobs */

/* Where the file is; the caller frees.  NULL: err says why there is none. */
static char *path_of(struct err *err)
{
    slurm_conf_t *conf = NULL;
    char *path = NULL;

    if (slurm_load_ctl_conf(0, &conf)) {
        err_set(err, ERR_SYSTEM, "Slurm does not tell its configuration");
        return NULL;
    }
    if (conf->job_comp_type && strstr(conf->job_comp_type, "filetxt") &&
        conf->job_comp_loc)
        path = mem_strdup(conf->job_comp_loc);
    else
        err_set(err, ERR_INFEASIBLE, "JobCompType is not jobcomp/filetxt");
    slurm_free_ctl_conf(conf);
    return path;
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

int slurm_order_ended(const struct json_value *request, struct json_out *out,
                      struct err *err)
{
    const char *job = json_member_string(request, "job");
    struct slurm_completion found;
    size_t length = 0;
    char *path, *text = NULL;

    if (!job || strlen(job) > 60)
        return err_set(err, ERR_FORMAT, "job is missing");
    slurm_source_ready();
    path = path_of(err);
    if (path)
        text = read_end(path, &length, err);
    free(path);
    if (!text)
        return -1;
    if (slurm_completion_find(text, length, job,
                              json_member_number(request, "since_s", 0), &found)) {
        json_out_key_int(out, "uid", found.uid);
        json_out_key_string(out, "name", found.name);
        json_out_key_string(out, "state", found.state);
        json_out_key_number(out, "start_s", found.start_s);
        json_out_key_number(out, "end_s", found.end_s);
        json_out_key_int(out, "exit_status", found.exit_status);
        json_out_key_int(out, "signal", found.signal);
    }
    free(text);
    return 0;
}
