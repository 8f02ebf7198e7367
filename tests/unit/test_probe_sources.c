/* test_probe_sources.c - which voice is heard; heartbeats, progress files, pages */
#include "base/file.h"
#include "probe/fetch.h"
#include "probe/heartbeat.h"
#include "probe/job_meter.h"
#include "probe/scrape.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void tell(struct sources *sources, enum probe_source source, double at_s,
                 const char *unit, int rank, double count, double rate)
{
    struct match_hit hit = {.unit = units_find(unit, strlen(unit)),
                            .trust = MATCH_TOLD,
                            .rank = rank,
                            .rate = rate,
                            .count = count,
                            .total = NAN,
                            .epoch = NAN};

    tracks_hit(sources->tracks[source], at_s, &hit);
}

CASE(the_best_source_that_speaks_is_heard)
{
    struct sources *s = sources_create(10, 1, 0);
    struct probe_report r;

    assert_false(sources_rate(s, 1, true, &r, NULL));
    for (int i = 0; i <= 20; i++)
        tell(s, PROBE_PROGRESS, i, "step", -1, i * 3, NAN);
    assert_true(sources_rate(s, 20, true, &r, NULL));
    assert_int_equal(r.source, PROBE_PROGRESS);
    assert_true(fabs(r.rate - 3) < 0.01 && r.steps == 60);
    for (int i = 20; i <= 40; i++)
        tell(s, PROBE_HEARTBEAT, i, "step", -1, i * 3, NAN);
    assert_true(sources_rate(s, 40, true, &r, NULL));
    assert_int_equal(r.source, PROBE_HEARTBEAT);
    assert_true(r.confidence > 0.9);
    sources_destroy(s);
}

/* Nothing but "step 17/250": from the fifth count on it is good enough to learn from. */
CASE(a_plain_count_is_learned_from_and_an_evaluation_is_not)
{
    struct sources *plain = sources_create(10, 1, 0), *eval = sources_create(10, 1, 0);
    struct probe_report r;
    char line[64];

    for (int i = 1; i <= 30; i++) {
        int length = snprintf(line, sizeof(line), "step %d/250", i);

        tracks_line(plain->tracks[PROBE_LOG], i, line, (size_t)length);
        length = snprintf(line, sizeof(line),
                          "Validation: %d%%|##| %d/50 [00:%02d<00:09, "
                          "1.00it/s]",
                          2 * i, i, i);
        tracks_line(eval->tracks[PROBE_LOG], i, line, (size_t)length);
        if (i == 5)
            assert_true(sources_rate(plain, i, true, &r, NULL) && r.confidence >= 0.5);
    }
    assert_true(sources_rate(plain, 30, true, &r, NULL));
    assert_true(fabs(r.rate - 1) < 0.01 && r.confidence > 0.55 && r.confidence < 0.6);
    assert_true(sources_rate(eval, 30, true, &r, NULL));
    assert_true(r.confidence < 0.5);
    sources_destroy(plain);
    sources_destroy(eval);
}

CASE(a_worse_source_takes_over_only_after_long_silence)
{
    struct sources *s = sources_create(10, 1, 0);
    struct probe_report r;

    for (int i = 0; i <= 100; i++) {
        tell(s, PROBE_LOG, i, "step", -1, i * 5, NAN);
        if (i <= 20)
            tell(s, PROBE_HEARTBEAT, i, "step", -1, i * 3, NAN);
    }
    assert_true(sources_rate(s, 40, true, &r, NULL));
    assert_int_equal(r.source, PROBE_HEARTBEAT);
    assert_true(sources_rate(s, 100, true, &r, NULL));
    assert_int_equal(r.source, PROBE_LOG);
    sources_destroy(s);
}

CASE(activity_counts_only_for_jobs_that_never_spoke)
{
    struct sources *s = sources_create(10, 1, 0);
    struct probe_report r;

    for (int i = 0; i <= 20; i++)
        tell(s, PROBE_ACTIVITY, i, "item", -1, i * 0.9, NAN);
    assert_false(sources_rate(s, 20, true, &r, NULL));
    for (int i = 21; i <= 40; i++)
        tell(s, PROBE_ACTIVITY, i, "item", -1, i * 0.9, NAN);
    assert_true(sources_rate(s, 40, true, &r, NULL));
    assert_int_equal(r.source, PROBE_ACTIVITY);
    assert_true(r.confidence < 0.2 && isnan(r.steps));
    tell(s, PROBE_LOG, 41, "step", -1, NAN, 7);
    assert_true(sources_rate(s, 41, true, &r, NULL));
    assert_int_equal(r.source, PROBE_LOG);
    assert_false(sources_wants_activity(s));
    sources_destroy(s);
}

