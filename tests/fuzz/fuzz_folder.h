/* fuzz_folder.h - a folder in memory for targets whose parser reads a file */
#pragma once

#include "base/str.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char fuzz_folder_path[64];

static inline int fuzz_folder_drop(const char *path, const struct stat *st, int type,
                                   struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static inline void fuzz_folder_end(void)
{
    nftw(fuzz_folder_path, fuzz_folder_drop, 8, FTW_DEPTH | FTW_PHYS);
}

static inline const char *fuzz_folder(void)
{
    if (!fuzz_folder_path[0]) {
        str_copy(fuzz_folder_path, sizeof(fuzz_folder_path),
                 access("/dev/shm", W_OK) == 0 ? "/dev/shm/corgi-fuzz-XXXXXX"
                                               : "/tmp/corgi-fuzz-XXXXXX");
        if (!mkdtemp(fuzz_folder_path))
            abort();
        atexit(fuzz_folder_end);
    }
    return fuzz_folder_path;
}

/* The bytes as the file of that name; its path is good until the next call. */
static inline const char *fuzz_file(const char *name, const uint8_t *data, size_t size)
{
    static char path[128];
    int fd;

    snprintf(path, sizeof(path), "%s/%s", fuzz_folder(), name);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    close(fd);
    return path;
}
