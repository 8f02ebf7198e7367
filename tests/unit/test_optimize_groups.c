/* test_optimize_groups.c - three and four on a device, and replicas whose rates add up */
#include "support/optimize_case.h"

#include "lab/solver/groups.h"

#include <math.h>
#include <string.h>

/* Made up from pairs: each further mate slows a job as it would alone beside it, and the
 * device draws what the thirstiest pair draws and a tenth more for each further job. */
static bool from_pairs(const struct problem *p, void *ctx, int variant,
                       const int *classes, int count, float *rate, float *watts)
{
    size_t row = (size_t)variant * (size_t)p->class_count;

    (void)ctx;
    *watts = 0;
    for (int e = 0; e < count; e++) {
        float alone = p->alone_rate[row + (size_t)classes[e]];

        rate[e] = alone;
        for (int f = 0; f < count; f++) {
            size_t at = problem_cell(p, variant, classes[e], classes[f]);

            if (f == e)
                continue;
            if (p->pair_rate[at] <= 0)
                return false;
            rate[e] *= p->pair_rate[at] / alone;
            *watts = fmaxf(*watts, p->pair_watts[at]);
        }
    }
    *watts *= 1 + 0.1f * (float)(count - 2);
    return true;
}

/* ---- brute force: every way to put jobs into groups, and groups onto types ----------
 */

struct brute {
    const struct problem *p;
    int group[8], groups; /* group of each job; -1: none */
    double best;
};

static double cheapest(const struct problem *p, int type, const int *jobs, int count)
{
    const struct problem_type *t = &p->types[type];
    double best = INFINITY;

    for (int v = t->first_variant; v < t->first_variant + t->variant_count; v++) {
        float rate[PROBLEM_MAX_SHARE], watts;
        double cost;
        bool fine = problem_rates(p, v, jobs, count, rate, &watts);

        cost = watts;
        for (int e = 0; e < count && fine; e++) {
            fine = rate[e] >= p->jobs[jobs[e]].need * (1 - 1e-6);
            cost -= p->classes[p->jobs[jobs[e]].class_id].progress * rate[e];
        }
        if (fine)
            best = fmin(best, cost);
    }
    return best;
}

/* Groups from g on onto types with devices left. */
static double place(const struct brute *b, int g, int *left)
{
    int jobs[PROBLEM_MAX_SHARE], count = 0;
    double best = INFINITY;

    if (g == b->groups)
        return 0;
    for (int j = 0; j < b->p->job_count; j++)
        if (b->group[j] == g)
            jobs[count++] = j;
    for (int t = 0; t < b->p->type_count; t++) {
        double here = left[t] > 0 ? cheapest(b->p, t, jobs, count) : INFINITY;

        if (isinf(here))
            continue;
        left[t]--;
        best = fmin(best, here + place(b, g + 1, left));
        left[t]++;
    }
    return best;
}

static void group_up(struct brute *b, int j)
{
    if (j == b->p->job_count) {
        int left[PROBLEM_MAX_TYPES];
        double cost = 0;

        for (int t = 0; t < b->p->type_count; t++)
            left[t] = b->p->types[t].devices;
        for (int i = 0; i < j; i++)
            cost += b->group[i] < 0 ? b->p->jobs[i].penalty : 0;
        if (cost < b->best)
            b->best = fmin(b->best, cost + place(b, 0, left));
        return;
    }
    for (int g = -1; g <= b->groups; g++) {
        int members = 0, before = b->groups;

        for (int i = 0; i < j; i++)
            members += b->group[i] == g;
        if (g >= 0 && members >= b->p->share_max)
            continue;
        b->group[j] = g;
        b->groups += g == b->groups;
        group_up(b, j + 1);
        b->groups = before;
    }
}

static double brute_force(const struct problem *p)
{
    struct brute b = {.p = p, .best = INFINITY};

    group_up(&b, 0);
    return b.best;
}

