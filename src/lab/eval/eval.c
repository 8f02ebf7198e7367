/* eval.c - `corgi eval`: cmd_eval.c calls it; table, protocol, methods, results */
#include "lab/eval/eval.h"

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "lab/eval/protocols.h"
#include "lab/tables/counters_csv.h"
#include "lab/tables/descriptors.h"
#include "lab/tables/gavel_table.h"
#include "lab/tables/invented_gpus.h"
#include "lab/tables/world_csv.h"
#include "world/generate.h"
#include "world/gpu_sheet.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* ---- the learning curve, as SVG ---------------------------------------------------- */

/* Error against observations or arrivals, one line a method, one panel a target. */

#define WIDTH  520
#define HEIGHT 300
#define LEFT   60
#define BOTTOM 40
#define TOP    30
#define LEGEND 190

static const char *const colours[] = {"#1f6feb", "#d1242f", "#1a7f37", "#9a6700",
                                      "#8250df", "#57606a", "#bf3989", "#0a3069"};
enum { COLOURS = sizeof(colours) / sizeof(colours[0]) };

/* What a panel shows: a target, or a scope of the online protocol. */
static const char *panel_of(const struct result *line)
{
    return line->target ? line->target : line->scope;
}

static double x_of(int count, int most)
{
    return LEFT + (WIDTH - LEFT - 20) * log1p(count) / log1p(most > 0 ? most : 1);
}

static double y_of(double mare, double highest, int top)
{
    return top + TOP + (HEIGHT - TOP - BOTTOM) * (1 - fmin(mare, highest) / highest);
}

static void frame(FILE *out, const char *panel, int top, double highest)
{
    fprintf(out, "<text x='%d' y='%d' font-weight='bold'>%s: error in %%</text>\n", LEFT,
            top + 18, panel);
    for (int i = 0; i <= 4; i++) {
        double value = highest * i / 4, y = y_of(value, highest, top);

        fprintf(out, "<path d='M%d %.1fH%d' stroke='#d0d7de'/>", LEFT, y, WIDTH - 20);
        fprintf(out, "<text x='%d' y='%.1f' text-anchor='end'>%.0f</text>\n", LEFT - 6,
                y + 4, value);
    }
}

static void draw_method(FILE *out, const struct result *lines, size_t count,
                        const char *panel, const char *method, int most, double highest,
                        int top, int number)
{
    const char *colour = colours[number % COLOURS];
    bool first = true;

    fprintf(out, "<path fill='none' stroke-width='2' stroke='%s' d='", colour);
    for (size_t i = 0; i < count; i++) {
        double mare;

        if (strcmp(panel_of(&lines[i]), panel) || strcmp(lines[i].method, method))
            continue;
        mare = score_sum(lines[i].score).mare;
        if (isnan(mare))
            continue;
        fprintf(out, "%c%.1f %.1f", first ? 'M' : 'L', x_of(lines[i].count, most),
                y_of(mare, highest, top));
        first = false;
    }
    fprintf(out, "'/>\n<text x='%d' y='%d' fill='%s'>%s</text>\n", WIDTH,
            top + TOP + 16 * number + 10, colour, method);
}

/* True when an earlier line has the same panel (and method, when asked). */
static bool shown_before(const struct result *lines, size_t at, bool method)
{
    for (size_t i = 0; i < at; i++)
        if (!strcmp(panel_of(&lines[i]), panel_of(&lines[at])) &&
            (!method || !strcmp(lines[i].method, lines[at].method)))
            return true;
    return false;
}

static void draw_panel(FILE *out, const struct result *lines, size_t count,
                       const char *panel, int top)
{
    double highest = 5;
    int most = 1, number = 0;

    for (size_t i = 0; i < count; i++) {
        double mare = score_sum(lines[i].score).mare;

        if (strcmp(panel_of(&lines[i]), panel))
            continue;
        if (lines[i].count > most)
            most = lines[i].count;
        /* Absolute rates of unknown jobs are off the scale; the rest should be read. */
        if (mare > highest && mare < 60)
            highest = mare;
    }
    frame(out, panel, top, highest);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(panel_of(&lines[i]), panel))
            continue;
        fprintf(out, "<text x='%.1f' y='%d' text-anchor='middle'>%d</text>\n",
                x_of(lines[i].count, most), top + HEIGHT - BOTTOM + 16, lines[i].count);
        if (!shown_before(lines, i, true))
            draw_method(out, lines, count, panel, lines[i].method, most, highest, top,
                        number++);
    }
}

