/* sysfs.c - reading and writing small kernel files, see sysfs.h
 *
 * amd.c, processor.c and gpu_caps.c read the machine through it, the local engine's
 * device_power.c the time of its processor. */
#include "gpu/sysfs.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum gpu_status status_of_errno(int code)
{
    switch (code) {
    case ENOENT:
    case ENOTDIR:
    case EOPNOTSUPP:
    case EINVAL:
        return GPU_UNSUPPORTED;
    case EACCES:
    case EPERM:
        return GPU_DENIED;
    case ENODEV:
    case ENXIO:
        return GPU_LOST;
    default:
        return GPU_FAILED;
    }
}

static bool path_of(char *path, const char *folder, const char *file)
{
    int length = snprintf(path, SYSFS_PATH_SIZE, "%s/%s", folder, file);

    return length > 0 && length < SYSFS_PATH_SIZE;
}

enum gpu_status sysfs_head(const char *folder, const char *file, char *text, size_t size)
{
    char path[SYSFS_PATH_SIZE];

    if (!path_of(path, folder, file))
        return GPU_FAILED;
    return file_head(path, text, size) < 0 ? status_of_errno(errno) : GPU_OK;
}

enum gpu_status sysfs_text(const char *folder, const char *file, char *text, size_t size)
{
    enum gpu_status status = sysfs_head(folder, file, text, size);

    return status == GPU_OK && strlen(text) == size - 1 ? GPU_FAILED : status;
}

enum gpu_status sysfs_line(const char *folder, const char *file, char *text, size_t size)
{
    char whole[SYSFS_TEXT_SIZE];
    enum gpu_status status = sysfs_text(folder, file, whole, sizeof(whole));
    char *start = whole, *end;

    if (status != GPU_OK)
        return status;
    while (isspace((unsigned char)*start))
        start++;
    end = start + strcspn(start, "\n");
    while (end > start && isspace((unsigned char)end[-1]))
        end--;
    *end = '\0';
    return str_copy(text, size, start) ? GPU_OK : GPU_FAILED;
}

bool sysfs_parse_number(const char *text, double *value)
{
    bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    const char *digits = text + (hex ? 2 : text[0] == '-' ? 1 : 0);
    size_t length = strspn(digits, hex ? "0123456789abcdefABCDEF" : "0123456789");

    if (length == 0 || length > 20 || digits[length])
        return false;
    *value = strtod(text, NULL);
    return true;
}

enum gpu_status sysfs_number(const char *folder, const char *file, double *value)
{
    char line[64];
    enum gpu_status status = sysfs_line(folder, file, line, sizeof(line));

    if (status != GPU_OK)
        return status;
    return sysfs_parse_number(line, value) ? GPU_OK : GPU_FAILED;
}

enum gpu_status sysfs_write_number(const char *folder, const char *file, double value,
                                   struct err *err)
{
    char path[SYSFS_PATH_SIZE];
    char text[32];
    enum gpu_status status = GPU_OK;
    int length = snprintf(text, sizeof(text), "%.0f\n", value);
    int fd;

    if (!path_of(path, folder, file)) {
        err_set(err, ERR_LIMIT, "the path of %s is too long", file);
        return GPU_FAILED;
    }
    fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, text, (size_t)length) != length) {
        status = status_of_errno(errno);
        err_sys(err, "cannot write %s", path);
    }
    if (fd >= 0)
        close(fd);
    return status;
}

bool sysfs_property(const char *text, const char *key, char separator, char *value,
                    size_t size)
{
    size_t key_length = strlen(key);

    while (*text) {
        size_t length = strcspn(text, "\n");

        if (length > key_length && !strncmp(text, key, key_length) &&
            text[key_length] == separator) {
            size_t rest = length - key_length - 1;

            if (rest >= size)
                return false;
            memcpy(value, text + key_length + 1, rest);
            value[rest] = '\0';
            return true;
        }
        text += length;
        if (*text)
            text++;
    }
    return false;
}

char **sysfs_names(const char *folder, const char *prefix, size_t most, size_t *count)
{
    vec_of(char *) names = {0};
    struct dirent **entries = NULL;
    int found = scandir(folder, &entries, NULL, versionsort);

    for (int i = 0; i < found; i++) {
        const char *name = entries[i]->d_name;

        if (str_starts(name, prefix) && name[0] != '.' && names.count < most)
            vec_push(&names, mem_strdup(name));
        free(entries[i]);
    }
    free(entries);
    *count = names.count;
    return names.items;
}

void sysfs_names_free(char **names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
}

/* user nice system idle iowait irq softirq steal; guests are in user */
#define TICK_FIELDS 8

bool sysfs_parse_cpu_ticks(const char *text, double *busy, double *total)
{
    double sum = 0, idle = 0;

    if (!str_starts(text, "cpu "))
        return false;
    text += 4;
    for (int i = 0; i < TICK_FIELDS; i++) {
        char *end;
        double ticks = (double)strtoull(text, &end, 10);

        if (end == text)
            return false;
        sum += ticks;
        if (i == 3 || i == 4)
            idle += ticks;
        text = end;
    }
    *busy = sum - idle;
    *total = sum;
    return true;
}

bool sysfs_cpu_ticks(const char *proc, double *busy, double *total)
{
    char line[512];

    /* The file is long on large machines; its first line is all that is needed. */
    return sysfs_head(proc, "stat", line, sizeof(line)) == GPU_OK &&
           sysfs_parse_cpu_ticks(line, busy, total);
}
