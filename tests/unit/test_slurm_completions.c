/* test_slurm_completions.c - what became of a job that Slurm has forgotten */
#include "support/test.h"

#include "engine/slurm/slurm_completions.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LINE(id, name, state, end, exit)                                                 \
    "JobId=" id " UserId=ada(1000) GroupId=ada(1000) Name=" name " JobState=" state      \
    " Partition=main TimeLimit=60 StartTime=2026-11-18T13:00:58 EndTime=" end            \
    " NodeList=node3 NodeCnt=1 ProcCnt=1 WorkDir=/home/ada ReservationName= Tres=cpu=1 " \
    "Account= QOS= SubmitTime=2026-11-18T13:00:57 DerivedExitCode=0:0 ExitCode=" exit    \
    " \n"

static bool find(const char *text, const char *job, double since_s,
                 struct slurm_completion *found)
{
    return slurm_completion_find(text, strlen(text), job, since_s, found);
}

static void the_end_of_a_job_is_found(void **state)
{
    static const char text[] = LINE("17", "other", "FAILED", "2026-11-18T13:01:01", "1:0")
        LINE("7", "JobState=X b", "COMPLETED", "2026-11-18T13:01:03", "0:0")
            LINE("8", "c", "FAILED", "2026-11-18T13:02:03", "7:9");
    struct slurm_completion found;

    (void)state;
    setenv("TZ", "UTC", 1);
    tzset();
    assert_true(find(text, "7", 0, &found));
    assert_int_equal(found.uid, 1000);
    assert_string_equal(found.state, "COMPLETED");
    assert_true(found.end_s == 1795006863);
    assert_true(found.start_s == 1795006858);
    assert_true(find(text, "8", 1795006900, &found));
    assert_int_equal(found.exit_status, 7);
    assert_int_equal(found.signal, 9);
    assert_string_equal(found.name, "c");
    assert_false(find(text, "9", 0, &found));
    assert_false(find(text, "7", 1795006864, &found)); /* of a number's life before */
    assert_false(find(text + 30, "17", 0, &found));    /* the rest of a line */
}

static void the_last_line_counts_unless_it_was_queued_again(void **state)
{
    static const char again[] = LINE("7", "a", "COMPLETED", "2026-11-18T13:01:03", "0:0")
        LINE("7", "a", "REQUEUED", "2026-11-18T13:02:03", "0:0");
    static const char ended[] = LINE("7", "a", "NODE_FAIL", "2026-11-18T13:01:03", "0:0")
        LINE("7", "a", "CANCELLED", "2026-11-18T13:02:03", "0:15");
    /* slurmctld was killed, forgot the end, and does not find the run on its node */
    static const char forgot[] = LINE("7", "a", "COMPLETED", "2026-11-18T13:01:03", "0:0")
        LINE("7", "a", "NODE_FAIL", "2026-11-18T13:02:03", "0:1");
    struct slurm_completion found;

    (void)state;
    assert_true(find(forgot, "7", 0, &found));
    assert_string_equal(found.state, "COMPLETED");
    assert_false(find(again, "7", 0, &found));
    assert_true(find(ended, "7", 0, &found));
    assert_string_equal(found.state, "CANCELLED");
    assert_false(find("JobId=7 ", "7", 0, &found));
    assert_false(find("", "7", 0, &found));
}

/* ---- slurmdbd ---------------------------------------------------------------------- */

#define OURS   "00000000000000000000000000000000000000000000000000000000000011aa"
#define OTHERS "00000000000000000000000000000000000000000000000000000000000022bb"
#define MARK   "00000000000011aa"

static struct slurm_accounted record(double submit_s, double end_s, const char *state,
                                     const char *digest)
{
    struct slurm_accounted a = {.submit_s = submit_s,
                                .job = {.name = "train", .end_s = end_s}};

    str_copy(a.job.state, sizeof(a.job.state), state);
    str_copy(a.digest, sizeof(a.digest), digest);
    return a;
}

static void a_record_is_the_one_that_was_alive_then(void **state)
{
    const struct slurm_accounted records[] = {
        record(500, 600, "COMPLETED", ""), /* had the number before */
        record(3000, 3100, "FAILED", ""),  /* got it after slurmctld was killed */
        record(1000, 2000, "TIMEOUT", ""),
    };

    (void)state;
    assert_ptr_equal(slurm_accounted_find(records, 3, 1500, 0, MARK), &records[2]);
    assert_ptr_equal(slurm_accounted_find(records, 3, 0, 1000, MARK), &records[2]);
    assert_ptr_equal(slurm_accounted_find(records, 3, 0, 0, NULL), &records[0]);
    assert_null(slurm_accounted_find(records, 3, 3500, 0, MARK));
    assert_null(slurm_accounted_find(records, 0, 0, 0, MARK));
}

static void a_record_of_another_mark_is_somebody_elses(void **state)
{
    struct slurm_accounted records[] = {record(1000, 2000, "COMPLETED", OTHERS),
                                        record(1100, 2100, "FAILED", OURS)};

    (void)state;
    assert_ptr_equal(slurm_accounted_find(records, 2, 1500, 0, MARK), &records[1]);
    records[1].digest[0] = '\0'; /* replaced at its end */
    assert_ptr_equal(slurm_accounted_find(records, 2, 1500, 0, MARK), &records[1]);
    assert_null(slurm_accounted_find(records, 1, 1500, 0, MARK));
}

static void a_job_that_was_queued_again_ends_where_it_went_on(void **state)
{
    struct slurm_accounted records[] = {record(1000, 2000, "PENDING", OURS),
                                        record(2001, 2500, "NODE_FAIL", OURS),
                                        record(2501, 3000, "COMPLETED", "")};

    (void)state;
    records[0].queued_again = true;
    assert_ptr_equal(slurm_accounted_find(records, 3, 1500, 1000, MARK), &records[2]);
    assert_ptr_equal(slurm_accounted_find(records, 2, 1500, 1000, MARK), &records[1]);
    assert_null(slurm_accounted_find(records, 1, 1500, 1000, MARK)); /* it waits */
    records[2].job.end_s = 0;
    assert_null(slurm_accounted_find(records, 3, 1500, 1000, MARK)); /* it runs */
    records[2] = record(2501, 3000, "COMPLETED", "");
    records[2].job.uid = 7; /* came to the number of a job that a lost node ended */
    assert_ptr_equal(slurm_accounted_find(records, 3, 1500, 1000, MARK), &records[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_of_a_job_is_found),
        cmocka_unit_test(the_last_line_counts_unless_it_was_queued_again),
        cmocka_unit_test(a_record_is_the_one_that_was_alive_then),
        cmocka_unit_test(a_record_of_another_mark_is_somebody_elses),
        cmocka_unit_test(a_job_that_was_queued_again_ends_where_it_went_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
