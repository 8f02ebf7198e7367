/* fuzz_job.c - a job in JSON as anybody may send it: refused with its field, or one that
 * keeps what the daemon allows; then the same text as a change of a job */
#include "fuzz/fuzz.h"

#include "base/intern.h"
#include "base/json.h"
#include "engine/sim/cluster_file.h"
#include "http/api.h"
#include "loop/cluster.h"
#include "service/job_parse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROUTE(op, ...) {API_ROUTE(op, __VA_ARGS__)},

static const struct route routes[] = {API_ROUTES(ROUTE){0}};

static const struct schema *schema_of(const char *operation)
{
    for (const struct route *r = routes; r->operation; r++)
        if (strcmp(r->operation, operation) == 0)
            return r->body;
    abort();
}

static void check_job(const struct job *job)
{
    if (job->devices < 1 || job->priority > 10 || !isfinite(job->need.rate) ||
        job->need.rate < 0 || !isfinite(job->total_steps) || !isfinite(job->memory_gb))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char file[] = "nodes: [{name: a, gpu: v100, gpus: 2}]\n";
    static struct cluster *cluster;
    struct auth_identity who = {.role = AUTH_USER, .uid = AUTH_NO_ID, .name = "ada"};
    static char main_partition[] = "main", *names[] = {main_partition};
    static const struct config_list partitions = {names, 1};
    struct job_parse_context context = {.classes_max = 8,
                                        .priority_max = 10,
                                        .stop_grace_max_s = 300,
                                        .now_s = 1000,
                                        .partitions = size % 3 ? &partitions : NULL,
                                        .command_needed = size % 2};
    struct parsed_job parsed = {0};
    struct intern *classes;
    char field[SCHEMA_PATH_SIZE] = "";
    struct json_doc *doc = NULL;
    struct err err = {0};

    if (!cluster &&
        cluster_file_parse(&cluster, file, sizeof(file) - 1, "fuzz", &err) < 0)
        abort();
    if (json_doc_parse(&doc, (const char *)data, size, "body", &err) < 0)
        return 0;
    context.cluster = cluster;
    context.classes = classes = intern_create();
    if (schema_check(schema_of("submit_job"), json_doc_root(doc), field, &err) == 0) {
        if (job_parse(&context, &who, json_doc_root(doc), &parsed, field, &err) == 0) {
            unsigned char digest[STORE_DIGEST_BYTES];

            check_job(&parsed.job.request.job);
            job_parse_know_class(classes, &parsed.job.request.job);
            job_parse_digest(json_doc_root(doc), digest);
            job_parse_types(cluster, parsed.job.request.types);
            if (job_parse_change(&context, json_doc_root(doc), &parsed, field, &err) == 0)
                check_job(&parsed.job.request.job);
        } else if (!err.text[0]) {
            abort();
        }
        job_parse_fini(&parsed);
    }
    intern_destroy(classes);
    json_doc_destroy(doc);
    return 0;
}
