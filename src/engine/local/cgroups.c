/* cgroups.c - groups in every hierarchy that may be used, see cgroups.h
 *
 * local.c opens it: the hierarchies this process may build in are found by reading
 * /proc/self/mountinfo and /proc/self/cgroup, and by trying.  cpu_quota.c makes groups
 * and sets their limits, start.c puts probes into them, watch_jobs.c and stop.c read
 * their counts and kill them, adopt.c lists them. */
#include "engine/local/cgroups.h"

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
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

/* What a process aside may use: to copy a loud job's output takes it half a core. */
#define ASIDE_CORES 0.5
#define ASIDE_BYTES 268435456.0
#define ASIDE_TASKS 64

#define LINE_SIZE   8192
/* In v2 a group with processes of its own cannot limit groups below it, so the engine's
 * process steps aside into this one. */
#define SELF_GROUP "corgi-self"

enum role {
    ROLE_CPU = 1,
    ROLE_MEMORY = 2,
    ROLE_ACCOUNT = 4, /* counts processor time */
    ROLE_KILL = 8,    /* has cgroup.kill */
    ROLE_PIDS = 16,   /* bounds processes and threads */
};

struct tree {            /* a hierarchy in which our folder could be made */
    int version;         /* 1 or 2 */
    unsigned roles;      /* bits of enum role */
    char base[PATH_MAX]; /* our folder */
};

struct cgroups {
    size_t count;
    struct tree trees[CGROUPS_MAX];
    char text[160];
};

/* ---- finding ----------------------------------------------------------------------- */

struct mount {
    int version;
    unsigned roles;
    char root[PATH_MAX]; /* the part of the hierarchy that is mounted */
    char point[PATH_MAX];
};

struct path {
    char text[PATH_MAX + 200];
};

static struct path join(const char *dir, const char *name)
{
    struct path path;

    snprintf(path.text, sizeof(path.text), "%.*s/%.180s", PATH_MAX, dir, name);
    return path;
}

/* Write a text to a file of a group; false when the kernel refuses. */
static bool write_text(const char *dir, const char *file, const char *text)
{
    int fd = open(join(dir, file).text, O_WRONLY | O_CLOEXEC);
    ssize_t n;

    if (fd < 0)
        return false;
    n = write(fd, text, strlen(text));
    close(fd);
    return n == (ssize_t)strlen(text);
}

static bool make_folder(const char *path)
{
    return mkdir(path, 0755) == 0 || errno == EEXIST;
}

/* "36 35 0:31 /root /mount/point opts ... - fstype source superopts" */
static bool parse_mount(const char *line, struct mount *mount)
{
    const char *dash = strstr(line, " - ");
    char type[64], source[256], options[1024];

    if (!dash ||
        sscanf(line, "%*s %*s %*s %4095s %4095s", mount->root, mount->point) != 2 ||
        sscanf(dash + 3, "%63s %255s %1023s", type, source, options) != 3)
        return false;
    mount->roles = 0;
    if (strcmp(type, "cgroup2") == 0) {
        mount->version = 2;
        return true;
    }
    if (strcmp(type, "cgroup") != 0)
        return false;
    mount->version = 1;
    mount->roles |= str_in_list(options, ',', "cpu") ? ROLE_CPU : 0;
    mount->roles |= str_in_list(options, ',', "cpuacct") ? ROLE_ACCOUNT : 0;
    mount->roles |= str_in_list(options, ',', "memory") ? ROLE_MEMORY : 0;
    mount->roles |= str_in_list(options, ',', "pids") ? ROLE_PIDS : 0;
    return mount->roles != 0;
}

/* The path of this process in the hierarchy, from "7:cpu,cpuacct:/path" or "0::/path". */
static bool own_path(const char *proc, const struct mount *mount, char *path, size_t size)
{
    const char *want = mount->roles & ROLE_CPU      ? "cpu"
                       : mount->roles & ROLE_MEMORY ? "memory"
                       : mount->roles & ROLE_PIDS   ? "pids"
                                                    : "cpuacct";
    char name[PATH_MAX], line[LINE_SIZE];
    bool found = false;
    FILE *f;

    snprintf(name, sizeof(name), "%s/self/cgroup", proc);
    f = fopen(name, "re");
    while (f && !found && fgets(line, sizeof(line), f)) {
        char *rest = line;
        const char *controllers = (strsep(&rest, ":"), strsep(&rest, ":"));

        found = rest &&
                (mount->version == 2 ? *controllers == '\0'
                                     : str_in_list(controllers, ',', want)) &&
                str_copy(path, size, strsep(&rest, "\n"));
    }
    if (f)
        fclose(f);
    return found;
}

