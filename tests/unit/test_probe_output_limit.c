/* test_probe_output_limit.c - output that stays small on disk */
#include "probe/output_limit.h"
#include "support/test.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK 32768

static int opened(char *path)
{
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    fcntl(fd, F_SETFL, O_APPEND);
    return fd;
}

static double size_of(int fd)
{
    struct stat info;

    assert_int_equal(fstat(fd, &info), 0);
    return (double)info.st_size;
}

/* Numbered lines of 32 bytes; returns how large the file was at most. */
static double write_lines(int fd, struct output_limit *bound, long bytes)
{
    static char chunk[CHUNK + 1];
    double most = 0;
    long line = 0;

    for (long done = 0; done < bytes; done += CHUNK) {
        for (int at = 0; at < CHUNK; at += 32)
            snprintf(chunk + at, 33, "line %26ld\n", line++ % 100000000);
        output_limit_make_room(bound, CHUNK);
        assert_int_equal(write(fd, chunk, CHUNK), CHUNK);
        if (size_of(fd) > most)
            most = size_of(fd);
    }
    return most;
}

/* Whole lines with following numbers from here to the end; the last number. */
static long check_tail(int fd, off_t from)
{
    char line[33] = "";
    long last = -1;

    for (; pread(fd, line, 32, from) == 32; from += 32) {
        assert_memory_equal(line, "line ", 5);
        assert_true(last < 0 || atol(line + 5) == last + 1);
        last = atol(line + 5);
    }
    return last;
}

CASE(the_limit_holds_at_every_moment)
{
    char path[] = "/tmp/corgi-bound-XXXXXX", text[200] = "";
    const long bytes = 50L << 20;
    int fd = opened(path);
    struct output_limit bound;
    const char *told;

    output_limit_open(&bound, path, 2097152);
    assert_true(write_lines(fd, &bound, bytes) <= 2097152);
    assert_true(bound.dropped_bytes + size_of(fd) == (double)bytes);
    assert_true(size_of(fd) >= 1e6);
    assert_int_equal(pread(fd, text, 32, 0), 32);
    assert_string_equal(text, "line                          0\n");
    assert_int_equal(pread(fd, text, 100, OUTPUT_LIMIT_HEAD_BYTES - 100), 100);
    text[100] = '\0';
    told = strstr(text, "[corgi-probe: ");
    assert_non_null(told);
    assert_true(atof(told + 14) == bound.dropped_bytes);
    assert_int_equal(check_tail(fd, OUTPUT_LIMIT_HEAD_BYTES), bytes / 32 - 1);
    output_limit_close(&bound);
    close(fd);
    unlink(path);
}

CASE(less_than_the_limit_is_left_alone)
{
    char path[] = "/tmp/corgi-bound-XXXXXX";
    int fd = opened(path);
    struct output_limit bound;

    output_limit_open(&bound, path, 4e6);
    write_lines(fd, &bound, 3L << 20);
    assert_true(bound.dropped_bytes == 0);
    assert_true(size_of(fd) >= 3 << 20);
    output_limit_close(&bound);
    close(fd);
    unlink(path);
}

CASE(no_limit_no_file_and_links_are_not_bounded)
{
    char path[] = "/tmp/corgi-bound-XXXXXX", link[64];
    int fd = opened(path);
    struct output_limit bound;

    snprintf(link, sizeof(link), "%s.link", path);
    assert_int_equal(symlink(path, link), 0);
    output_limit_open(&bound, path, 0);
    assert_int_equal(bound.fd, -1);
    output_limit_make_room(&bound, 1000);
    output_limit_open(&bound, "/nowhere/at/all", 1e6);
    assert_int_equal(bound.fd, -1);
    output_limit_open(&bound, link, 1e6);
    assert_int_equal(bound.fd, -1);
    output_limit_open(&bound, "/dev/null", 1e6);
    assert_int_equal(bound.fd, -1);
    close(fd);
    unlink(path);
    unlink(link);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_limit_holds_at_every_moment),
        cmocka_unit_test(less_than_the_limit_is_left_alone),
        cmocka_unit_test(no_limit_no_file_and_links_are_not_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
