/* sim_told.c - `corgi sim --requests` loads and plays them here; the driver of all
 * simulations (sim_run.c) does the rest */
#include "lab/sim/sim_told.h"

#include "base/file.h"
#include "base/mem.h"
#include "http/api.h"
#include "lab/sim/sim_run.h"
#include "loop/planner.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_MAX_BYTES ((size_t)64 << 20)

static int read_line(struct sim_told *told, const char *path, char *line, struct err *err)
{
    struct workload *w = told->workload;
    struct json_doc *doc = NULL;
    char field[SCHEMA_PATH_SIZE];
    double at_s;

    if (json_doc_parse(&doc, line, strlen(line), path, err) < 0)
        return -1;
    if (json_value_need_number(json_doc_root(doc), "at_s", w->last_arrival_s,
                               API_MAX_TIME_S, &at_s, err) < 0 ||
        schema_check(&api_job_request, json_value_get(json_doc_root(doc), "job"), field,
                     err) < 0) {
        json_doc_destroy(doc);
        return err_prefix(err, "%s, request %zu", path, w->count + 1);
    }
    w->requests = mem_resize(w->requests, w->count, w->count + 1, sizeof(*w->requests));
    told->requests =
        mem_resize(told->requests, w->count, w->count + 1, sizeof(*told->requests));
    w->requests[w->count] =
        (struct sim_request){.job = {.submitted_s = at_s}, .reference_rate = 1};
    told->requests[w->count] = (struct told_request){.doc = doc};
    w->last_arrival_s = at_s;
    w->count++;
    return 0;
}

static int read_requests(struct sim_told *told, const char *path, struct err *err)
{
    char *text, *line, *rest;
    size_t length;
    int rc = 0;

    if (file_read(path, FILE_MAX_BYTES, &text, &length, err) < 0)
        return -1;
    for (line = strtok_r(text, "\n", &rest); line && rc == 0;
         line = strtok_r(NULL, "\n", &rest))
        rc = read_line(told, path, line, err);
    free(text);
    return rc;
}

int told_load(struct sim_told *told, const char *config, const char *requests,
              struct err *err)
{
    const struct auth_rules rules = {0};

    *told = (struct sim_told){.workload = mem_new(struct workload),
                              .classes = intern_create()};
    told->who = (struct auth_identity){.uid = geteuid(), .gid = getegid(), .local = true};
    auth_account(&rules, &told->who);
    if (service_config_load(&told->config, config, err) == 0 &&
        read_requests(told, requests, err) == 0) {
        told->index = mem_array(size_t, told->workload->count + 1);
        return 0;
    }
    told_fini(told);
    return -1;
}

void told_fini(struct sim_told *told)
{
    for (size_t i = 0; i < told->workload->count; i++) {
        job_parse_fini(&told->requests[i].parsed);
        json_doc_destroy(told->requests[i].doc);
    }
    workload_destroy(told->workload);
    intern_destroy(told->classes);
    service_config_fini(&told->config);
    free(told->requests);
    free(told->index);
}

int told_run(struct sim_told *told, double until_s, FILE *ledger,
             struct quote_score *quotes, struct err *err)
{
    struct sim_options options = sim_default_options();
    const struct sim_setup setup = {
        .workload = told->workload, .planner = &corgi_planner_ops, .told = told};
    struct sim_result result = {0};
    int rc;

    options.settings = told->config.policy;
    options.limit_s = until_s;
    told->ledger = ledger;
    rc = sim_run(&options, &setup, &result, err);
    *quotes = result.quotes;
    sim_result_fini(&result);
    return rc;
}
