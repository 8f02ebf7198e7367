/* bench_store.c - `corgi bench store`: cmd_bench.c calls it, the load is what it
 * runs */
#include "lab/bench/bench_store.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/json_out.h"
#include "base/str.h"
#include "base/table.h"
#include "base/vec.h"
#include "store/rows.h"

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* ---- clients that submit, and how long each waited --------------------------------- */

struct store_load {
    int clients;
    double seconds;
    double per_s;        /* of all clients together; 0: each submits again at once */
    int telemetry_per_s; /* measurements beside it */
    bool reading;        /* one more thread lists jobs all the time */
};

struct store_load_result {
    double submissions_per_s;
    double commits_per_s; /* synced transactions */
    double group;         /* submissions in each */
    double p50_ms, p99_ms, max_ms;
    double read_p99_ms; /* a list of 50 jobs; NaN: nobody read */
};

#define MAX_CLIENTS 256
#define LIST_LENGTH 50

struct load_run {
    struct store *store;
    const struct store_load *load;
    double end_s;
    atomic_bool over;
};

/* A thread and what it has measured. */
struct load_client {
    struct load_run *run;
    int index;
    pthread_t thread;
    vec_of(double) times_s;
    sem_t told; /* of a submission */
    struct err err;
};

static void sleep_until(double at_s)
{
    struct timespec at = {.tv_sec = (time_t)at_s};

    at.tv_nsec = (long)((at_s - (double)at.tv_sec) * 1e9);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

/* ---- submissions ------------------------------------------------------------------- */

static struct store_batch *submission(struct store *store)
{
    static const char *const argv[] = {"python", "train.py", "--epochs", "90", NULL};
    static const char *const env[] = {"HOME=/home/user", "PATH=/usr/bin:/bin", NULL};
    struct store_batch *batch = store_batch_create();
    struct store_request r = {
        .job = {.id = store_take_id(store, STORE_JOB_ID),
                .need = {.kind = NEED_RATE, .rate = 40, .confidence = 0.9},
                .total_steps = 10000,
                .devices = 1},
        .user = "bench",
        .directory = "/home/user/work",
        .argv = argv,
        .env = env,
    };
    struct store_progress p = {
        .started_s = NAN, .placed_s = NAN, .ended_s = NAN, .exit_status = -1};
    struct store_transition t = {.job = r.job.id, .what = "submitted"};
    struct store_event e = {.id = store_take_id(store, STORE_EVENT_ID),
                            .kind = "job.submitted",
                            .job = r.job.id,
                            .user = "bench",
                            .data = "{\"state\":\"waiting\"}"};

    str_copy(r.job.name, sizeof(r.job.name), "bench");
    store_put(batch, &(struct store_job){r, p});
    store_put(batch, &t);
    store_put(batch, &e);
    return batch;
}

static void told(void *ctx, const struct store_completion *completion)
{
    struct load_client *client = ctx;

    client->err = completion->err;
    sem_post(&client->told);
}

static bool is_stored(struct load_client *client)
{
    struct store_batch *batch = submission(client->run->store);

    if (store_commit(client->run->store, batch, STORE_DURABLE, told, client,
                     &client->err) < 0) {
        store_batch_destroy(batch);
        return false;
    }
    while (sem_wait(&client->told) < 0)
        continue; /* a signal came */
    return client->err.code == ERR_NONE;
}

/* At a steady rate a submission has a time of its own, and its wait counts from there:
 * a client that comes late because the one before took long has waited, too. */
static void *submit(void *arg)
{
    struct load_client *client = arg;
    const struct store_load *load = client->run->load;
    double gap_s = load->per_s > 0 ? load->clients / load->per_s : 0;
    double due_s = clock_wall_s() + gap_s * client->index / load->clients;

    for (; clock_wall_s() < client->run->end_s; due_s += gap_s) {
        double from_s = due_s;

        if (gap_s > 0)
            sleep_until(due_s);
        else
            from_s = clock_wall_s();
        if (!is_stored(client))
            return client;
        vec_push(&client->times_s, clock_wall_s() - from_s);
    }
    return NULL;
}

/* ---- what goes on beside them ------------------------------------------------------ */

static void *measure(void *arg)
{
    struct load_client *client = arg;
    double gap_s = 1.0 / client->run->load->telemetry_per_s;
    double due_s = clock_wall_s();

    for (; !atomic_load(&client->run->over); due_s += gap_s) {
        struct store_measurement m = {.job = 1,
                                      .device = "node-1/0",
                                      .at_s = due_s,
                                      .window_s = 1,
                                      .rate = 40,
                                      .watts = 200,
                                      .source = "heartbeat"};
        struct store_batch *batch = store_batch_create();

        sleep_until(due_s);
        store_put(batch, &m);
        if (store_commit(client->run->store, batch, STORE_RELAXED, NULL, NULL,
                         &client->err) < 0) {
            store_batch_destroy(batch);
            return client;
        }
    }
    return NULL;
}

static int look(void *ctx, const void *row)
{
    (void)ctx;
    (void)row;
    return 0;
}

static void *read_lists(void *arg)
{
    struct load_client *client = arg;
    struct store_filter filter = {.user = "bench", .limit = LIST_LENGTH};
    struct store_reader *reader;
    int rc = 0;

    if (store_reader_open(&reader, store_path(client->run->store), &client->err) < 0)
        return client;
    while (rc >= 0 && !atomic_load(&client->run->over)) {
        double start_s = clock_wall_s();

        rc = store_read(reader, STORE_JOBS, &filter, look, NULL, &client->err);
        vec_push(&client->times_s, clock_wall_s() - start_s);
        usleep(2000);
    }
    store_reader_close(reader);
    return rc < 0 ? client : NULL;
}

/* ---- results ----------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* The value below which so large a share lies, in ms; sorts. */
static double quantile_ms(double *values, size_t count, double share)
{
    if (count == 0)
        return NAN;
    qsort(values, count, sizeof(*values), by_value);
    return 1e3 * values[(size_t)(share * (double)(count - 1) + 0.5)];
}

static void summarize(struct load_run *run, struct load_client *clients,
                      struct load_client *reader, double elapsed_s,
                      struct store_load_result *result)
{
    vec_of(double) all = {0};
    struct store_stats stats;

    for (int i = 0; i < run->load->clients; i++)
        for (size_t k = 0; k < clients[i].times_s.count; k++)
            vec_push(&all, clients[i].times_s.items[k]);
    store_stats(run->store, &stats);
    *result = (struct store_load_result){
        .submissions_per_s = (double)all.count / elapsed_s,
        .commits_per_s = (double)stats.commits / elapsed_s,
        .group = (double)stats.batches / (double)(stats.commits ? stats.commits : 1),
        .p50_ms = quantile_ms(all.items, all.count, 0.5),
        .p99_ms = quantile_ms(all.items, all.count, 0.99),
        .max_ms = quantile_ms(all.items, all.count, 1),
        .read_p99_ms = quantile_ms(reader->times_s.items, reader->times_s.count, 0.99),
    };
    vec_free(&all);
}

/* ---- the run ----------------------------------------------------------------------- */

static void start(struct load_client *client, struct load_run *run, int index,
                  void *(*body)(void *))
{
    client->run = run;
    client->index = index;
    sem_init(&client->told, 0, 0);
    if (pthread_create(&client->thread, NULL, body, client) != 0)
        abort(); /* a benchmark without its threads measures nothing */
}

static int join(struct load_client *client, struct err *err)
{
    void *failed;

    pthread_join(client->thread, &failed);
    if (failed && err)
        *err = client->err;
    return failed ? -1 : 0;
}

static int run_clients(struct load_run *run, struct store_load_result *result,
                       struct err *err)
{
    struct load_client clients[MAX_CLIENTS] = {0}, reader = {0}, telemetry = {0};
    double start_s = clock_wall_s();
    int rc = 0;

    run->end_s = start_s + run->load->seconds;
    if (run->load->reading)
        start(&reader, run, 0, read_lists);
    if (run->load->telemetry_per_s > 0)
        start(&telemetry, run, 0, measure);
    for (int i = 0; i < run->load->clients; i++)
        start(&clients[i], run, i, submit);
    for (int i = 0; i < run->load->clients; i++)
        rc |= join(&clients[i], err);
    atomic_store(&run->over, true);
    if (run->load->reading)
        rc |= join(&reader, err);
    if (run->load->telemetry_per_s > 0)
        rc |= join(&telemetry, err);
    if (rc == 0)
        summarize(run, clients, &reader, clock_wall_s() - start_s, result);
    for (int i = 0; i < run->load->clients; i++)
        vec_free(&clients[i].times_s);
    vec_free(&reader.times_s);
    return rc;
}

/* On a store at path, which is made. */
static int store_load_run(const char *path, const struct store_load *load,
                          struct store_load_result *result, struct err *err)
{
    struct store_options options = {.path = path};
    struct load_run run = {.load = load};
    int rc;

    if (load->clients < 1 || load->clients > MAX_CLIENTS)
        return err_set(err, ERR_LIMIT, "1 to %d clients can submit", MAX_CLIENTS);
    if (store_open(&run.store, &options, err) < 0)
        return -1;
    rc = run_clients(&run, result, err);
    store_close(run.store);
    return rc;
}

/* ---- the benchmark ----------------------------------------------------------------- */

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
    static const char *const ends[] = {"", "-wal", "-shm", ".lock", ".mark"};

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