/* Our group as a folder.  In a container the mount may begin below the root that the
 * path is counted from. */
static bool own_folder(const char *proc, const struct mount *mount, char dir[PATH_MAX])
{
    char own[PATH_MAX];
    const char *rest = own;
    size_t root = strlen(mount->root);

    if (!own_path(proc, mount, own, sizeof(own)))
        return false;
    if (root > 1 && strncmp(own, mount->root, root) == 0)
        rest = own + root;
    return snprintf(dir, PATH_MAX, "%s%s", mount->point,
                    strcmp(rest, "/") == 0 ? "" : rest) < PATH_MAX &&
           access(dir, X_OK) == 0;
}

/* Are we alone in our group?  Others may not be moved, they are not ours. */
static bool alone_in(const char *dir)
{
    char text[4096], self[32];

    snprintf(self, sizeof(self), "%d\n", (int)getpid());
    return file_head(join(dir, "cgroup.procs").text, text, sizeof(text)) >= 0 &&
           strcmp(text, self) == 0;
}

/* Hand the controllers down.  False when none can be. */
static bool hand_down(const char *dir, bool memory, unsigned *roles)
{
    char have[1024] = "";

    file_head(join(dir, "cgroup.controllers").text, have, sizeof(have));
    have[strcspn(have, "\n")] = '\0';
    if (str_in_list(have, ' ', "cpu") &&
        write_text(dir, "cgroup.subtree_control", "+cpu"))
        *roles |= ROLE_CPU;
    if (memory && str_in_list(have, ' ', "memory") &&
        write_text(dir, "cgroup.subtree_control", "+memory"))
        *roles |= ROLE_MEMORY;
    if (str_in_list(have, ' ', "pids") &&
        write_text(dir, "cgroup.subtree_control", "+pids"))
        *roles |= ROLE_PIDS;
    return *roles != 0;
}

static bool step_aside(const char *dir)
{
    struct path self = join(dir, SELF_GROUP);

    /* Only the root of a hierarchy has no cgroup.type. */
    return access(join(dir, "cgroup.type").text, F_OK) == 0 && alone_in(dir) &&
           make_folder(self.text) && write_text(self.text, "cgroup.procs", "0");
}

static bool make_base(const char *dir, const char *name, struct tree *tree)
{
    return str_copy(tree->base, sizeof(tree->base), join(dir, name).text) &&
           make_folder(tree->base);
}

static bool try_v2(char *dir, const char *name, bool memory, struct tree *tree)
{
    char *slash = strrchr(dir, '/');

    if (slash && strcmp(slash, "/" SELF_GROUP) == 0)
        *slash = '\0'; /* an engine before us in this process stepped aside already */
    if (!make_base(dir, name, tree))
        return false;
    if (hand_down(dir, memory, &tree->roles) ||
        (step_aside(dir) && hand_down(dir, memory, &tree->roles))) {
        unsigned there = 0;

        hand_down(tree->base, memory, &there);
        tree->roles &= there;
    }
    tree->roles |= ROLE_ACCOUNT; /* cpu.stat is there without any controller */
    if (access(join(tree->base, "cgroup.kill").text, W_OK) == 0)
        tree->roles |= ROLE_KILL;
    return true;
}

static bool try_v1(const char *dir, const char *name, bool memory, unsigned roles,
                   struct tree *tree)
{
    if (!(roles & (ROLE_CPU | ROLE_PIDS)) && !(memory && (roles & ROLE_MEMORY)))
        return false; /* accounting alone is not worth a folder */
    if (!make_base(dir, name, tree))
        return false;
    if ((roles & ROLE_CPU) &&
        access(join(tree->base, "cpu.cfs_quota_us").text, W_OK) != 0)
        roles &= ~(unsigned)ROLE_CPU; /* a kernel without bandwidth control */
    tree->roles = roles;
    if (roles != 0)
        return true;
    rmdir(tree->base);
    return false;
}

/* Fills the trees in which our folder could be made; returns how many. */
static size_t find_trees(const char *proc, const char *name, bool memory,
                         struct tree trees[CGROUPS_MAX])
{
    char path[PATH_MAX], line[LINE_SIZE], dir[PATH_MAX];
    size_t count = 0;
    FILE *f;

