/* daemon_kill.c - kill -9 of corgid at random moments under load
 *
 * Clients submit over the Unix socket of a real daemon on a real disk, half of them with
 * idempotency keys, and keep what was acknowledged.  The daemon is killed at a random
 * moment and started again on the same store, again and again.  After each kill: every
 * acknowledged job is stored, once, with its history; the store is sound; what was in
 * flight is there whole or not at all, and its key makes one job, not two; no attempt of
 * a job was started twice.
 *
 * CORGI_KILLS sets how often (default 8). */
#include "base/file.h"
#include "base/parse.h"
#include "base/rng.h"
#include "base/str.h"
#include "base/vec.h"
#include "http/client.h"
#include "store/admin.h"
#include "store/rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CLIENTS 4
#define READY_S 60

/* A submission a client made. */
struct submission {
    uint64_t id; /* 0: no answer came */
    char name[64];
    char key[33]; /* "": none */
};

struct submitter {
    pthread_t thread;
    int index, round;
    vec_of(struct submission) made;
    char failure[400]; /* an answer that should not be */
};

static char dir[64], socket_path[128], state_dir[128], store_path_[160], config[128];
static vec_of(struct submission) all;
static pid_t daemon_pid;

static void make_paths(void)
{
    static const char text[] = "engine: sim\n"
                               "sim: {speed: 20}\n"
                               "limits: {requests_per_second: 0}\n"
                               "quota: {max_jobs: 100000}\n";
    struct err err = {0};

    snprintf(dir, sizeof(dir), "/tmp/corgi-daemon-kill-XXXXXX");
    assert_non_null(mkdtemp(dir));
    snprintf(socket_path, sizeof(socket_path), "%s/socket", dir);
    snprintf(state_dir, sizeof(state_dir), "%s/state", dir);
    snprintf(store_path_, sizeof(store_path_), "%s/corgi.db", state_dir);
    snprintf(config, sizeof(config), "%s/corgid.yaml", dir);
    assert_int_equal(file_write(config, text, strlen(text), &err), 0);
}

/* ---- the daemon -------------------------------------------------------------------- */

static char *daemon_program(void)
{
    const char *bin = getenv("CORGI_BIN");
    char *path = bin ? file_join(bin, "corgid") : NULL;

    if (path && access(path, X_OK) == 0)
        return path;
    free(path);
    return NULL;
}

static void start_daemon(const char *program)
{
    char log[128];
    int fd;

    snprintf(log, sizeof(log), "%s/log", dir);
    fflush(NULL);
    daemon_pid = fork();
    if (daemon_pid != 0)
        return;
    fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    dup2(fd, STDERR_FILENO);
    execl(program, program, "--config", config, "--socket", socket_path, "--state",
          state_dir, (char *)NULL);
    _exit(127);
}

static void kill_daemon(int signal_number)
{
    int status;

    kill(daemon_pid, signal_number);
    waitpid(daemon_pid, &status, 0);
    daemon_pid = 0;
}

/* A daemon must not outlive a test that fails. */
static int end_daemon(void **state)
{
    (void)state;
    if (daemon_pid > 0)
        kill_daemon(SIGKILL);
    return 0;
}

static struct client *connect_client(void)
{
    struct client_config c = {.socket = socket_path, .answer_s = 60};
    struct err err = {0};
    struct client *client = client_create(&c, &err);

    if (!client)
        fail_msg("%s", err.text);
    return client;
}

/* The status, or -1 when no answer came. */
static int call(struct client *client, struct client_request request,
                struct client_answer *answer)
{
    struct err err = {0};

    return client_call(client, &request, answer, &err) < 0 ? -1 : answer->status;
}

