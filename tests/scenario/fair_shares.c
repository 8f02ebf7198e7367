/* fair_shares.c - two users who always want more than there is, for a week
 *
 * Each has its part of the GPU time by its weight, whatever the sizes of its jobs; the
 * same with accounts. */
#include "lab/sim/sim_run.h"

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fixture/sim.h"

#define WEEK_S  (7 * 86400.0)
#define GPUS    4
#define USERS   3
#define TOLERED 0.05

static struct world *world;

/* Half as much again as the cluster can do comes from each user, of its own mix of sizes.
 */
struct greedy {
    int owner;
    double mean_s; /* of its jobs */
    bool gangs;
};

static double draw(struct rng *rng, double mean_s)
{
    return mean_s * (0.5 + rng_uniform(rng));
}

static int by_arrival(const void *a, const void *b)
{
    const struct sim_request *x = a, *y = b;

    if (x->job.submitted_s < y->job.submitted_s ||
        x->job.submitted_s > y->job.submitted_s)
        return x->job.submitted_s < y->job.submitted_s ? -1 : 1;
    return x->job.id < y->job.id ? -1 : 1;
}

static struct workload *trace_of(const struct greedy *users, int count, uint64_t seed)
{
    struct workload *w = fixture_workload();
    struct rng rng;

    rng_stream(&rng, seed, 1);
    for (int u = 0; u < count; u++)
        for (double at_s = 0; at_s < WEEK_S;) {
            bool pair = users[u].gangs && rng_below(&rng, 3) == 0;
            double size_s = draw(&rng, users[u].mean_s);

            fixture_training(w, world, pair ? FIXTURE_PAIR : FIXTURE_LIGHT, at_s, size_s);
            w->requests[w->count - 1].job.owner = users[u].owner;
            w->requests[w->count - 1].job.may_share = false;
            at_s += size_s * (pair ? 2 : 1) / (1.5 * GPUS);
        }
    qsort(w->requests, w->count, sizeof(*w->requests), by_arrival);
    for (size_t i = 0; i < w->count; i++)
        w->requests[i].job.id = i + 1;
    return w;
}

/* GPU-seconds each user's jobs held until the end of the week, from when they started and
 * ended. */
static void held(const struct workload *w, const struct sim_result *r,
                 double gpu_s[USERS])
{
    for (size_t i = 0; i < w->count; i++) {
        const struct job *job = &w->requests[i].job;
        double start_s = job->submitted_s + r->job_results[i].wait_s;
        double end_s = r->job_results[i].end_s;

        if (isnan(start_s))
            continue;
        if (isnan(end_s))
            end_s = WEEK_S;
        gpu_s[job->owner] += job->devices * (end_s - start_s);
    }
}

struct week {
    struct greedy users[USERS];
    struct fair_share_rule rules[USERS];
    int count;
    double due[USERS];
};

static void check_week(const struct week *week, uint64_t seed)
{
    struct workload *w = trace_of(week->users, week->count, seed);
    struct cluster *cluster = fixture_cluster(world, 0, 2, GPUS / 2);
    struct sim_options options = fixture_options();
    const struct policy *policy = policy_find("corgi");
    const struct sim_setup setup = {.world = world,
                                    .workload = w,
                                    .cluster = cluster,
                                    .gpu_of_type = fixture_types,
                                    .planner = policy->planner,
                                    .model = policy->model,
                                    .shares = week->rules,
                                    .share_count = (size_t)week->count};
    struct sim_result result = {0};
    struct err err = {0};
    double gpu_s[USERS] = {0}, all_s = 0;

    options.limit_s = WEEK_S;
    options.check = true;
    options.unquoted = w->count; /* nobody asks when its job would start */
    if (sim_run(&options, &setup, &result, &err) < 0)
        fail_msg("%s", err.text);
    held(w, &result, gpu_s);
    for (int u = 0; u < week->count; u++)
        all_s += gpu_s[u];
    assert_true(all_s > 0.9 * GPUS * WEEK_S);
    for (int u = 0; u < week->count; u++) {
        print_message("user %d had %.4f of the GPU time, due %.4f\n", u, gpu_s[u] / all_s,
                      week->due[u]);
        if (fabs(gpu_s[u] / all_s / week->due[u] - 1) > TOLERED)
            fail_msg("user %d had %.4f of the GPU time, due %.4f", u, gpu_s[u] / all_s,
                     week->due[u]);
    }
    sim_result_fini(&result);
    workload_destroy(w);
    cluster_destroy(cluster);
}

static void weights_are_kept_over_a_week(void **state)
{
    const struct week week = {.users = {{0, 6000, false}, {1, 6000, false}},
                              .rules = {{0, "ada", NULL, 3, 1}, {1, "bob", NULL, 1, 1}},
                              .count = 2,
                              .due = {0.75, 0.25}};

    (void)state;
    check_week(&week, 1);
}

/* Small jobs against gangs and long ones. */
static void sizes_of_jobs_do_not_matter(void **state)
{
    const struct week week = {.users = {{0, 4000, false}, {1, 18000, true}},
                              .rules = {{0, "ada", NULL, 1, 1}, {1, "bob", NULL, 1, 1}},
                              .count = 2,
                              .due = {0.5, 0.5}};

    (void)state;
    check_week(&week, 2);
}

static void accounts_have_parts_and_users_parts_of_these(void **state)
{
    const struct week week = {
        .users = {{0, 6000, false}, {1, 6000, false}, {2, 6000, false}},
        .rules = {{0, "ada", "lab", 2, 2},
                  {1, "bob", "lab", 1, 2},
                  {2, "cid", NULL, 1, 1}},
        .count = 3,
        .due = {4 / 9.0, 2 / 9.0, 1 / 3.0}};

    (void)state;
    check_week(&week, 3);
}

static int set_up(void **state)
{
    (void)state;
    world = fixture_world();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    world_destroy(world);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_are_kept_over_a_week),
        cmocka_unit_test(sizes_of_jobs_do_not_matter),
        cmocka_unit_test(accounts_have_parts_and_users_parts_of_these),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
