/* bench_store.c - `corgi bench store`: cmd_bench.c calls it, store_load.c is what it
 * runs */
#include "lab/bench/bench_store.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/json_out.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/table.h"
#include "lab/bench/store_load.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define SECONDS_DEFAULT 3.0
#define PER_S_DEFAULT   200.0
#define CLIENTS         16
#define TELEMETRY_PER_S 1000
#define SYNC_SECONDS    1.0

/* What one writer could do at best without grouping: 4 KiB appended and synced. */
static int measure_syncs(const char *dir, double *per_s, struct err *err)
{
    char *path = file_join(dir, "bench.sync");
    char block[4096] = "";
    double start_s = clock_wall_s(), end_s;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_APPEND, 0600);
    int count = 0, rc = fd < 0 ? -1 : 0;

    while (rc == 0 && clock_wall_s() - start_s < SYNC_SECONDS) {
        if (write(fd, block, sizeof(block)) != (ssize_t)sizeof(block) || fsync(fd) < 0)
            rc = -1;
        count++;
    }
    end_s = clock_wall_s();
    if (rc < 0)
        err_sys(err, "cannot write %s", path);
    else
        *per_s = count / (end_s - start_s);
    if (fd >= 0)
        close(fd);
    unlink(path);
    free(path);
    return rc;
}

static void remove_store(const char *path)
{
    static const char *const ends[] = {"", "-wal", "-shm", ".lock"};

    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        struct str name = {0};

        str_addf(&name, "%s%s", path, ends[i]);
        unlink(str_text(&name));
        str_fini(&name);
    }
}

static void add_row(struct table *t, const struct store_load *load,
                    const struct store_load_result *r)
{
    table_row(t);
    table_cell(t, load->per_s > 0 ? "steady" : "as fast as it goes");
    table_cellf(t, "%d", load->clients);
    table_cellf(t, "%.0f", r->submissions_per_s);
    table_cellf(t, "%.0f", r->commits_per_s);
    table_cellf(t, "%.1f", r->group);
    table_cellf(t, "%.1f", r->p50_ms);
    table_cellf(t, "%.1f", r->p99_ms);
    table_cellf(t, "%.1f", r->max_ms);
    if (load->reading)
        table_cellf(t, "%.2f", r->read_p99_ms);
}

static int print_table(const struct store_load *loads,
                       const struct store_load_result *results, int count, FILE *out,
                       struct err *err)
{
    struct table *t = table_create("load|>clients|>submissions/s|>commits/s|>in each|"
                                   ">p50 ms|>p99 ms|>longest ms|>read p99 ms");

    for (int i = 0; i < count; i++)
        add_row(t, &loads[i], &results[i]);
    return table_finish(t, TABLE_ALIGNED, out, err);
}

static void print_json(const struct store_load *loads,
                       const struct store_load_result *results, int count,
                       double syncs_per_s, FILE *out)
{
    struct str text = {0};
    struct json_out json;

    json_out_init(&json, &text, true);
    json_out_begin_object(&json);
    json_out_key_number(&json, "syncs_per_s", syncs_per_s);
    json_out_key(&json, "runs");
    json_out_begin_array(&json);
    for (int i = 0; i < count; i++) {
        json_out_begin_object(&json);
        json_out_key_int(&json, "clients", loads[i].clients);
        json_out_key_number(&json, "asked_per_s", loads[i].per_s);
        json_out_key_number(&json, "submissions_per_s", results[i].submissions_per_s);
        json_out_key_number(&json, "commits_per_s", results[i].commits_per_s);
        json_out_key_number(&json, "group", results[i].group);
        json_out_key_number(&json, "p50_ms", results[i].p50_ms);
        json_out_key_number(&json, "p99_ms", results[i].p99_ms);
        json_out_key_number(&json, "max_ms", results[i].max_ms);
        json_out_key_number(&json, "read_p99_ms", results[i].read_p99_ms);
        json_out_end(&json);
    }
    json_out_end(&json);
    json_out_end(&json);
    fputs(str_text(&text), out);
    str_fini(&text);
}

int bench_store_main(const struct bench_store_options *o, FILE *out, struct err *err)
{
    const char *dir = o->dir ? o->dir : ".";
    double seconds = o->seconds > 0 ? o->seconds : SECONDS_DEFAULT;
    double per_s = o->per_s > 0 ? o->per_s : PER_S_DEFAULT;
    struct store_load loads[] = {
        {.clients = 1, .seconds = seconds},
        {.clients = CLIENTS, .seconds = seconds},
        {.clients = CLIENTS,
         .seconds = seconds,
         .per_s = per_s,
         .telemetry_per_s = TELEMETRY_PER_S,
         .reading = true},
    };
    const int count = sizeof(loads) / sizeof(loads[0]);
    struct store_load_result results[sizeof(loads) / sizeof(loads[0])] = {0};
    double syncs_per_s = 0;
    char *path;
    int rc = 0;

    if (file_make_dirs(dir, err) < 0 || measure_syncs(dir, &syncs_per_s, err) < 0)
        return -1;
    path = file_join(dir, "bench.db");
    for (int i = 0; i < count && rc == 0; i++) {
        remove_store(path);
        rc = store_load_run(path, &loads[i], &results[i], err);
    }
    if (!o->keep)
        remove_store(path);
    free(path);
    if (rc < 0)
        return -1;
    if (o->json) {
        print_json(loads, results, count, syncs_per_s, out);
        return 0;
    }
    fprintf(out, "appending and syncing 4 KiB: %.0f times a second\n", syncs_per_s);
    return print_table(loads, results, count, out, err);
}