static void wait_until_ready(void)
{
    struct client *client = connect_client();

    for (int i = 0; i < READY_S * 50; i++) {
        struct client_answer answer = {0};
        int status = call(
            client, (struct client_request){.method = HTTP_GET, .path = "/v1/version"},
            &answer);

        if (status >= 0)
            client_answer_fini(&answer);
        if (status == 200) {
            client_destroy(client);
            return;
        }
        if (waitpid(daemon_pid, NULL, WNOHANG) == daemon_pid) {
            daemon_pid = 0;
            fail_msg("corgid ended by itself, see %s/log", dir);
        }
        usleep(20000);
    }
    fail_msg("corgid was not ready within %d s, see %s/log", READY_S, dir);
}

/* ---- clients ----------------------------------------------------------------------- */

static int post(struct client *client, const struct submission *s, uint64_t *id)
{
    struct client_answer answer = {0};
    struct str body = {0};
    double number = 0;
    int status;

    str_addf(&body,
             "{\"name\":\"%s\",\"command\":[\"true\"],\"total_steps\":%d,"
             "\"environment\":{\"SUBMISSION\":\"%s\"}}",
             s->name, (int)strlen(s->name) * 10, s->name);
    status = call(client,
                  (struct client_request){.method = HTTP_POST,
                                          .path = "/v1/jobs",
                                          .body = str_text(&body),
                                          .idempotency_key = s->key[0] ? s->key : NULL},
                  &answer);
    str_fini(&body);
    if (status < 0)
        return -1;
    if (json_value_number(
            json_value_get(json_value_get(json_doc_root(answer.json), "job"), "id"),
            &number))
        *id = (uint64_t)number;
    client_answer_fini(&answer);
    return status;
}

static void *submit_until_it_dies(void *arg)
{
    struct submitter *me = arg;
    struct client_config c = {.socket = socket_path, .answer_s = 60};
    struct err err = {0};
    struct client *client = client_create(&c, &err);

    for (int n = 0; client; n++) {
        struct submission s = {0};
        int status;

        snprintf(s.name, sizeof(s.name), "kill-%d-%d-%d", me->round, me->index, n);
        if (n % 2)
            client_idempotency_key(s.key);
        status = post(client, &s, &s.id);
        if (status >= 0 && (status != 201 || s.id == 0)) {
            snprintf(me->failure, sizeof(me->failure), "%s was answered with %d", s.name,
                     status);
            break;
        }
        vec_push(&me->made, s);
        if (status < 0)
            break;
    }
    client_destroy(client);
    return NULL;
}

/* Load for a while, then kill -9; what clients know goes into `all`. */
static void load_and_kill(int round, double for_ms)
{
    struct submitter clients[CLIENTS] = {0};

    for (int i = 0; i < CLIENTS; i++) {
        clients[i].index = i;
        clients[i].round = round;
        pthread_create(&clients[i].thread, NULL, submit_until_it_dies, &clients[i]);
    }
    usleep((useconds_t)(for_ms * 1e3));
    kill_daemon(SIGKILL);
    for (int i = 0; i < CLIENTS; i++) {
        pthread_join(clients[i].thread, NULL);
        vec_each (struct submission, s, &clients[i].made)
            vec_push(&all, *s);
        vec_free(&clients[i].made);
        if (clients[i].failure[0])
            fail_msg("%s, see %s/log", clients[i].failure, dir);
    }
}

/* ---- what must hold ---------------------------------------------------------------- */

static void on_finding(void *ctx, const char *sentence)
{
    (void)ctx;
    fprintf(stderr, "finding: %s\n", sentence);
}

static int64_t number(const char *sql)
{
    sqlite3_stmt *statement = NULL;
    sqlite3 *db = NULL;
    int64_t value;

    assert_int_equal(sqlite3_open_v2(store_path_, &db, SQLITE_OPEN_READONLY, NULL), 0);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return value;
}

static void verify_stored(size_t from)
{
    struct store_reader *reader = NULL;
    struct err err = {0};

    assert_int_equal(store_reader_open(&reader, store_path_, &err), 0);
    for (size_t i = from; i < all.count; i++) {
        const struct submission *s = &all.items[i];
        struct store_job *job = NULL;

        if (s->id == 0)
            continue;
        if (store_read_job(reader, s->id, &job, &err) < 0)
            fail_msg("job %llu was acknowledged: %s", (unsigned long long)s->id,
                     err.text);
        assert_string_equal(job->request.job.name, s->name);
        assert_int_equal(strncmp(job->request.env[0], "SUBMISSION=kill-", 16), 0);
        store_job_destroy(job);
    }
    store_reader_close(reader);
}

