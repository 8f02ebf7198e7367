/* eval_results.c - what the protocols found: eval.c prints it as a table or JSON */
#include "lab/eval/eval_results.h"

#include "base/json_out.h"
#include "base/vec.h"

#include <math.h>
#include <string.h>

struct results {
    const char *protocol;
    vec_of(struct result) lines;
    eval_progress *progress; /* NULL: nobody */
    void *progress_ctx;
    double stage_from, stage_to;
};

struct results *results_create(const char *protocol)
{
    struct results *r = mem_new(struct results);

    r->protocol = protocol;
    return r;
}

void results_destroy(struct results *r)
{
    if (!r)
        return;
    vec_each (struct result, line, &r->lines)
        score_destroy(line->score);
    vec_free(&r->lines);
    free(r);
}

void results_on_progress(struct results *r, eval_progress *progress, void *ctx)
{
    r->progress = progress;
    r->progress_ctx = ctx;
    results_begin_stage(r, 0, 1);
}

void results_begin_stage(struct results *r, double from, double to)
{
    r->stage_from = from;
    r->stage_to = to;
}

void results_progress(const struct results *r, double share)
{
    if (r->progress)
        r->progress(r->progress_ctx,
                    r->stage_from + (r->stage_to - r->stage_from) * share);
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

struct score *results_score(struct results *r, const char *target, const char *scope,
                            const char *method, int count)
{
    struct result line = {target, scope, method, count, NULL};

    vec_each (struct result, known, &r->lines)
        if (known->count == count && same_text(known->target, target) &&
            same_text(known->scope, scope) && same_text(known->method, method))
            return known->score;
    line.score = score_create();
    vec_push(&r->lines, line);
    return line.score;
}

const struct result *results_lines(const struct results *r, size_t *count)
{
    *count = r->lines.count;
    return r->lines.items;
}

void results_print(const struct results *r, FILE *out)
{
    fprintf(out, "%-9s %-24s %5s %8s %6s %8s %9s %7s\n", r->protocol, "method", "n",
            "mare %", "+-", "median %", "cover90 %", "cells");
    vec_each (const struct result, line, &r->lines) {
        struct score_summary s = score_sum(line->score);

        fprintf(out, "%-9s %-24s %5d %8.2f %6.2f %8.2f ",
                line->target ? line->target : line->scope, line->method, line->count,
                s.mare, s.mare_sd, s.median);
        if (isnan(s.coverage90))
            fprintf(out, "%9s", "-");
        else
            fprintf(out, "%9.1f", 100 * s.coverage90);
        fprintf(out, " %7zu\n", s.cells);
    }
}

static void line_json(struct json_out *json, const struct result *line)
{
    struct score_summary s = score_sum(line->score);

    json_out_begin_object(json);
    if (line->target)
        json_out_key_string(json, "target", line->target);
    json_out_key_int(json, line->scope ? "arrivals" : "observations", line->count);
    if (line->scope)
        json_out_key_string(json, "scope", line->scope);
    json_out_key_string(json, "method", line->method);
    json_out_key_number(json, "mare", s.mare);
    json_out_key_number(json, "mare_sd", s.mare_sd);
    json_out_key_number(json, "median", s.median);
    json_out_key_number(json, "log_error", s.log_error);
    json_out_key_number(json, "coverage90", s.coverage90);
    json_out_key_int(json, "cells", (int64_t)s.cells);
    json_out_end(json);
}

void results_json(const struct results *r, FILE *out)
{
    struct str text = {0};
    struct json_out json;

    json_out_init(&json, &text, true);
    json_out_begin_object(&json);
    json_out_key_string(&json, "protocol", r->protocol);
    json_out_key(&json, "results");
    json_out_begin_array(&json);
    vec_each (const struct result, line, &r->lines)
        line_json(&json, line);
    json_out_end(&json);
    json_out_end(&json);
    fputs(str_text(&text), out);
    str_fini(&text);
}
