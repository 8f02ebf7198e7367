/* cgroups.c - groups in every hierarchy that may be used, see cgroups.h
 *
 * cpu_quota.c makes groups and sets their limits, start.c puts probes into them,
 * watch_jobs.c and stop.c read their counts and kill them, adopt.c lists them. */
#include "engine/local/cgroups.h"

#include "base/mem.h"
#include "base/str.h"
#include "engine/local/cgroups_find.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Short periods keep a slow device smooth: with 100 ms a job of a quarter of a core would
 * stand still for 75 ms at a time, which shows in short windows of its rate. */
#define PERIOD_US    40000
#define MIN_QUOTA_US 1000 /* the kernel takes no less */
#define PROCS_SIZE   65536
#define ASIDE        "aside"

struct cgroups {
    size_t count;
    struct cgroups_tree trees[CGROUPS_MAX];
    char text[160];
};

static const struct cgroups_tree *with_role(const struct cgroups *g, unsigned role)
{
    for (size_t i = 0; i < g->count; i++)
        if (g->trees[i].roles & role)
            return &g->trees[i];
    return NULL;
}

static void describe(struct cgroups *g)
{
    static const struct {
        unsigned role;
        const char *name;
    } names[] = {
        {CGROUPS_CPU, "cpu"}, {CGROUPS_MEMORY, "memory"}, {CGROUPS_KILL, "kill"}};
    size_t used = 0;

    str_copy(g->text, sizeof(g->text), "none");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const struct cgroups_tree *tree = with_role(g, names[i].role);

        if (tree)
            used += (size_t)snprintf(g->text + used, sizeof(g->text) - used, "%s%s v%d",
                                     used ? ", " : "", names[i].name, tree->version);
    }
}

struct cgroups *cgroups_open(const struct cgroups_options *options)
{
    struct cgroups *g = mem_new(struct cgroups);
    struct err err;

    g->count = cgroups_find(options->proc ? options->proc : "/proc", options->name,
                            options->memory, g->trees, CGROUPS_MAX);
    cgroups_make(g, ASIDE, &err);
    describe(g);
    return g;
}

struct folder {
    char path[PATH_MAX + 128];
};

static struct folder folder_of(const struct cgroups_tree *tree, const char *path)
{
    struct folder folder;

    snprintf(folder.path, sizeof(folder.path), "%s/%s", tree->base, path);
    return folder;
}

static void remove_visited(void *ctx, const char *path)
{
    cgroups_remove(ctx, path); /* fails when somebody is in it, as it should */
}

void cgroups_close(struct cgroups *g)
{
    if (!g)
        return;
    cgroups_each(g, remove_visited, g);
    cgroups_remove(g, ASIDE);
    for (size_t i = 0; i < g->count; i++) {
        DIR *dir = opendir(g->trees[i].base);
        const struct dirent *entry;

        while (dir && (entry = readdir(dir)))
            if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
                unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
        if (dir)
            closedir(dir);
        rmdir(g->trees[i].base);
    }
    free(g);
}

bool cgroups_limit_cpu(const struct cgroups *g)
{
    return with_role(g, CGROUPS_CPU) != NULL;
}

bool cgroups_limit_memory(const struct cgroups *g)
{
    return with_role(g, CGROUPS_MEMORY) != NULL;
}

const char *cgroups_text(const struct cgroups *g)
{
    return g->text;
}

static int make_in(const struct cgroups_tree *tree, const char *path, struct err *err)
{
    char dir[PATH_MAX + 128];
    const char *slash = strchr(path, '/');

    if (slash) {
        snprintf(dir, sizeof(dir), "%s/%.*s", tree->base, (int)(slash - path), path);
        if (mkdir(dir, 0755) < 0 && errno != EEXIST)
            return err_sys(err, "cannot make the cgroup %s", dir);
        /* Limits stand on the device's group; the jobs below need only be counted. */
        if (tree->version == 2 && (tree->roles & CGROUPS_MEMORY))
            cgroups_write(dir, "cgroup.subtree_control", "+memory");
        if (tree->version == 2 && (tree->roles & CGROUPS_CPU))
            cgroups_write(dir, "cgroup.subtree_control", "+cpu");
    }
    snprintf(dir, sizeof(dir), "%s/%s", tree->base, path);
    if (mkdir(dir, 0755) < 0 && errno != EEXIST)
        return err_sys(err, "cannot make the cgroup %s", dir);
    return 0;
}

