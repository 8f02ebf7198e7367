/* torch.c - times of the same network under PyTorch: bench_estimate.c asks where it is
 * installed */
#include "lab/bench/torch.h"

#include "base/json.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM   "corgi-bench-torch"
#define ANSWER    256
#define MS_MAX    1e6
#define ARGUMENTS 3

/* Beside the program that runs: never whatever happens to be in PATH. */
static bool find_program(char *path, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", path, size - 1);
    char *name;

    if (length <= 0)
        return false;
    path[length] = 0;
    name = strrchr(path, '/');
    if (!name || (size_t)(name + 1 - path) + sizeof(PROGRAM) > size)
        return false;
    strcpy(name + 1, PROGRAM);
    return access(path, X_OK) == 0;
}

/* Run it and read what it prints; false unless it ended well. */
static bool run(const char *path, int cells, char answer[ANSWER])
{
    int ends[2], status;
    char count[16];
    size_t used = 0;
    ssize_t got;
    pid_t pid;

    snprintf(count, sizeof(count), "%d", cells);
    if (pipe(ends) < 0)
        return false;
    pid = fork();
    if (pid == 0) {
        char *const arguments[ARGUMENTS] = {(char[]){PROGRAM}, count, NULL};

        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execv(path, arguments);
        _exit(127);
    }
    close(ends[1]);
    while (pid > 0 && used + 1 < ANSWER &&
           (got = read(ends[0], answer + used, ANSWER - 1 - used)) > 0)
        used += (size_t)got;
    answer[used] = 0;
    close(ends[0]);
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

bool torch_measure(int cells, struct torch_times *times)
{
    char path[PATH_MAX], answer[ANSWER];
    const struct json_value *root;
    struct torch_times found;
    struct json_doc *doc;
    bool good;

    if (!find_program(path, sizeof(path)) || !run(path, cells, answer) ||
        json_doc_parse(&doc, answer, strlen(answer), PROGRAM, NULL) < 0)
        return false;
    root = json_doc_root(doc);
    good = json_value_need_number(root, "network_ms", 0, MS_MAX, &found.network_ms,
                                  NULL) == 0 &&
           json_value_need_number(root, "train_step_ms", 0, MS_MAX, &found.train_step_ms,
                                  NULL) == 0;
    if (good)
        *times = found;
    json_doc_destroy(doc);
    return good;
}