static void verify_store(size_t from)
{
    struct store_check_result result = {0};
    struct err err = {0};

    verify_stored(from);
    if (store_check(store_path_, true, on_finding, NULL, &result, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(result.findings, 0);
    /* Names are unique, so two jobs of one name were one submission. */
    assert_int_equal(
        number(
            "SELECT count(*) - count(DISTINCT name) FROM jobs WHERE name LIKE 'kill-%'"),
        0);
    assert_int_equal(
        number("SELECT count(*) FROM (SELECT 1 FROM transitions WHERE what = 'started'"
               " GROUP BY job, attempt HAVING count(*) > 1)"),
        0);
}

/* Those with keys again: the first answer comes again; what was in flight is made now or
 * was made then, but is one job. */
static void submit_again(size_t from)
{
    struct client *client = connect_client();

    for (size_t i = from; i < all.count; i++) {
        struct submission *s = &all.items[i];
        uint64_t id = 0;
        int status;

        if (!s->key[0] || (s->id > 0 && i % 7))
            continue;
        status = post(client, s, &id);
        if (status != 200 && (status != 201 || s->id > 0))
            fail_msg("%s again was answered with %d, see %s/log", s->name, status, dir);
        if (s->id > 0)
            assert_int_equal(id, s->id);
        s->id = id;
    }
    client_destroy(client);
}

/* As a client sees it after the restart. */
static void verify_answers(size_t from)
{
    struct client *client = connect_client();

    for (size_t i = from; i < all.count; i += 5) {
        struct client_answer answer = {0};
        char path[64];

        if (all.items[i].id == 0)
            continue;
        snprintf(path, sizeof(path), "/v1/jobs/%llu/history",
                 (unsigned long long)all.items[i].id);
        assert_int_equal(call(client,
                              (struct client_request){.method = HTTP_GET, .path = path},
                              &answer),
                         200);
        assert_non_null(strstr(answer.body, "\"submitted\""));
        client_answer_fini(&answer);
    }
    client_destroy(client);
}

static size_t acknowledged(void)
{
    size_t count = 0;

    vec_each (struct submission, s, &all)
        count += s->id > 0;
    return count;
}

static int rounds(void)
{
    const char *text = getenv("CORGI_KILLS");
    int count = 8;

    if (text && !parse_int(text, &count))
        fail_msg("CORGI_KILLS is no number: %s", text);
    return count;
}

static void remove_files(void)
{
    struct str command = {0};

    str_addf(&command, "rm -r '%s'", dir);
    if (system(str_text(&command)) != 0)
        print_message("%s could not be removed\n", dir);
    str_fini(&command);
}

static void nothing_acknowledged_is_lost(void **state)
{
    char *program = daemon_program();
    int count = rounds();
    size_t before = 0;
    struct rng rng;

    (void)state;
    if (!program) {
        print_message("skipped: there is no corgid in CORGI_BIN\n");
        skip();
    }
    make_paths();
    rng_init(&rng, 6);
    for (int round = 0; round < count; round++) {
        size_t last = before;

        start_daemon(program);
        wait_until_ready();
        submit_again(last);
        verify_answers(last);
        before = all.count;
        load_and_kill(round, rng_range(&rng, 5, 400));
        verify_store(round % 10 == 9 ? 0 : before);
    }
    start_daemon(program);
    wait_until_ready();
    verify_answers(0);
    kill_daemon(SIGTERM);
    verify_store(0);
    print_message("%d kills, %zu submissions, %zu acknowledged\n", count, all.count,
                  acknowledged());
    assert_true(acknowledged() > (size_t)count);
    vec_free(&all);
    free(program);
    remove_files();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(nothing_acknowledged_is_lost, end_daemon),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