CASE(a_stated_rate_is_news_once)
{
    struct sources *s = sources_create(10, 1, 0);
    struct probe_report r;

    tell(s, PROBE_HEARTBEAT, 1, "step", -1, NAN, 12.5);
    assert_true(sources_rate(s, 2, true, &r, NULL) && r.rate == 12.5);
    assert_false(sources_rate(s, 12, true, &r, NULL));
    assert_true(sources_rate(s, 12, false, &r, NULL));
    sources_destroy(s);
}

CASE(ranks_step_together_and_add_their_items)
{
    struct sources *steps = sources_create(10, 1, 0), *items = sources_create(10, 1, 0);
    struct probe_report r;

    for (int i = 0; i <= 20; i++) {
        for (int rank = 0; rank < 4; rank++) {
            tell(steps, PROBE_HEARTBEAT, i, "step", rank, i * 3, NAN);
            tell(items, PROBE_HEARTBEAT, i, "sample", rank, i * 3, NAN);
        }
    }
    assert_true(sources_rate(steps, 20, true, &r, NULL) && fabs(r.rate - 3) < 0.01);
    assert_true(r.steps == 60);
    assert_true(sources_rate(items, 20, true, &r, NULL) && fabs(r.rate - 12) < 0.01);
    assert_true(r.steps == 240);
    sources_destroy(steps);
    sources_destroy(items);
}

CASE(a_later_attempt_counts_what_it_adds)
{
    struct sources *s = sources_create(10, 2, 0);
    struct probe_report r;

    for (int i = 0; i <= 20; i++)
        tell(s, PROBE_HEARTBEAT, i, "step", -1, 5000 + i * 3, NAN);
    assert_true(sources_rate(s, 20, true, &r, NULL) && r.steps == 60);
    sources_destroy(s);
}

CASE(heartbeats_are_read_strictly)
{
    static const char *const bad[] = {
        "",          "hello",      "rate=",      "rate=-1",     "rate=nan",
        "rank=1",    "steps=1e99", "unit=step",  "rate=1 x",    "steps=1 rank=-1",
        "rate=1e30", "busy=1.01",  "latency=-1", "latency=1e7", "held=many"};
    struct heartbeat b;

    for (size_t i = 0; i < COUNT(bad); i++)
        assert_int_equal(heartbeat_parse(&b, bad[i], strlen(bad[i]), NULL), -1);
    assert_int_equal(heartbeat_parse(&b, "steps=12 rank=3 unit=tokens\n", 28, NULL), 0);
    assert_true(b.hit.count == 12 && b.hit.rank == 3 && isnan(b.hit.rate));
    assert_true(isnan(b.demand) && isnan(b.service.latency_s) && isnan(b.service.busy));
    assert_string_equal(b.hit.unit->name, "token");
    assert_int_equal(heartbeat_parse(&b, "rate=2.5 demand=9", 17, NULL), 0);
    assert_true(b.hit.rate == 2.5 && b.demand == 9);
    assert_string_equal(b.hit.unit->name, "step");
}

CASE(a_heartbeat_tells_of_a_service)
{
    static const char line[] = "latency=0.05 median=0.01 busy=0.3 held=2.5";
    struct heartbeat b;

    assert_int_equal(heartbeat_parse(&b, line, strlen(line), NULL), 0);
    assert_true(b.service.latency_s == 0.05 && b.service.median_s == 0.01);
    assert_true(b.service.busy == 0.3 && b.service.held == 2.5);
    assert_true(isnan(b.hit.rate) && isnan(b.hit.count) && isnan(b.demand));
}

CASE(progress_files_may_be_numbers_pairs_or_json)
{
    static const struct {
        const char *text;
        double count;
    } good[] = {
        {"1234", 1234},
        {"1234/5000\n", 1234},
        {"10\n20\n30\n", 30},
        {"steps=77\n", 77},
        {"{\"step\": 9, \"loss\": 1.5}", 9},
        {"{\"step\": 9}\n{\"step\": 10}\n", 10},
        {"{\n  \"iteration\": 12\n}\n", 12},
        {"done 450 of 1000\n", 450},
    };
    static const char *const bad[] = {"", "\n\n", "starting", "{\"loss\": 1}x",
                                      "v2 alpha"};
    struct match_hit hit;

    for (size_t i = 0; i < COUNT(good); i++) {
        assert_true(progress_file_parse(good[i].text, strlen(good[i].text), &hit));
        assert_true(hit.count == good[i].count);
    }
    for (size_t i = 0; i < COUNT(bad); i++)
        if (progress_file_parse(bad[i], strlen(bad[i]), &hit))
            fail_msg("%s was taken for a count", bad[i]);
}