int cgroups_make(struct cgroups *g, const char *path, struct err *err)
{
    for (size_t i = 0; i < g->count; i++)
        if (make_in(&g->trees[i], path, err) < 0)
            return -1;
    return 0;
}

void cgroups_remove(struct cgroups *g, const char *path)
{
    for (size_t i = 0; i < g->count; i++)
        rmdir(folder_of(&g->trees[i], path).path);
}

/* Write a text to a file of the group that each version calls otherwise. */
static bool set(const struct cgroups_tree *tree, const char *path, const char *v2,
                const char *v1, const char *text)
{
    return cgroups_write(folder_of(tree, path).path, tree->version == 2 ? v2 : v1, text);
}

int cgroups_set_cpu(struct cgroups *g, const char *path, double cores, struct err *err)
{
    const struct cgroups_tree *tree = with_role(g, CGROUPS_CPU);
    long quota = (long)(cores * PERIOD_US);
    char text[64], period[16];
    bool done = true;

    if (!tree)
        return 0;
    if (quota < MIN_QUOTA_US)
        quota = MIN_QUOTA_US;
    snprintf(period, sizeof(period), "%d", PERIOD_US);
    if (tree->version == 1) {
        done = set(tree, path, NULL, "cpu.cfs_period_us", period);
        snprintf(text, sizeof(text), "%ld", cores > 0 ? quota : -1L);
    } else if (cores > 0) {
        snprintf(text, sizeof(text), "%ld %s", quota, period);
    } else {
        snprintf(text, sizeof(text), "max");
    }
    if (done && set(tree, path, "cpu.max", "cpu.cfs_quota_us", text))
        return 0;
    return err_sys(err, "cannot limit the processor time of %s", path);
}

void cgroups_set_weight(struct cgroups *g, const char *path, double times)
{
    const struct cgroups_tree *tree = with_role(g, CGROUPS_CPU);
    char text[32];

    if (!tree)
        return;
    snprintf(text, sizeof(text), "%.0f",
             tree->version == 2 ? fmin(100 * times, 10000) : fmin(1024 * times, 262144));
    set(tree, path, "cpu.weight", "cpu.shares", text);
}

int cgroups_set_memory(struct cgroups *g, const char *path, double bytes, struct err *err)
{
    const struct cgroups_tree *tree = with_role(g, CGROUPS_MEMORY);
    char text[64];

    if (!tree)
        return 0;
    snprintf(text, sizeof(text), "%.0f", bytes);
    if (!set(tree, path, "memory.max", "memory.limit_in_bytes", text))
        return err_sys(err, "cannot limit the memory of %s", path);
    /* Memory on disk would make the limit a slow-down.  Not every kernel counts swap. */
    set(tree, path, "memory.swap.max", "memory.memsw.limit_in_bytes",
        tree->version == 2 ? "0" : text);
    return 0;
}

int cgroups_enter_fds(struct cgroups *g, const char *path, int fds[CGROUPS_MAX],
                      size_t *count, struct err *err)
{
    char file[PATH_MAX + 160];

    *count = 0;
    for (size_t i = 0; i < g->count; i++) {
        snprintf(file, sizeof(file), "%s/%s/cgroup.procs", g->trees[i].base, path);
        fds[*count] = open(file, O_WRONLY | O_CLOEXEC);
        if (fds[*count] < 0) {
            err_sys(err, "cannot open %s", file);
            while (*count > 0)
                close(fds[--*count]);
            return -1;
        }
        ++*count;
    }
    return 0;
}

void cgroups_put(struct cgroups *g, const char *path, pid_t pid)
{
    char text[32];

    snprintf(text, sizeof(text), "%d", (int)pid);
    for (size_t i = 0; i < g->count; i++)
        cgroups_write(folder_of(&g->trees[i], *path ? path : ASIDE).path, "cgroup.procs",
                      text);
}