    snprintf(path, sizeof(path), "%s/self/mountinfo", proc);
    f = fopen(path, "re");
    while (f && count < CGROUPS_MAX && fgets(line, sizeof(line), f)) {
        struct tree *tree = &trees[count];
        struct mount mount;

        if (!parse_mount(line, &mount) || !own_folder(proc, &mount, dir))
            continue;
        *tree = (struct tree){.version = mount.version};
        if (mount.version == 2 ? try_v2(dir, name, memory, tree)
                               : try_v1(dir, name, memory, mount.roles, tree))
            count++;
    }
    if (f)
        fclose(f);
    return count;
}

/* ---- groups ------------------------------------------------------------------------ */

static const struct tree *with_role(const struct cgroups *g, unsigned role)
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
    } names[] = {{ROLE_CPU, "cpu"}, {ROLE_MEMORY, "memory"}, {ROLE_KILL, "kill"}};
    size_t used = 0;

    str_copy(g->text, sizeof(g->text), "none");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const struct tree *tree = with_role(g, names[i].role);

        if (tree)
            used += (size_t)snprintf(g->text + used, sizeof(g->text) - used, "%s%s v%d",
                                     used ? ", " : "", names[i].name, tree->version);
    }
}

struct cgroups *cgroups_open(const struct cgroups_options *options)
{
    struct cgroups *g = mem_new(struct cgroups);

    g->count = find_trees(options->proc ? options->proc : "/proc", options->name,
                          options->memory, g->trees);
    describe(g);
    return g;
}

void cgroups_close(struct cgroups *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < g->count; i++) {
        char *const roots[] = {g->trees[i].base, NULL};
        FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
        const FTSENT *at;

        while (walk && (at = fts_read(walk)))
            if (at->fts_info == FTS_DP) /* what is below it has gone */
                rmdir(at->fts_path);    /* fails when somebody is in it, as it should */
        if (walk)
            fts_close(walk);
    }
    free(g);
}

bool cgroups_limit_cpu(const struct cgroups *g)
{
    return with_role(g, ROLE_CPU) != NULL;
}

bool cgroups_limit_memory(const struct cgroups *g)
{
    return with_role(g, ROLE_MEMORY) != NULL;
}

const char *cgroups_text(const struct cgroups *g)
{
    return g->text;
}

static int make_in(const struct tree *tree, const char *path, struct err *err)
{
    struct path dir = join(tree->base, path);
    char *slash = strchr(dir.text + strlen(tree->base) + 1, '/');

    if (slash) {
        *slash = '\0';
        if (!make_folder(dir.text))
            return err_sys(err, "cannot make the cgroup %s", dir.text);
        /* Limits stand on the device's group; the jobs below need only be counted. */
        if (tree->version == 2 && (tree->roles & ROLE_MEMORY))
            write_text(dir.text, "cgroup.subtree_control", "+memory");
        if (tree->version == 2 && (tree->roles & ROLE_CPU))
            write_text(dir.text, "cgroup.subtree_control", "+cpu");
        if (tree->version == 2 && (tree->roles & ROLE_PIDS))
            write_text(dir.text, "cgroup.subtree_control", "+pids");
        *slash = '/';
    }
    return make_folder(dir.text) ? 0
                                 : err_sys(err, "cannot make the cgroup %s", dir.text);
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
        rmdir(join(g->trees[i].base, path).text);
}

/* Write a text to a file of the group that each version calls otherwise. */
static bool set(const struct tree *tree, const char *path, const char *v2, const char *v1,
                const char *text)
{
    return write_text(join(tree->base, path).text, tree->version == 2 ? v2 : v1, text);
}

/* The number in a file of a group, behind this name in its lines; NULL: the first. */
static bool number_in(const struct tree *tree, const char *path, const char *file,
                      const char *name, unsigned long long *value)
{
    FILE *f = fopen(join(join(tree->base, path).text, file).text, "re");
    bool found = false;
    char word[64];

    if (f && !name)
        found = fscanf(f, "%llu", value) == 1;
    while (f && name && !found && fscanf(f, "%63s %llu", word, value) == 2)
        found = strcmp(word, name) == 0;
    if (f)
        fclose(f);
    return found;
}

int cgroups_set_cpu(struct cgroups *g, const char *path, double cores, struct err *err)
{
    const struct tree *tree = with_role(g, ROLE_CPU);
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
    const struct tree *tree = with_role(g, ROLE_CPU);
    char text[32];

    if (!tree)
        return;
    snprintf(text, sizeof(text), "%.0f",
             tree->version == 2 ? fmin(100 * times, 10000) : fmin(1024 * times, 262144));
    set(tree, path, "cpu.weight", "cpu.shares", text);
}