static void tiny_cases_come_near_brute_force(void **state)
{
    double over = 0;
    int larger = 0, count = 0, optimal = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct problem *p =
            case_problem((struct instance_options){.jobs = 4 + (int)(seed % 3),
                                                   .devices_per_job = 0.5,
                                                   .progress = seed % 2 ? 60 : 0,
                                                   .seed = seed});
        struct solution s = {0};
        double best;

        p->share_max = 3 + (int)(seed % 2);
        p->group = from_pairs;
        for (int j = 0; j < p->job_count; j++)
            p->jobs[j].need *= 0.3;
        best = brute_force(p);
        case_solve(p, &s);
        assert_true(s.cost >= best - 0.05);
        assert_true(isinf(s.bound)); /* nothing is proven for groups */
        optimal += s.cost <= best + 0.05;
        assert_true(s.cost <= best + 0.2 * (fabs(best) + s.progress) + 0.05);
        over += (s.cost - best) / (fabs(best) + s.progress);
        count++;
        for (int d = 0; d < s.device_count; d++)
            larger += solution_device_jobs(&s.devices[d]) > 2;
        solution_fini(&s);
        problem_destroy(p);
    }
    assert_true(larger > 20);
    assert_true(optimal >= 36);
    assert_true(over / count < 0.01);
}

static void never_dearer_than_pairs_and_serves_more(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct problem *p =
            case_problem((struct instance_options){.jobs = 60,
                                                   .devices_per_job = 0.3,
                                                   .host_watts = seed % 2 ? 120 : 0,
                                                   .sleep = true,
                                                   .caps = seed % 3 == 0,
                                                   .seed = seed});
        struct solution two = {0}, four = {0};

        for (int j = 0; j < p->job_count; j++)
            p->jobs[j].need *= 0.3;
        case_solve(p, &two);
        p->share_max = 4;
        p->group = from_pairs;
        case_solve(p, &four); /* the checker sees to the rules */
        assert_true(four.cost <= two.cost + 0.01);
        assert_true(four.unserved < two.unserved);
        solution_fini(&two);
        solution_fini(&four);
        problem_destroy(p);
    }
}

static void no_more_share_than_may(void **state)
{
    struct problem *p = case_problem(
        (struct instance_options){.jobs = 30, .devices_per_job = 0.3, .seed = 2});
    struct solution s = {0};
    struct err err = {0};

    (void)state;
    for (int j = 0; j < p->job_count; j++) {
        p->jobs[j].need = 0;
        p->jobs[j].may_share = j % 5 != 0;
    }
    p->share_max = 3;
    p->group = from_pairs;
    case_solve(p, &s);
    p->share_max = 2; /* the checker counts */
    assert_int_equal(check_solution(p, &s, &err), -1);
    solution_fini(&s);
    problem_destroy(p);
}

/* ---- replicas -----------------------------------------------------------------------
 */

/* The first job becomes a service of its own class that needs `times` the best rate. */
static void make_service(struct problem *p, double times)
{
    int k = p->jobs[0].class_id;
    double best = 0;

    for (int j = 1; j < p->job_count; j++) /* nobody else is of its class */
        if (p->jobs[j].class_id == k)
            p->jobs[j].class_id = (k + 1) % p->class_count;
    for (int v = 0; v < p->variant_count; v++)
        best = fmax(
            best, (double)p->alone_rate[(size_t)v * (size_t)p->class_count + (size_t)k]);
    p->jobs[0].need = times * best;
}

static void a_service_too_large_for_one_device_gets_several(void **state)
{
    struct instance_options o = {.jobs = 12, .devices_per_job = 1.5, .seed = 3};
    struct problem *p = case_problem(o);
    int k = p->jobs[0].class_id, devices[8], wanted = 4;
    struct solution s = {0};
    struct err err = {0};
    double rate, watts;

    (void)state;
    make_service(p, 2.5);
    case_solve(p, &s);
    assert_int_equal(s.state[0], SOLUTION_UNSERVED);
    solution_fini(&s);
    problem_destroy(p);

    o.spare_jobs = 8; /* room for the tasks */
    p = case_problem(o);
    make_service(p, 2.5);
    p->classes[k].devices = wanted;
    p->classes[k].adds = true;
    problem_number_tasks(p);
    case_solve(p, &s);
    assert_int_equal(s.state[0], SOLUTION_SERVED);
    assert_int_equal(solution_job(p, &s, 0, devices, 8, &rate, &watts), wanted);
    assert_true(rate >= p->jobs[0].need * (1 - 1e-4));
    assert_true(watts > 0);
    p->jobs[0].need = 1.2 * rate; /* the checker adds up, too */
    assert_int_equal(check_solution(p, &s, &err), -1);
    solution_fini(&s);
    problem_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiny_cases_come_near_brute_force),
        cmocka_unit_test(never_dearer_than_pairs_and_serves_more),
        cmocka_unit_test(no_more_share_than_may),
        cmocka_unit_test(a_service_too_large_for_one_device_gets_several),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
