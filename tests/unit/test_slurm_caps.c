/* test_slurm_caps.c - the operator's program that sets power limits, a real one */
#include "support/test.h"

#include "base/clock.h"
#include "base/poller.h"
#include "engine/slurm/slurm_caps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct lab {
    char folder[32], program[64], log[64];
    int poller;
    struct slurm_caps *caps;
};

static void lab_start(struct lab *lab, const char *body, double within_s)
{
    FILE *f;

    strcpy(lab->folder, "/tmp/slurm-caps.XXXXXX");
    assert_non_null(mkdtemp(lab->folder));
    snprintf(lab->program, sizeof(lab->program), "%s/cap", lab->folder);
    snprintf(lab->log, sizeof(lab->log), "%s/log", lab->folder);
    f = fopen(lab->program, "w");
    fprintf(f, "#!/bin/sh\necho \"$*\" >> %s\n%s\n", lab->log, body);
    fclose(f);
    assert_int_equal(chmod(lab->program, 0755), 0);
    lab->poller = poller_open(NULL);
    lab->caps = slurm_caps_create(lab->poller, lab->program, within_s);
}

static void lab_end(struct lab *lab)
{
    slurm_caps_destroy(lab->caps);
    close(lab->poller);
    unlink(lab->program);
    unlink(lab->log);
    rmdir(lab->folder);
}

static char *logged(const struct lab *lab)
{
    static char text[400];
    FILE *f = fopen(lab->log, "r");
    size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

    text[n] = '\0';
    if (f)
        fclose(f);
    return text;
}

/* Until the log says this, ten seconds at most. */
static void says(struct lab *lab, const char *expected)
{
    double until_s = clock_wall_s() + 10;

    while (strcmp(logged(lab), expected) != 0 && clock_wall_s() < until_s) {
        double asked_s = clock_wall_s();

        slurm_caps_advance(lab->caps, clock_wall_s());
        assert_true(clock_wall_s() - asked_s < 1); /* it waits for nobody */
        poller_wait(lab->poller, 0.02);
    }
    assert_string_equal(logged(lab), expected);
}

static void it_is_called_with_node_gpu_and_watts(void **state)
{
    struct lab lab;

    (void)state;
    lab_start(&lab, "", 10);
    slurm_caps_set(lab.caps, 5, "node2", 1, 180.4);
    says(&lab, "node2 1 180\n");
    slurm_caps_set(lab.caps, 5, "node2", 1, 0);
    says(&lab, "node2 1 180\nnode2 1 0\n");
    lab_end(&lab);
}

static void only_the_newest_wish_of_a_gpu_counts(void **state)
{
    struct lab lab;

    (void)state;
    lab_start(&lab, "sleep 0.3", 10);
    slurm_caps_set(lab.caps, 5, "node2", 1, 100);
    says(&lab, "node2 1 100\n"); /* it is under way */
    for (int watts = 101; watts <= 150; watts++)
        slurm_caps_set(lab.caps, 5, "node2", 1, watts);
    says(&lab, "node2 1 100\nnode2 1 150\n");
    lab_end(&lab);
}

static void one_that_hangs_is_killed_and_keeps_nobody_waiting(void **state)
{
    struct lab lab;
    double began_s = clock_wall_s();

    (void)state;
    lab_start(&lab, "[ $1 != hangs ] || exec sleep 1000", 0.3);
    for (int gpu = 0; gpu < 4; gpu++) /* all that may run at once */
        slurm_caps_set(lab.caps, gpu, "hangs", 0, 100);
    slurm_caps_set(lab.caps, 9, "well", 0, 100);
    says(&lab, "hangs 0 100\nhangs 0 100\nhangs 0 100\nhangs 0 100\nwell 0 100\n");
    assert_true(clock_wall_s() - began_s >= 0.3);
    lab_end(&lab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_called_with_node_gpu_and_watts),
        cmocka_unit_test(only_the_newest_wish_of_a_gpu_counts),
        cmocka_unit_test(one_that_hangs_is_killed_and_keeps_nobody_waiting),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