static int curve_write(const struct results *results, const char *path, struct err *err)
{
    size_t count;
    const struct result *lines = results_lines(results, &count);
    FILE *out = fopen(path, "w");
    int panels = 0, top = 0;

    if (!out)
        return err_sys(err, "cannot write %s", path);
    for (size_t i = 0; i < count; i++)
        panels += !shown_before(lines, i, false);
    fprintf(out,
            "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' "
            "font-family='sans-serif' font-size='11'>\n"
            "<rect width='100%%' height='100%%' fill='white'/>\n",
            WIDTH + LEGEND, HEIGHT * panels);
    for (size_t i = 0; i < count; i++)
        if (!shown_before(lines, i, false)) {
            draw_panel(out, lines, count, panel_of(&lines[i]), top);
            top += HEIGHT;
        }
    fprintf(out, "</svg>\n");
    if (fclose(out) != 0)
        return err_sys(err, "cannot write %s", path);
    return 0;
}

/* ---- the evaluation ---------------------------------------------------------------- */

#define SEEDS_DEFAULT      3
#define SYNTHETIC_JOBS     36
#define ISOLATED_SHARE     0.2 /* of the time, about; the rest is for pairs */
#define SYNTHETIC_JOBS_MIN 8   /* fewer are seldom drawn */

/* Worlds no network or parameter was trained on: those have streams of their own. */
static struct world *draw_world(const struct eval_options *o)
{
    struct generate_options how = {
        .gpu_count = o->types, .draw = invented_gpus, .missing = 0.04};
    int most = o->jobs > SYNTHETIC_JOBS_MIN ? o->jobs
               : o->jobs > 0                ? SYNTHETIC_JOBS_MIN
                                            : SYNTHETIC_JOBS;
    struct world *world = NULL;
    struct rng rng;

    rng_stream(&rng, o->seed, 9000);
    do { /* as large as tables people measure */
        world_destroy(world);
        world = world_generate(&how, &rng);
    } while (world->class_count < most / 3 || world->class_count > most);
    return world;
}

static int load(struct world **world, const struct eval_options *o, struct err *err)
{
    bool json = str_ends(o->throughputs, ".json");
    struct gavel_notes notes = {0};
    struct world *w = NULL;

    if (!strcmp(o->throughputs, "synthetic")) {
        *world = draw_world(o);
        return 0;
    }
    if (o->format && strcmp(o->format, "gavel") && strcmp(o->format, "csv"))
        return err_set(err, ERR_USAGE, "format is gavel or csv, not %s", o->format);
    if (o->format)
        json = !strcmp(o->format, "gavel");
    if (json ? gavel_load_noted(&w, o->throughputs, o->seed, &notes, err) < 0
             : world_csv_load(&w, o->throughputs, o->sheets, o->seed, err) < 0)
        return -1;
    if (notes.plain_keys > 0)
        fprintf(stderr, "%s: %d jobs have no scale factor: taken as 1\n", o->throughputs,
                notes.plain_keys);
    if (notes.self_pairs > 0)
        fprintf(stderr,
                "%s: %d pairs of a job with itself have two rates: their mean counts\n",
                o->throughputs, notes.self_pairs);
    if (o->descriptors && descriptors_load(w, o->descriptors, err) < 0) {
        world_destroy(w);
        return -1;
    }
    *world = w;
    return 0;
}

static bool wanted(const struct eval_options *o, const char *method)
{
    if (str_starts(method, "baseline:"))
        return true;
    if (!o->arch || !strcmp(o->arch, "all"))
        return (o->arch && strncmp(method, "model ", 6) != 0) ||
               !strcmp(method, "blend") || !strcmp(method, "core") ||
               !strcmp(method, "networks");
    if (!strcmp(o->arch, "models"))
        return !strcmp(method, "blend") || str_starts(method, "model ") ||
               str_starts(method, "blend with");
    return !strcmp(o->arch, method);
}

