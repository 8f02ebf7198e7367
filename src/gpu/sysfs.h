/* sysfs.h - small files of the kernel, each a number or a line
 *
 * The root is an argument everywhere so that tests bring a tree of their own.  Files of a
 * device that is gone answer ENODEV or are gone too: both are GPU_LOST, once the device
 * was there. */
#pragma once

#include "gpu/gpu_backend.h"

#include <stddef.h>

#define SYSFS_PATH_SIZE 512
#define SYSFS_TEXT_SIZE 4096

/* The first line without blanks at its ends.  GPU_UNSUPPORTED: no such file; GPU_DENIED;
 * GPU_LOST: the device behind it is gone; GPU_FAILED: too long or unreadable. */
enum gpu_status sysfs_line(const char *folder, const char *file, char *text, size_t size);

/* All of it, NUL-terminated; or as much of the beginning as fits. */
enum gpu_status sysfs_text(const char *folder, const char *file, char *text, size_t size);
enum gpu_status sysfs_head(const char *folder, const char *file, char *text, size_t size);

/* A number in decimal or 0x hexadecimal, nothing else on the line. */
enum gpu_status sysfs_number(const char *folder, const char *file, double *value);
bool sysfs_parse_number(const char *text, double *value);

enum gpu_status sysfs_write_number(const char *folder, const char *file, double value,
                                   struct err *err);

/* The value of "KEY=value" or "key value" lines; false when there is none. */
bool sysfs_property(const char *text, const char *key, char separator, char *value,
                    size_t size);

/* Names in a folder that start with the prefix, in order of their numbers (card2,
 * card10); the caller frees the array of `*count` strings with sysfs_names_free().  No
 * folder: none. */
char **sysfs_names(const char *folder, const char *prefix, size_t most, size_t *count);
void sysfs_names_free(char **names, size_t count);

/* Ticks of all processors since the machine was started, from the first line of
 * /proc/stat; false when they cannot be read, or when the text is no such line. */
bool sysfs_cpu_ticks(const char *proc, double *busy, double *total);
bool sysfs_parse_cpu_ticks(const char *text, double *busy, double *total);