/* Kills each in the list one by one; how many there were. */
static int kill_listed(const char *dir)
{
    char *text = mem_array(char, PROCS_SIZE);
    char *save = NULL;
    int count = 0;

    if (cgroups_read(dir, "cgroup.procs", text, PROCS_SIZE))
        for (char *word = strtok_r(text, "\n", &save); word;
             word = strtok_r(NULL, "\n", &save)) {
            long pid = strtol(word, NULL, 10);

            if (pid > 1) {
                kill((pid_t)pid, SIGKILL);
                count++;
            }
        }
    free(text);
    return count;
}

int cgroups_kill(struct cgroups *g, const char *path)
{
    char events[256];
    int count = 0;

    for (size_t i = 0; i < g->count && *path; i++) { /* never all that are ours */
        struct folder dir = folder_of(&g->trees[i], path);
        int here = 0;

        if (!(g->trees[i].roles & CGROUPS_KILL))
            here = kill_listed(dir.path);
        else if (cgroups_read(dir.path, "cgroup.events", events, sizeof(events)) &&
                 strstr(events, "populated 1"))
            here =
                cgroups_write(dir.path, "cgroup.kill", "1") ? 1 : kill_listed(dir.path);
        if (here > count)
            count = here;
    }
    return count;
}

/* The number behind "name " at the start of a line. */
static bool keyed_number(const char *text, const char *name, unsigned long long *value)
{
    size_t length = strlen(name);

    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, length) == 0 && line[length] == ' ')
            return sscanf(line + length, " %llu", value) == 1;
    }
    return false;
}

bool cgroups_cpu_s(const struct cgroups *g, const char *path, double *seconds)
{
    char text[2048];
    unsigned long long value;

    for (size_t i = 0; i < g->count; i++) {
        bool v2 = g->trees[i].version == 2;

        if (!(g->trees[i].roles & CGROUPS_ACCOUNT) ||
            !cgroups_read(folder_of(&g->trees[i], path).path,
                          v2 ? "cpu.stat" : "cpuacct.usage", text, sizeof(text)))
            continue;
        if (v2 ? keyed_number(text, "usage_usec", &value)
               : sscanf(text, "%llu", &value) == 1) {
            *seconds = (double)value / (v2 ? 1e6 : 1e9);
            return true;
        }
    }
    return false;
}

bool cgroups_oom_kills(const struct cgroups *g, const char *path, uint64_t *kills)
{
    const struct cgroups_tree *tree = with_role(g, CGROUPS_MEMORY);
    char text[1024];
    unsigned long long value;

    if (!tree ||
        !cgroups_read(folder_of(tree, path).path,
                      tree->version == 2 ? "memory.events" : "memory.oom_control", text,
                      sizeof(text)) ||
        !keyed_number(text, "oom_kill", &value))
        return false;
    *kills = value;
    return true;
}

static void each_job(const char *base, const char *device,
                     void (*visit)(void *ctx, const char *path), void *ctx)
{
    char path[PATH_MAX + 300];
    const struct dirent *entry;
    DIR *dir;

    snprintf(path, sizeof(path), "%s/%s", base, device);
    dir = opendir(path);
    while (dir && (entry = readdir(dir)))
        if (entry->d_type == DT_DIR && str_starts(entry->d_name, "job-")) {
            snprintf(path, sizeof(path), "%s/%s", device, entry->d_name);
            visit(ctx, path);
        }
    if (dir)
        closedir(dir);
}

void cgroups_each(const struct cgroups *g, void (*visit)(void *ctx, const char *path),
                  void *ctx)
{
    for (size_t i = 0; i < g->count; i++) {
        DIR *dir = opendir(g->trees[i].base);
        const struct dirent *entry;

        while (dir && (entry = readdir(dir)))
            if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
                each_job(g->trees[i].base, entry->d_name, visit, ctx);
        if (dir)
            closedir(dir);
    }
}
