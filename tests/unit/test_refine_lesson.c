/* test_refine_lesson.c - when a lesson is due: new cells, and the loop's clock */
#include "loop/refine/lesson.h"
#include "loop_fixture.h"
#include "model/learned.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

enum { KINDS = 12 };

static struct model create(bool initial_only)
{
    struct gpu_sheet sheets[2] = {*gpu_find("p100"), *gpu_find("v100")};

    return learned_create(
        sheets, 2, &(struct learned_options){.seed = 1, .initial_only = initial_only});
}

/* The cell with this number is measured: two of KINDS jobs beside each other. */
static void see(struct model *m, int cell)
{
    struct job jobs[2];
    struct observation seen = {.rate = 2, .device_watts = NAN, .at_s = cell};
    int of[2] = {cell % KINDS, (cell % KINDS + 1 + cell / KINDS % (KINDS - 1)) % KINDS};

    for (int i = 0; i < 2; i++) {
        jobs[i] = fixture_job(100 + (uint64_t)of[i], 1);
        jobs[i].descriptor.batch = 8 + of[i];
        seen.where.members[0] = (struct member){&jobs[i], 1, 0};
        seen.where.count = 1;
        m->ops->absorb(m->self, &seen);
    }
    for (int i = 0; i < 2; i++)
        seen.where.members[i] = (struct member){&jobs[i], 1, 0};
    seen.where.count = 2;
    seen.rate = 1.2;
    m->ops->absorb(m->self, &seen);
}

static void see_until(struct model *m, size_t cells)
{
    for (int i = (int)learned_progress(m->self).cells;
         learned_progress(m->self).cells < cells; i++)
        see(m, i);
}

static void lesson(struct model *m, double now_s)
{
    struct learned_lesson *l;

    assert_true(lesson_due(m, now_s));
    l = learned_lesson_create(m->self, now_s);
    learned_lesson_study(l);
    learned_lesson_take(m->self, l);
}

static void new_cells_make_a_lesson_due(void **state)
{
    struct model m = create(false);

    (void)state;
    assert_false(lesson_due(&m, 1000));
    see_until(&m, 19);
    assert_false(lesson_due(&m, 1000));
    see_until(&m, 20);
    assert_true(lesson_due(&m, 1000));
    lesson(&m, 1000);
    assert_false(lesson_due(&m, 9000)); /* nothing new */
    see_until(&m, 39);
    assert_false(lesson_due(&m, 9000));
    see_until(&m, 40);
    assert_true(lesson_due(&m, 9000));
    lesson(&m, 9000);
    see_until(&m, 60);
    assert_true(lesson_due(&m, 9060)); /* half as many again, and a minute later */
    assert_false(lesson_due(&m, 9059));
    lesson(&m, 9060);
    see_until(&m, 89);
    assert_false(lesson_due(&m, 20000));
    see_until(&m, 90);
    assert_true(lesson_due(&m, 20000));
    m.ops->destroy(m.self);
}

static void the_same_cells_again_make_none(void **state)
{
    struct model m = create(false);

    (void)state;
    see_until(&m, 20);
    lesson(&m, 10);
    for (int i = 0; i < 200; i++)
        see(&m, i % 20);
    assert_false(lesson_due(&m, 1e6));
    m.ops->destroy(m.self);
}

/* One that was begun counts, also while it is studied and if nobody takes it. */
static void one_at_a_time(void **state)
{
    struct model m = create(false);
    struct learned_lesson *l;

    (void)state;
    see_until(&m, 25);
    assert_true(lesson_due(&m, 10));
    l = learned_lesson_create(m.self, 10);
    assert_false(lesson_due(&m, 11));
    learned_lesson_destroy(l);
    assert_false(lesson_due(&m, 1e6));
    m.ops->destroy(m.self);
}

static void models_without_networks_have_none(void **state)
{
    struct model first = create(true);
    struct model other = {.ops = &(struct model_ops){.name = "other"}};

    (void)state;
    see(&first, 1);
    for (int i = 0; i < 60; i++)
        see(&first, i);
    assert_false(lesson_due(&first, 1e6));
    assert_false(lesson_due(&other, 1e6));
    first.ops->destroy(first.self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_cells_make_a_lesson_due),
        cmocka_unit_test(the_same_cells_again_make_none),
        cmocka_unit_test(one_at_a_time),
        cmocka_unit_test(models_without_networks_have_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