CASE(what_a_progress_file_held_before_is_not_the_jobs)
{
    char path[] = "/tmp/corgi-progress-XXXXXX";
    struct progress_file file;
    struct match_hit hit;
    struct err err = {0};
    double age_s;

    close(mkstemp(path));
    assert_int_equal(file_write(path, "500\n", 4, &err), 0);
    progress_file_init(&file, path);
    assert_false(progress_file_look(&file, &hit, &age_s));
    assert_int_equal(file_write(path, "61\n", 3, &err), 0);
    assert_true(progress_file_look(&file, &hit, &age_s));
    assert_true(hit.count == 61 && age_s >= 0);
    assert_false(progress_file_look(&file, &hit, &age_s));
    unlink(path);
}

CASE(series_of_a_page_are_summed)
{
    static const char text[] = "# TYPE http_requests_total counter\n"
                               "http_requests_total{path=\"a} 9\",q=\"\\\"\"} 10\n"
                               "http_requests_total{path=\"/b\"}\t5 1395066363000\n"
                               "http_requests_total_more 99\n"
                               "http_requests 1\n"
                               "queue_depth 3.5\n"
                               "broken{a=\"b\n"
                               "nothing NaN";
    static const char *const names[] = {"http_requests_total", "queue_depth", "absent",
                                        "nothing", "http_requests"};
    static struct scrape_page prom;

    scrape_page_init(&prom, names, 5, NULL);
    scrape_page_read(&prom, text, strlen(text));
    assert_true(prom.sums[0] == 15 && prom.sums[1] == 3.5);
    assert_true(isnan(prom.sums[2]) && isnan(prom.sums[3]));
    assert_true(prom.sums[4] == 16); /* with and without _total */
}

static enum fetch_state read_answer(const char *text, size_t piece, struct str *body)
{
    enum fetch_state state = FETCH_RUNNING;
    struct str answer = {0};

    for (size_t at = 0; at < strlen(text) && state == FETCH_RUNNING; at += piece) {
        str_add_bytes(&answer, text + at,
                      piece < strlen(text) - at ? piece : strlen(text) - at);
        state = fetch_read_answer(&answer, false, body);
    }
    if (state == FETCH_RUNNING)
        state = fetch_read_answer(&answer, true, body);
    str_fini(&answer);
    return state;
}

CASE(answers_end_by_length_chunks_or_connection)
{
    static const char *const good[] = {
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello and more",
        "HTTP/1.0 200 OK\n\nhello",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: "
        "chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\n\r\n",
    };
    static const char *const bad[] = {
        "HTTP/1.1 404 Not Found\r\n\r\nhello",
        "SSH-2.0-OpenSSH\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhe\r\n",
        "HTTP/1.1 200 OK\r\n",
    };
    struct str body = {0};

    for (size_t i = 0; i < COUNT(good); i++) {
        for (size_t piece = 1; piece < 30; piece += 4) {
            assert_int_equal(read_answer(good[i], piece, &body), FETCH_DONE);
            assert_string_equal(str_text(&body), "hello");
        }
    }
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_int_equal(read_answer(bad[i], 7, &body), FETCH_FAILED);
    str_fini(&body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_source_that_speaks_is_heard),
        cmocka_unit_test(a_plain_count_is_learned_from_and_an_evaluation_is_not),
        cmocka_unit_test(a_worse_source_takes_over_only_after_long_silence),
        cmocka_unit_test(activity_counts_only_for_jobs_that_never_spoke),
        cmocka_unit_test(a_stated_rate_is_news_once),
        cmocka_unit_test(ranks_step_together_and_add_their_items),
        cmocka_unit_test(a_later_attempt_counts_what_it_adds),
        cmocka_unit_test(heartbeats_are_read_strictly),
        cmocka_unit_test(a_heartbeat_tells_of_a_service),
        cmocka_unit_test(progress_files_may_be_numbers_pairs_or_json),
        cmocka_unit_test(what_a_progress_file_held_before_is_not_the_jobs),
        cmocka_unit_test(series_of_a_page_are_summed),
        cmocka_unit_test(answers_end_by_length_chunks_or_connection),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
