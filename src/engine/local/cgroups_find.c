/* cgroups_find.c - finds hierarchies and makes our folder in them, see cgroups_find.h
 *
 * cgroups.c calls it once when an engine opens. */
#include "engine/local/cgroups_find.h"

#include "base/file.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE_SIZE 8192
/* In v2 a group with processes of its own cannot limit groups below it, so the engine's
 * process steps aside into this one. */
#define SELF_GROUP "corgi-self"

struct mount {
    int version;
    unsigned roles;
    char root[PATH_MAX]; /* the part of the hierarchy that is mounted */
    char point[PATH_MAX];
};

bool cgroups_write(const char *dir, const char *file, const char *text)
{
    char path[PATH_MAX + 64];
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "%s/%s", dir, file);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    n = write(fd, text, strlen(text));
    close(fd);
    return n == (ssize_t)strlen(text);
}

bool cgroups_read(const char *dir, const char *file, char *text, size_t size)
{
    char path[PATH_MAX + 64];

    snprintf(path, sizeof(path), "%s/%s", dir, file);
    return file_head(path, text, size) >= 0;
}

/* Is `word` one of those separated by commas or blanks? */
static bool has_word(const char *list, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = strstr(list, word); at; at = strstr(at + 1, word))
        if ((at == list || strchr(", ", at[-1])) && strchr(", \n", at[length]))
            return true;
    return false;
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
    mount->roles |= has_word(options, "cpu") ? CGROUPS_CPU : 0;
    mount->roles |= has_word(options, "cpuacct") ? CGROUPS_ACCOUNT : 0;
    mount->roles |= has_word(options, "memory") ? CGROUPS_MEMORY : 0;
    return mount->roles != 0;
}

/* The path of this process in the hierarchy, from "7:cpu,cpuacct:/path" or "0::/path". */
static bool own_path(const char *proc, const struct mount *mount, char *path, size_t size)
{
    const char *want = mount->roles & CGROUPS_CPU      ? "cpu"
                       : mount->roles & CGROUPS_MEMORY ? "memory"
                                                       : "cpuacct";
    char name[PATH_MAX], line[LINE_SIZE];
    bool found = false;
    FILE *f;

    snprintf(name, sizeof(name), "%s/self/cgroup", proc);
    f = fopen(name, "re");
    while (f && !found && fgets(line, sizeof(line), f)) {
        char *controllers = strchr(line, ':');
        char *own = controllers ? strchr(controllers + 1, ':') : NULL;

        if (!own)
            continue;
        *own++ = '\0';
        own[strcspn(own, "\n")] = '\0';
        controllers++;
        found = mount->version == 2 ? *controllers == '\0' : has_word(controllers, want);
        if (found && !str_copy(path, size, own))
            found = false;
    }
    if (f)
        fclose(f);
    return found;
}

/* Our group as a folder.  In a container the mount may begin below the root that the
 * path is counted from. */
static bool own_folder(const char *proc, const struct mount *mount, char *dir,
                       size_t size)
{
    char own[PATH_MAX];
    const char *rest = own;
    size_t root = strlen(mount->root);

    if (!own_path(proc, mount, own, sizeof(own)))
        return false;
    if (root > 1 && strncmp(own, mount->root, root) == 0)
        rest = own + root;
    if ((size_t)snprintf(dir, size, "%s%s", mount->point,
                         strcmp(rest, "/") == 0 ? "" : rest) >= size)
        return false;
    return access(dir, X_OK) == 0;
}

static bool is_root_group(const char *dir)
{
    char path[PATH_MAX + 32];

    /* Only the root of a hierarchy has no cgroup.type. */
    snprintf(path, sizeof(path), "%s/cgroup.type", dir);
    return access(path, F_OK) != 0;
}

/* Are we alone in our group?  Others may not be moved, they are not ours. */
static bool alone_in(const char *dir)
{
    char text[4096], self[32];

    snprintf(self, sizeof(self), "%d\n", (int)getpid());
    return cgroups_read(dir, "cgroup.procs", text, sizeof(text)) &&
           strcmp(text, self) == 0;
}

/* Hand the controllers down.  False when none can be. */
static bool hand_down(const char *dir, bool memory, unsigned *roles)
{
    char have[1024] = "";

    cgroups_read(dir, "cgroup.controllers", have, sizeof(have));
    if (has_word(have, "cpu") && cgroups_write(dir, "cgroup.subtree_control", "+cpu"))
        *roles |= CGROUPS_CPU;
    if (memory && has_word(have, "memory") &&
        cgroups_write(dir, "cgroup.subtree_control", "+memory"))
        *roles |= CGROUPS_MEMORY;
    return *roles != 0;
}

static bool step_aside(const char *dir)
{
    char self[PATH_MAX + 32];

    if (is_root_group(dir) || !alone_in(dir))
        return false;
    snprintf(self, sizeof(self), "%s/" SELF_GROUP, dir);
    return (mkdir(self, 0755) == 0 || errno == EEXIST) &&
           cgroups_write(self, "cgroup.procs", "0");
}

static bool make_base(const char *dir, const char *name, struct cgroups_tree *tree)
{
    if ((size_t)snprintf(tree->base, sizeof(tree->base), "%s/%s", dir, name) >=
        sizeof(tree->base))
        return false;
    return mkdir(tree->base, 0755) == 0 || errno == EEXIST;
}

static bool try_v2(char *dir, const char *name, bool memory, struct cgroups_tree *tree)
{
    char path[PATH_MAX + 64];
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
    tree->roles |= CGROUPS_ACCOUNT; /* cpu.stat is there without any controller */
    snprintf(path, sizeof(path), "%s/cgroup.kill", tree->base);
    if (access(path, W_OK) == 0)
        tree->roles |= CGROUPS_KILL;
    return true;
}

static bool try_v1(const char *dir, const char *name, bool memory, unsigned roles,
                   struct cgroups_tree *tree)
{
    char path[PATH_MAX + 64];

    if (!(roles & CGROUPS_CPU) && !(memory && (roles & CGROUPS_MEMORY)))
        return false; /* accounting alone is not worth a folder */
    if (!make_base(dir, name, tree))
        return false;
    snprintf(path, sizeof(path), "%s/cpu.cfs_quota_us", tree->base);
    if ((roles & CGROUPS_CPU) && access(path, W_OK) != 0)
        roles &= ~(unsigned)CGROUPS_CPU; /* a kernel without bandwidth control */
    tree->roles = roles;
    if (roles != 0)
        return true;
    rmdir(tree->base);
    return false;
}

size_t cgroups_find(const char *proc, const char *name, bool memory,
                    struct cgroups_tree *trees, size_t capacity)
{
    char path[PATH_MAX], line[LINE_SIZE], dir[PATH_MAX];
    size_t count = 0;
    FILE *f;

    snprintf(path, sizeof(path), "%s/self/mountinfo", proc);
    f = fopen(path, "re");
    while (f && count < capacity && fgets(line, sizeof(line), f)) {
        struct cgroups_tree *tree = &trees[count];
        struct mount mount;

        if (!parse_mount(line, &mount) || !own_folder(proc, &mount, dir, sizeof(dir)))
            continue;
        *tree = (struct cgroups_tree){.version = mount.version};
        if (mount.version == 2 ? try_v2(dir, name, memory, tree)
                               : try_v1(dir, name, memory, mount.roles, tree))
            count++;
    }
    if (f)
        fclose(f);
    return count;
}
