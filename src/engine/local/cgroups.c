/* cgroups.c - see cgroups.h */
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

static void folder(const struct cgroups_tree *tree, const char *path, char *dir,
                   size_t size)
{
    snprintf(dir, size, "%s/%s", tree->base, path);
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

bool cgroups_hold(const struct cgroups *g)
{
    return g->count > 0;
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
    folder(tree, path, dir, sizeof(dir));
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
    char dir[PATH_MAX + 128];

    for (size_t i = 0; i < g->count; i++) {
        folder(&g->trees[i], path, dir, sizeof(dir));
        rmdir(dir);
    }
}

int cgroups_set_cpu(struct cgroups *g, const char *path, double cores, struct err *err)
{
    const struct cgroups_tree *tree = with_role(g, CGROUPS_CPU);
    long quota = (long)(cores * PERIOD_US);
    char dir[PATH_MAX + 128], text[64];
    bool done;

    if (!tree)
        return 0;
    folder(tree, path, dir, sizeof(dir));
    if (cores > 0 && quota < MIN_QUOTA_US)
        quota = MIN_QUOTA_US;
    if (tree->version == 2) {
        if (cores > 0)
            snprintf(text, sizeof(text), "%ld %d", quota, PERIOD_US);
        else
            snprintf(text, sizeof(text), "max");
        done = cgroups_write(dir, "cpu.max", text);
    } else {
        snprintf(text, sizeof(text), "%d", PERIOD_US);
        done = cgroups_write(dir, "cpu.cfs_period_us", text);
        snprintf(text, sizeof(text), "%ld", cores > 0 ? quota : -1L);
        done = done && cgroups_write(dir, "cpu.cfs_quota_us", text);
    }
    return done ? 0 : err_sys(err, "cannot limit the processor time of %s", dir);
}

void cgroups_set_weight(struct cgroups *g, const char *path, double times)
{
    const struct cgroups_tree *tree = with_role(g, CGROUPS_CPU);
    char dir[PATH_MAX + 128], text[32];

    if (!tree)
        return;
    folder(tree, path, dir, sizeof(dir));
    snprintf(text, sizeof(text), "%.0f",
             tree->version == 2 ? fmin(100 * times, 10000) : fmin(1024 * times, 262144));
    cgroups_write(dir, tree->version == 2 ? "cpu.weight" : "cpu.shares", text);
}

int cgroups_set_memory(struct cgroups *g, const char *path, double bytes, struct err *err)
{
    const struct cgroups_tree *tree = with_role(g, CGROUPS_MEMORY);
    char dir[PATH_MAX + 128], text[64];
    const char *file;

    if (!tree)
        return 0;
    folder(tree, path, dir, sizeof(dir));
    file = tree->version == 2 ? "memory.max" : "memory.limit_in_bytes";
    snprintf(text, sizeof(text), "%.0f", bytes);
    if (!cgroups_write(dir, file, text))
        return err_sys(err, "cannot limit the memory of %s", dir);
    /* Memory on disk would make the limit a slow-down.  Not every kernel counts swap. */
    if (tree->version == 2)
        cgroups_write(dir, "memory.swap.max", "0");
    else
        cgroups_write(dir, "memory.memsw.limit_in_bytes", text);
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
    char dir[PATH_MAX + 128], text[32];

    snprintf(text, sizeof(text), "%d", (int)pid);
    for (size_t i = 0; i < g->count; i++) {
        folder(&g->trees[i], *path ? path : ASIDE, dir, sizeof(dir));
        cgroups_write(dir, "cgroup.procs", text);
    }
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
    char dir[PATH_MAX + 128], events[256];
    int count = 0;

    for (size_t i = 0; i < g->count && *path; i++) { /* never all that are ours */
        const struct cgroups_tree *tree = &g->trees[i];
        int here = 0;

        folder(tree, path, dir, sizeof(dir));
        if (!(tree->roles & CGROUPS_KILL))
            here = kill_listed(dir);
        else if (cgroups_read(dir, "cgroup.events", events, sizeof(events)) &&
                 strstr(events, "populated 1"))
            here = cgroups_write(dir, "cgroup.kill", "1") ? 1 : kill_listed(dir);
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
    char dir[PATH_MAX + 128], text[2048];
    unsigned long long value;

    for (size_t i = 0; i < g->count; i++) {
        if (!(g->trees[i].roles & CGROUPS_ACCOUNT))
            continue;
        folder(&g->trees[i], path, dir, sizeof(dir));
        if (g->trees[i].version == 2) {
            if (cgroups_read(dir, "cpu.stat", text, sizeof(text)) &&
                keyed_number(text, "usage_usec", &value)) {
                *seconds = (double)value / 1e6;
                return true;
            }
        } else if (cgroups_read(dir, "cpuacct.usage", text, sizeof(text)) &&
                   sscanf(text, "%llu", &value) == 1) {
            *seconds = (double)value / 1e9;
            return true;
        }
    }
    return false;
}

bool cgroups_oom_kills(const struct cgroups *g, const char *path, uint64_t *kills)
{
    const struct cgroups_tree *tree = with_role(g, CGROUPS_MEMORY);
    char dir[PATH_MAX + 128], text[1024];
    unsigned long long value;

    if (!tree)
        return false;
    folder(tree, path, dir, sizeof(dir));
    if (!cgroups_read(dir, tree->version == 2 ? "memory.events" : "memory.oom_control",
                      text, sizeof(text)) ||
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