int cgroups_set_memory(struct cgroups *g, const char *path, double bytes, struct err *err)
{
    const struct tree *tree = with_role(g, ROLE_MEMORY);
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
    *count = 0;
    for (size_t i = 0; i < g->count; i++) {
        struct path file = join(join(g->trees[i].base, path).text, "cgroup.procs");

        fds[*count] = open(file.text, O_WRONLY | O_CLOEXEC);
        if (fds[*count] < 0) {
            err_sys(err, "cannot open %s", file.text);
            while (*count > 0)
                close(fds[--*count]);
            return -1;
        }
        ++*count;
    }
    return 0;
}

void cgroups_set_tasks(struct cgroups *g, const char *path, int tasks)
{
    const struct tree *tree = with_role(g, ROLE_PIDS);
    char text[32] = "max";

    if (tasks > 0)
        snprintf(text, sizeof(text), "%d", tasks);
    if (tree)
        set(tree, path, "pids.max", "pids.max", text);
}

void cgroups_put_aside(struct cgroups *g, const char *path, pid_t pid)
{
    struct err err;
    char text[32];

    snprintf(text, sizeof(text), "%d", (int)pid);
    if (cgroups_make(g, path, &err) < 0 ||
        cgroups_set_cpu(g, path, ASIDE_CORES, &err) < 0 ||
        cgroups_set_memory(g, path, ASIDE_BYTES, &err) < 0)
        log_warn("cgroup_aside_unbounded", LOG_ERR(&err));
    cgroups_set_tasks(g, path, ASIDE_TASKS);
    for (size_t i = 0; i < g->count; i++)
        set(&g->trees[i], path, "cgroup.procs", "cgroup.procs", text);
}

/* Kills each in the list one by one; how many there were. */
static int kill_listed(const struct tree *tree, const char *path)
{
    FILE *f = fopen(join(join(tree->base, path).text, "cgroup.procs").text, "re");
    int pid, count = 0;

    while (f && fscanf(f, "%d", &pid) == 1)
        if (pid > 1) {
            kill((pid_t)pid, SIGKILL);
            count++;
        }
    if (f)
        fclose(f);
    return count;
}

int cgroups_kill(struct cgroups *g, const char *path)
{
    unsigned long long populated;
    int count = 0;

    for (size_t i = 0; i < g->count && *path; i++) { /* never all that are ours */
        const struct tree *tree = &g->trees[i];
        int here = 0;

        if (!(tree->roles & ROLE_KILL))
            here = kill_listed(tree, path);
        else if (number_in(tree, path, "cgroup.events", "populated", &populated) &&
                 populated == 1)
            here = set(tree, path, "cgroup.kill", "", "1") ? 1 : kill_listed(tree, path);
        if (here > count)
            count = here;
    }
    return count;
}

bool cgroups_cpu_s(const struct cgroups *g, const char *path, double *seconds)
{
    unsigned long long value;

    for (size_t i = 0; i < g->count; i++) {
        const struct tree *tree = &g->trees[i];
        bool v2 = tree->version == 2;

        if ((tree->roles & ROLE_ACCOUNT) &&
            number_in(tree, path, v2 ? "cpu.stat" : "cpuacct.usage",
                      v2 ? "usage_usec" : NULL, &value)) {
            *seconds = (double)value / (v2 ? 1e6 : 1e9);
            return true;
        }
    }
    return false;
}

bool cgroups_oom_kills(const struct cgroups *g, const char *path, uint64_t *kills)
{
    const struct tree *tree = with_role(g, ROLE_MEMORY);
    unsigned long long value;

    if (!tree || !number_in(tree, path,
                            tree->version == 2 ? "memory.events" : "memory.oom_control",
                            "oom_kill", &value))
        return false;
    *kills = value;
    return true;
}

void cgroups_each(struct cgroups *g, void (*visit)(void *ctx, const char *path),
                  void *ctx)
{
    for (size_t i = 0; i < g->count; i++) {
        char *const roots[] = {g->trees[i].base, NULL};
        FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
        const FTSENT *at;

        while (walk && (at = fts_read(walk)))
            if (at->fts_info == FTS_D && at->fts_level == 2 &&
                str_starts(at->fts_name, "job-"))
                visit(ctx, at->fts_path + strlen(roots[0]) + 1);
        if (walk)
            fts_close(walk);
    }
}
