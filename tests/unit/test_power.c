/* test_power.c - the power model keeps the laws its users rely on */
#include "world/power.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define EPS 1e-9

static void draw_runs_from_idle_to_tdp_and_is_concave(void **state)
{
    size_t count;
    const struct gpu_sheet *cards = gpu_catalogue(&count);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        double idle = cards[i].idle_watts, tdp = cards[i].tdp_watts;

        assert_true(fabs(power_draw_watts(&cards[i], 0) - idle) < EPS);
        assert_true(fabs(power_draw_watts(&cards[i], 1) - tdp) < EPS);
        assert_true(power_draw_watts(&cards[i], 0.5) > (idle + tdp) / 2);
        for (int b = 1; b <= 100; b++)
            assert_true(power_draw_watts(&cards[i], b / 100.0) >
                        power_draw_watts(&cards[i], (b - 1) / 100.0));
    }
}

static void busy_is_the_reverse_of_draw(void **state)
{
    const struct gpu_sheet *card = gpu_find("v100");

    (void)state;
    for (int b = 0; b <= 10; b++)
        assert_true(fabs(power_busy(card, power_draw_watts(card, b / 10.0)) - b / 10.0) <
                    1e-6);
    assert_true(power_busy(card, 5) == 0);
    assert_true(power_busy(card, 1000) == 1);
}

static void odd_shares_are_taken_as_none_or_all(void **state)
{
    const struct gpu_sheet *card = gpu_find("v100");

    (void)state;
    assert_true(power_draw_watts(card, NAN) == card->idle_watts);
    assert_true(power_draw_watts(card, -1) == card->idle_watts);
    assert_true(power_draw_watts(card, 7) == card->tdp_watts);
}

static void no_cap_or_a_cap_at_tdp_changes_nothing(void **state)
{
    const struct gpu_sheet *card = gpu_find("a100");

    (void)state;
    for (int b = 0; b <= 10; b++) {
        double draw = power_draw_watts(card, b / 10.0);
        struct power_capped none = power_under_cap(card, b / 10.0, 0);
        struct power_capped full = power_under_cap(card, b / 10.0, card->tdp_watts);

        assert_true(none.speed == 1 && none.watts == draw);
        assert_true(full.speed == 1 && full.watts == draw);
    }
}

static void card_laws(const struct gpu_sheet *card, double busy)
{
    double draw = power_draw_watts(card, busy);
    struct power_capped last = {0, 0};

    for (double cap = card->cap_min_watts; cap <= card->tdp_watts; cap += 1) {
        struct power_capped now = power_under_cap(card, busy, cap);

        assert_true(now.speed > 0 && now.speed <= 1);
        assert_true(now.watts <= cap + EPS && now.watts <= draw + EPS);
        assert_true(now.watts >= card->idle_watts - EPS);
        assert_true(now.speed >= last.speed - EPS && now.watts >= last.watts - EPS);
        last = now;
    }
}

static void a_cap_is_respected_and_more_of_it_never_slows(void **state)
{
    size_t count;
    const struct gpu_sheet *cards = gpu_catalogue(&count);

    (void)state;
    for (size_t i = 0; i < count; i++)
        for (int b = 0; b <= 20; b++)
            card_laws(&cards[i], b / 20.0);
}

static void a_cap_below_the_minimum_acts_as_the_minimum(void **state)
{
    const struct gpu_sheet *card = gpu_find("v100");
    struct power_capped lowest = power_under_cap(card, 0.9, card->cap_min_watts);
    struct power_capped asked = power_under_cap(card, 0.9, 10);

    (void)state;
    assert_true(asked.watts == lowest.watts && asked.speed == lowest.speed);
}

static void a_card_without_caps_ignores_them(void **state)
{
    struct gpu_sheet card = *gpu_find("v100");
    struct power_capped got;

    (void)state;
    card.cap_min_watts = 0;
    got = power_under_cap(&card, 1, 100);
    assert_true(got.watts == card.tdp_watts && got.speed == 1);
}

/* The sweeps say: the first third of the limit costs a busy V100 little speed, and
 * energy a step falls before it rises. */
static void a_moderate_cap_saves_energy_on_a_busy_card(void **state)
{
    const struct gpu_sheet *card = gpu_find("v100");
    struct power_capped full = power_under_cap(card, 0.95, 0);
    struct power_capped some = power_under_cap(card, 0.95, 175);

    (void)state;
    assert_true(some.speed > 0.8 && some.speed < 0.97);
    assert_true(some.watts / some.speed < 0.9 * full.watts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draw_runs_from_idle_to_tdp_and_is_concave),
        cmocka_unit_test(busy_is_the_reverse_of_draw),
        cmocka_unit_test(odd_shares_are_taken_as_none_or_all),
        cmocka_unit_test(no_cap_or_a_cap_at_tdp_changes_nothing),
        cmocka_unit_test(a_cap_is_respected_and_more_of_it_never_slows),
        cmocka_unit_test(a_cap_below_the_minimum_acts_as_the_minimum),
        cmocka_unit_test(a_card_without_caps_ignores_them),
        cmocka_unit_test(a_moderate_cap_saves_energy_on_a_busy_card),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