static size_t choose_methods(const struct eval_options *o, struct method *chosen)
{
    size_t count = 0;

    for (const struct method *m = method_product; m->name; m++)
        if (wanted(o, m->name))
            chosen[count++] = *m;
    for (const struct method *m = method_baselines; m->name; m++)
        chosen[count++] = *m;
    chosen[count] = (struct method){0};
    return count;
}

static int check(const struct eval_options *o, struct err *err)
{
    static const char *const archs[] = {"blend", "core",   "networks",
                                        "all",   "models", "baseline"};

    if (!o->throughputs)
        return err_set(err, ERR_USAGE, "name a table with --throughputs");
    if (o->protocol && strcmp(o->protocol, "lofo") && strcmp(o->protocol, "lojo") &&
        strcmp(o->protocol, "online") && strcmp(o->protocol, "power"))
        return err_set(err, ERR_USAGE, "protocol is lofo, lojo, online or power, not %s",
                       o->protocol);
    for (size_t i = 0; o->arch && i < sizeof(archs) / sizeof(archs[0]); i++)
        if (!strcmp(o->arch, archs[i]))
            return 0;
    if (o->arch)
        return err_set(err, ERR_USAGE, "no architecture is called %s", o->arch);
    return 0;
}

static void run(const struct eval_options *o, const struct measured *table,
                struct results *results)
{
    enum fold_split split =
        o->protocol && !strcmp(o->protocol, "lojo") ? FOLD_JOB : FOLD_FAMILY;
    int seeds = o->seeds > 0 ? o->seeds : SEEDS_DEFAULT;
    bool product = !o->arch || strcmp(o->arch, "baseline");
    struct method methods[24];

    if (o->protocol && !strcmp(o->protocol, "online")) {
        online_run(table, product, o->seed, seeds, results);
        return;
    }
    results_begin_stage(results, 0, ISOLATED_SHARE);
    isolated_run(table, split, product, o->seed, results);
    results_begin_stage(results, ISOLATED_SHARE, 1);
    choose_methods(o, methods);
    colocated_run(table, split, methods, o->seed, seeds, results);
}

int eval_load_measured(struct measured **table, const char *path, uint64_t seed,
                       struct err *err)
{
    struct eval_options o = {.throughputs = path, .seed = seed};
    struct world *world;

    if (load(&world, &o, err) < 0)
        return -1;
    *table = measured_create(world);
    world_destroy(world);
    return 0;
}

/* What was counted of the jobs of a table, where somebody did. */
static int add_counters(struct measured *table, const struct world *world,
                        const char *counters, struct err *err)
{
    struct job_counters *counted;
    int rc = 0;

    if (!counters)
        return 0;
    counted = mem_array(struct job_counters, (size_t)world->class_count + 1);
    if (!strcmp(counters, "watts"))
        counters_from_watts(world, counted);
    else
        rc = counters_csv_load(world, counters, counted, err);
    if (rc == 0)
        measured_set_counters(table, counted);
    free(counted);
    return rc;
}

static int run_table(const struct eval_options *o, struct results *results,
                     struct err *err)
{
    struct world *world = NULL;
    struct measured *table;
    int rc;

    if (load(&world, o, err) < 0)
        return -1;
    table = measured_create(world);
    rc = add_counters(table, world, o->counters, err);
    if (rc == 0)
        run(o, table, results);
    measured_destroy(table);
    world_destroy(world);
    return rc;
}

int eval_main(const struct eval_options *o, FILE *out, struct err *err)
{
    struct results *results;
    int rc;

    if (check(o, err) < 0)
        return -1;
    results = results_create(o->protocol ? o->protocol : "lofo");
    results_on_progress(results, o->progress, o->progress_ctx);
    if (o->protocol && !strcmp(o->protocol, "power"))
        rc = power_run(o->throughputs, results, err);
    else
        rc = run_table(o, results, err);
    results_begin_stage(results, 0, 1);
    results_progress(results, 1);
    if (rc == 0 && o->json)
        results_json(results, out);
    else if (rc == 0)
        results_print(results, out);
    if (rc == 0 && o->curve)
        rc = curve_write(results, o->curve, err);
    results_destroy(results);
    return rc;
}
