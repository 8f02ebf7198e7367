/* memory_out.c - see memory_out.h */
#include "probe/memory_out.h"

#include "base/file.h"
#include "base/str.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES 65536

/* The number behind the key at the beginning of a line; -1: there is none. */
static long count_in(const char *path, const char *key)
{
    char *text, *line;
    size_t size;
    long count = -1;

    if (!path[0] || file_read(path, MAX_BYTES, &text, &size, NULL) < 0)
        return -1;
    for (line = text; line && count < 0; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (!strncmp(line, key, strlen(key)) && line[strlen(key)] == ' ')
            count = strtol(line + strlen(key), NULL, 10);
    }
    free(text);
    return count;
}

static bool try_file(struct memory_out *memory, const char *root, const char *path,
                     const char *file)
{
    char name[sizeof(memory->cgroup_file)];

    if ((size_t)snprintf(name, sizeof(name), "%s%s/%s", root, path, file) >= sizeof(name))
        return false;
    memory->cgroup_kills = count_in(name, "oom_kill");
    if (memory->cgroup_kills < 0)
        return false;
    str_copy(memory->cgroup_file, sizeof(memory->cgroup_file), name);
    return true;
}

/* A line of /proc/PID/cgroup is "number:controllers:path"; version 2 has no controllers.
 */
static bool try_line(struct memory_out *memory, char *line)
{
    char *controllers = strchr(line, ':'), *path;

    path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path)
        return false;
    *path++ = '\0';
    if (!strcmp(path, "/"))
        path++;
    if (!controllers[1])
        return try_file(memory, "/sys/fs/cgroup", path, "memory.events") ||
               try_file(memory, "/sys/fs/cgroup/unified", path, "memory.events");
    return strstr(controllers, "memory") &&
           try_file(memory, "/sys/fs/cgroup/memory", path, "memory.oom_control");
}

void memory_out_init(struct memory_out *memory, pid_t pid)
{
    char path[40], *text, *rest, *line;
    size_t size;

    *memory = (struct memory_out){.cgroup_kills = -1};
    memory->machine_kills = count_in("/proc/vmstat", "oom_kill");
    snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
    if (file_read(path, MAX_BYTES, &text, &size, NULL) < 0)
        return;
    rest = text;
    while ((line = strsep(&rest, "\n")) && !try_line(memory, line))
        ;
    free(text);
}

void memory_out_look(struct memory_out *memory)
{
    memory->machine_kills = count_in("/proc/vmstat", "oom_kill");
}

const char *memory_out_killed(const struct memory_out *memory)
{
    if (memory->cgroup_kills >= 0 &&
        count_in(memory->cgroup_file, "oom_kill") > memory->cgroup_kills)
        return "killed by the kernel: its memory limit was reached";
    if (memory->machine_kills >= 0 &&
        count_in("/proc/vmstat", "oom_kill") > memory->machine_kills)
        return "killed, at a time when the kernel killed for want of memory";
    return NULL;
}

struct phrase {
    const char *text;
    const char *meaning;
    bool line_start; /* only at the beginning of a line */
};

static const struct phrase phrases[] = {
    {"CUDA out of memory", "out of GPU memory", false},
    {"CUDA error: out of memory", "out of GPU memory", false},
    {"HIP out of memory", "out of GPU memory", false},
    {"OutOfMemoryError: ", "out of memory", false},
    {"cudaErrorMemoryAllocation", "out of GPU memory", false},
    {"CUDA_ERROR_OUT_OF_MEMORY", "out of GPU memory", false},
    {"CUBLAS_STATUS_ALLOC_FAILED", "out of GPU memory", false},
    {"RESOURCE_EXHAUSTED: Out of memory", "out of GPU memory", false},
    {"OOM when allocating tensor", "out of GPU memory", false},
    {"std::bad_alloc", "out of memory", false},
    {"MemoryError", "out of memory", true},
    {"numpy.core._exceptions._ArrayMemoryError", "out of memory", true},
    {"numpy._core._exceptions._ArrayMemoryError", "out of memory", true},
    {"java.lang.OutOfMemoryError", "out of memory", false},
    {"Cannot allocate memory", "out of memory", false},
    {"memory allocation of ", "out of memory", true},
    {"out of memory", "out of memory", true},
    {"Out of memory", "out of memory", true},
};

const char *memory_out_said(const char *text, size_t length)
{
    for (size_t i = 0; i < sizeof(phrases) / sizeof(phrases[0]); i++) {
        const char *at = memmem(text, length, phrases[i].text, strlen(phrases[i].text));

        if (at && (!phrases[i].line_start || at == text || at[-1] == '\n'))
            return phrases[i].meaning;
    }
    return NULL;
}
