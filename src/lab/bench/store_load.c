/* store_load.c - clients that submit to a store: bench_store.c runs it */
#include "lab/bench/store_load.h"

#include "base/clock.h"
#include "base/str.h"
#include "base/vec.h"
#include "store/rows.h"

#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

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
    struct store_transition t = {
        .job = r.job.id, .from = STORE_NO_STATE, .what = "submitted"};
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

int store_load_run(const char *path, const struct store_load *load,
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
