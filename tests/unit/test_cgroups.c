/* test_cgroups.c - what is written to which file of which hierarchy
 *
 * The hierarchies are plain folders in a temporary place, named by a mountinfo of our
 * own: what the kernel would do with the files is for tests/scenario/local_quota.c. */
#include "engine/local/cgroups.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct place {
    char dir[64];
};

static int set_up(void **state)
{
    struct place *p = mem_new(struct place);

    str_copy(p->dir, sizeof(p->dir), "/tmp/corgi-cgroups-XXXXXX");
    *state = p;
    return mkdtemp(p->dir) ? 0 : -1;
}

static int tear_down(void **state)
{
    struct place *p = *state;
    char command[100];

    snprintf(command, sizeof(command), "rm -rf '%s'", p->dir);
    free(p);
    return system(command);
}

static void put(const struct place *p, const char *path, const char *text)
{
    char file[300];
    struct err err;
    char *slash;

    snprintf(file, sizeof(file), "%s/%s", p->dir, path);
    slash = strrchr(file, '/');
    *slash = '\0';
    assert_int_equal(file_make_dirs(file, &err), 0);
    *slash = '/';
    assert_int_equal(file_write(file, text, strlen(text), &err), 0);
}

static void assert_holds(const struct place *p, const char *path, const char *text)
{
    char file[300];
    char *bytes;
    size_t count;
    struct err err;

    snprintf(file, sizeof(file), "%s/%s", p->dir, path);
    if (file_read(file, 4096, &bytes, &count, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(bytes, text);
    free(bytes);
}

static struct cgroups *opened(const struct place *p, bool memory)
{
    char proc[100];

    snprintf(proc, sizeof(proc), "%s/proc", p->dir);
    return cgroups_open(
        &(struct cgroups_options){.name = "corgi-x", .memory = memory, .proc = proc});
}

/* A machine with v2 alone, this process in /system.slice/corgid.service. */
static void make_v2(const struct place *p)
{
    static const char *const above[] = {"cgroup.controllers",
                                        "cgroup.subtree_control",
                                        "cgroup.type",
                                        "cgroup.kill",
                                        "cpu.max",
                                        "cpu.weight",
                                        "cgroup.procs"};
    static const char *const groups[] = {"", "/corgi-x", "/corgi-x/device-0"};
    char text[300], path[200];

    snprintf(text, sizeof(text), "30 20 0:26 / %s/cg rw - cgroup2 cgroup2 rw\n", p->dir);
    put(p, "proc/self/mountinfo", text);
    put(p, "proc/self/cgroup", "0::/system.slice/corgid.service\n");
    for (size_t g = 0; g < 3; g++)
        for (size_t i = 0; i < sizeof(above) / sizeof(above[0]); i++) {
            snprintf(path, sizeof(path), "cg/system.slice/corgid.service%s/%s", groups[g],
                     above[i]);
            put(p, path, i == 0 ? "cpuset cpu io memory pids\n" : "");
        }
}

#define SERVICE "cg/system.slice/corgid.service/corgi-x"

CASE(v2_limits_by_cpu_max)
{
    const struct place *p = *state;
    struct cgroups *g;
    struct err err = {0};

    make_v2(p);
    g = opened(p, false);
    assert_true(cgroups_limit_cpu(g) && !cgroups_limit_memory(g));
    assert_string_equal(cgroups_text(g), "cpu v2, kill v2");
    assert_int_equal(cgroups_make(g, "device-0/job-7-1", &err), 0);
    assert_int_equal(cgroups_set_cpu(g, "device-0", 0.5, &err), 0);
    assert_holds(p, SERVICE "/device-0/cpu.max", "20000 40000");
    cgroups_set_weight(g, "device-0", 2);
    assert_holds(p, SERVICE "/device-0/cpu.weight", "200");
    put(p, SERVICE "/device-0/cpu.max", "");
    assert_int_equal(cgroups_set_cpu(g, "device-0", 0, &err), 0);
    assert_holds(p, SERVICE "/device-0/cpu.max", "max");
    cgroups_close(g);
}

CASE(v2_kills_only_where_somebody_is)
{
    const struct place *p = *state;
    struct cgroups *g;
    struct err err = {0};

    make_v2(p);
    g = opened(p, false);
    assert_int_equal(cgroups_make(g, "device-0/job-7-1", &err), 0);
    put(p, SERVICE "/device-0/job-7-1/cgroup.kill", "");
    put(p, SERVICE "/device-0/job-7-1/cgroup.events", "populated 0\nfrozen 0\n");
    assert_int_equal(cgroups_kill(g, "device-0/job-7-1"), 0);
    assert_holds(p, SERVICE "/device-0/job-7-1/cgroup.kill", "");
    put(p, SERVICE "/device-0/job-7-1/cgroup.events", "populated 1\nfrozen 0\n");
    assert_int_equal(cgroups_kill(g, "device-0/job-7-1"), 1);
    assert_holds(p, SERVICE "/device-0/job-7-1/cgroup.kill", "1");
    assert_int_equal(cgroups_kill(g, ""), 0);
    cgroups_close(g);
}

CASE(v2_tells_time_and_memory_kills)
{
    const struct place *p = *state;
    struct cgroups *g;
    struct err err = {0};
    double seconds = 0;
    uint64_t kills = 0;

    make_v2(p);
    put(p, SERVICE "/device-0/memory.max", "");
    g = opened(p, true);
    assert_true(cgroups_limit_memory(g));
    assert_int_equal(cgroups_make(g, "device-0/job-7-1", &err), 0);
    put(p, SERVICE "/device-0/job-7-1/cpu.stat",
        "usage_usec 2500000\nuser_usec 2000000\nsystem_usec 500000\n");
    put(p, SERVICE "/device-0/job-7-1/memory.events", "low 0\noom 2\noom_kill 1\n");
    assert_true(cgroups_cpu_s(g, "device-0/job-7-1", &seconds));
    assert_true(seconds == 2.5);
    assert_true(cgroups_oom_kills(g, "device-0/job-7-1", &kills));
    assert_int_equal(kills, 1);
    assert_int_equal(cgroups_set_memory(g, "device-0", 1.5e9, &err), 0);
    assert_holds(p, SERVICE "/device-0/memory.max", "1500000000");
    assert_false(cgroups_cpu_s(g, "device-9/job-1-1", &seconds));
    cgroups_close(g);
}

/* v1 controllers, mounted from below their root as in a container. */
CASE(v1_limits_by_quota_and_period)
{
    const struct place *p = *state;
    struct cgroups *g;
    struct err err = {0};
    char text[600];

    snprintf(text, sizeof(text),
             "31 20 0:27 /box/7 %s/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
             "32 20 0:28 /box/7 %s/memory rw - cgroup cgroup rw,memory\n"
             "33 20 0:29 / %s/cpuset rw - cgroup cgroup rw,cpuset\n",
             p->dir, p->dir, p->dir);
    put(p, "proc/self/mountinfo", text);
    put(p, "proc/self/cgroup", "4:memory:/box/7\n3:cpuset:/\n2:cpu,cpuacct:/box/7\n");
    put(p, "cpu/corgi-x/cpu.cfs_quota_us", "-1");
    put(p, "cpu/corgi-x/device-1/cpu.cfs_quota_us", "");
    put(p, "cpu/corgi-x/device-1/cpu.cfs_period_us", "");
    put(p, "memory/corgi-x/device-1/memory.limit_in_bytes", "");
    put(p, "memory/corgi-x/device-1/memory.memsw.limit_in_bytes", "");
    put(p, "cpuset/tasks", "");
    g = opened(p, true);
    assert_string_equal(cgroups_text(g), "cpu v1, memory v1");
    assert_int_equal(cgroups_set_cpu(g, "device-1", 0.25, &err), 0);
    assert_holds(p, "cpu/corgi-x/device-1/cpu.cfs_quota_us", "10000");
    assert_holds(p, "cpu/corgi-x/device-1/cpu.cfs_period_us", "40000");
    assert_int_equal(cgroups_set_memory(g, "device-1", 1e9, &err), 0);
    assert_holds(p, "memory/corgi-x/device-1/memory.limit_in_bytes", "1000000000");
    cgroups_close(g);
}

CASE(nothing_is_used_where_nothing_may_be)
{
    const struct place *p = *state;
    struct cgroups *g = opened(p, true);
    struct err err = {0};
    int fds[CGROUPS_MAX];
    size_t count = 9;

    assert_string_equal(cgroups_text(g), "none");
    assert_false(cgroups_limit_cpu(g));
    assert_string_equal(cgroups_text(g), "none");
    assert_int_equal(cgroups_make(g, "device-0/job-1-1", &err), 0);
    assert_int_equal(cgroups_set_cpu(g, "device-0", 0.5, &err), 0);
    assert_int_equal(cgroups_enter_fds(g, "device-0/job-1-1", fds, &count, &err), 0);
    assert_int_equal(count, 0);
    assert_int_equal(cgroups_kill(g, "device-0/job-1-1"), 0);
    cgroups_close(g);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(v2_limits_by_cpu_max),
        TEST(v2_kills_only_where_somebody_is),
        TEST(v2_tells_time_and_memory_kills),
        TEST(v1_limits_by_quota_and_period),
        TEST(nothing_is_used_where_nothing_may_be),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
