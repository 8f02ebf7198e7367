/* test_occupancy.c - who would sit where, and who may join them */
#include "loop_fixture.h"

#include "lab/policy/occupancy.h"

static void loads_what_runs_and_follows_changes(void **state)
{
    struct occupancy o = {0};
    struct fixture f;
    const struct job_status *gang, *single;

    (void)state;
    fixture_init(&f);
    gang = fixture_running(&f, fixture_job(1, 2), (int[]){2, 3}, 0);
    single = fixture_running(&f, fixture_job(2, 1), (int[]){3}, 0);
    jobs_add(f.jobs, &(struct job){.id = 3});
    occupancy_load(&o, fixture_input(&f, 0));
    assert_int_equal(o.counts[2], 1);
    assert_int_equal(o.counts[3], 2);
    assert_int_equal(o.node_jobs[1], 3);
    assert_int_equal(o.node_jobs[0], 0);
    assert_ptr_equal(occupancy_of(&o, 3)[0], gang);
    occupancy_remove(&o, f.cluster, 3, gang);
    assert_ptr_equal(occupancy_of(&o, 3)[0], single);
    assert_int_equal(o.node_jobs[1], 2);
    occupancy_add(&o, f.cluster, 7, gang);
    assert_int_equal(o.node_jobs[2], 1);
    occupancy_load(&o, &f.in); /* from the start again */
    assert_int_equal(o.counts[7], 0);
    assert_int_equal(o.counts[3], 2);
    occupancy_fini(&o);
    fixture_fini(&f);
}

static void unusable_devices_and_forbidden_types_admit_nobody(void **state)
{
    struct occupancy o = {0};
    struct fixture f;
    struct job job = fixture_job(1, 1);

    (void)state;
    fixture_init(&f);
    f.cluster->devices[0].drained = true;
    f.cluster->devices[1].failed = true;
    f.cluster->nodes[2].state = NODE_DOWN;
    occupancy_load(&o, fixture_input(&f, 0));
    for (int d = 0; d < 8; d++)
        assert_int_equal(occupancy_admits(&o, &f.in, d, &job), d >= 2 && d <= 5);
    job.types_allowed = 1u << SLOW;
    assert_false(occupancy_admits(&o, &f.in, 2, &job));
    job.types_allowed = 1u << FAST;
    assert_true(occupancy_admits(&o, &f.in, 2, &job));
    occupancy_fini(&o);
    fixture_fini(&f);
}

static void sharing_needs_room_and_everyones_consent(void **state)
{
    struct occupancy o = {0};
    struct fixture f;
    struct job alone = fixture_job(1, 1), open = fixture_job(9, 1), shy = open;

    (void)state;
    fixture_init(&f);
    alone.may_share = shy.may_share = false;
    fixture_running(&f, alone, (int[]){2}, 0);
    fixture_running(&f, fixture_job(2, 1), (int[]){3}, 0);
    fixture_running(&f, fixture_job(3, 1), (int[]){4}, 0);
    fixture_running(&f, fixture_job(4, 1), (int[]){4}, 0);
    occupancy_load(&o, fixture_input(&f, 0));
    assert_false(occupancy_admits(&o, &f.in, 2, &open)); /* its job is shy */
    assert_true(occupancy_admits(&o, &f.in, 3, &open));
    assert_false(occupancy_admits(&o, &f.in, 3, &shy));
    assert_false(occupancy_admits(&o, &f.in, 4, &open)); /* two are there */
    assert_true(occupancy_admits(&o, &f.in, 5, &shy));
    f.settings.share_max = 3;
    assert_true(occupancy_admits(&o, &f.in, 4, &open));
    f.settings.share_max = 1;
    assert_false(occupancy_admits(&o, &f.in, 3, &open));
    open.id = 2; /* never twice on one device */
    f.settings.share_max = 3;
    assert_false(occupancy_admits(&o, &f.in, 3, &open));
    occupancy_fini(&o);
    fixture_fini(&f);
}

static void a_combination_names_type_cap_members_and_their_spread(void **state)
{
    struct occupancy o = {0};
    struct combination where;
    struct job_status *more;
    struct fixture f;

    (void)state;
    fixture_init(&f);
    fixture_running(&f, fixture_job(1, 2), (int[]){1, 6}, 0);
    more = jobs_add(f.jobs, &(struct job){.id = 5});
    occupancy_load(&o, fixture_input(&f, 0));
    occupancy_combination(&o, &f.in, 6, 80, more, &where);
    assert_int_equal(where.type, SLOW);
    assert_true(where.cap_watts == 80);
    assert_int_equal(where.count, 2);
    assert_int_equal(where.members[0].job->id, 1);
    assert_int_equal(where.members[0].nodes, 2);
    assert_int_equal(where.members[1].job->id, 5);
    assert_int_equal(where.members[1].nodes, 1);
    occupancy_combination(&o, &f.in, 3, 0, NULL, &where);
    assert_int_equal(where.type, FAST);
    assert_int_equal(where.count, 0);
    occupancy_fini(&o);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads_what_runs_and_follows_changes),
        cmocka_unit_test(unusable_devices_and_forbidden_types_admit_nobody),
        cmocka_unit_test(sharing_needs_room_and_everyones_consent),
        cmocka_unit_test(a_combination_names_type_cap_members_and_their_spread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
