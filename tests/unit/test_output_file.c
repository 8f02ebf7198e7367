/* test_output_file.c - pieces of a job's output, and whose files are read */
#include "base/file.h"
#include "service/output_file.h"
#include "support/test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[] = "/tmp/corgi-test-output-XXXXXX";
static char path[200];
static struct output_piece piece;
static struct err err;

static void write_text(const char *text, size_t length)
{
    assert_int_equal(file_write(path, text, length, &err), 0);
}

/* Read it from there, or the last lines. */
static int read_from(int64_t offset, int lines)
{
    struct output_ask ask = {
        .path = path, .uid = getuid(), .gid = getgid(), .offset = offset, .lines = lines};

    str_fini(&piece.text);
    piece = (struct output_piece){0};
    err = (struct err){0};
    return output_file_read(&ask, &piece, &err);
}

CASE(a_piece_begins_where_the_last_one_ended)
{
    write_text("one\ntwo\n", 8);
    assert_int_equal(read_from(0, 0), 0);
    assert_string_equal(str_text(&piece.text), "one\ntwo\n");
    assert_int_equal(piece.next, 8);
    assert_int_equal(read_from(4, 0), 0);
    assert_string_equal(str_text(&piece.text), "two\n");
    assert_int_equal(piece.size, 8);
    assert_int_equal(read_from(99, 0), 0); /* it was longer once */
    assert_int_equal(piece.offset, 8);
    assert_string_equal(str_text(&piece.text), "");
}

CASE(the_last_lines_are_counted_from_the_end)
{
    write_text("one\ntwo\nthree\nfo", 16);
    assert_int_equal(read_from(0, 2), 0);
    assert_string_equal(str_text(&piece.text), "three\nfo");
    assert_int_equal(piece.offset, 8);
    assert_int_equal(read_from(0, 50), 0);
    assert_string_equal(str_text(&piece.text), "one\ntwo\nthree\nfo");
    write_text("one\ntwo\n", 8);
    assert_int_equal(read_from(0, 1), 0);
    assert_string_equal(str_text(&piece.text), "two\n");
}

CASE(a_piece_is_bounded_and_ends_with_a_whole_character)
{
    size_t size = OUTPUT_FILE_MAX_BYTES + 100;
    char *text = malloc(size);

    memset(text, 'x', size);
    memcpy(text + OUTPUT_FILE_MAX_BYTES - 1, "\xc3\xa9", 2); /* across the end */
    write_text(text, size);
    assert_int_equal(read_from(0, 0), 0);
    assert_int_equal(piece.next, OUTPUT_FILE_MAX_BYTES - 1);
    assert_int_equal(piece.size, size);
    assert_int_equal(read_from(piece.next, 0), 0);
    assert_int_equal(piece.next, size);
    assert_memory_equal(str_text(&piece.text), "\xc3\xa9xx", 4);
    free(text);
}

CASE(a_nul_does_not_end_the_text)
{
    write_text("a\0b", 3);
    assert_int_equal(read_from(0, 0), 0);
    assert_int_equal(piece.text.length, 3);
    assert_int_equal(strlen(str_text(&piece.text)), 3);
}

CASE(a_link_in_the_engines_folder_is_not_followed)
{
    unlink(path);
    assert_int_equal(symlink("/etc/hostname", path), 0);
    assert_int_equal(read_from(0, 0), -1);
    unlink(path);
    assert_int_equal(read_from(0, 0), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
}

CASE(a_pipe_is_refused_and_not_waited_for)
{
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(read_from(0, 0), -1);
    assert_int_equal(err.code, ERR_INVALID);
    unlink(path);
}

/* The thread that reads keeps the rights it takes, so this is a process of its own. */
static int read_as(uid_t uid, const char *file, bool chosen)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        struct output_ask ask = {.path = file, .uid = uid, .gid = uid, .chosen = chosen};

        _exit(output_file_read(&ask, &piece, &err) == 0 ? 0
              : err.code == ERR_INVALID                 ? 1
                                                        : 2);
    }
    waitpid(pid, &status, 0);
    return WEXITSTATUS(status);
}

CASE(another_users_file_is_not_read)
{
    if (getuid() != 0)
        skip();
    write_text("root's\n", 7);
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(read_as(65534, path, false), 1); /* readable by all, not theirs */
    assert_int_equal(read_as(65534, path, true), 2);  /* the folder is root's */
    assert_int_equal(chmod(dir, 0755), 0);
    assert_int_equal(read_as(65534, path, true), 1);
    assert_int_equal(chown(path, 65534, 65534), 0);
    assert_int_equal(read_as(65534, path, true), 0);
    assert_int_equal(chmod(dir, 0700), 0); /* theirs, where they cannot go */
    assert_int_equal(read_as(65534, path, true), 2);
    assert_int_equal(read_as(65534, path, false), 0); /* the engine's folder */
    assert_int_not_equal(read_as(65534, "/proc/self/environ", true), 0);
    unlink(path);
}

static int make_dir(void **state)
{
    (void)state;
    if (!mkdtemp(dir))
        return -1;
    snprintf(path, sizeof(path), "%s/output", dir);
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    str_fini(&piece.text);
    unlink(path);
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_piece_begins_where_the_last_one_ended),
        cmocka_unit_test(the_last_lines_are_counted_from_the_end),
        cmocka_unit_test(a_piece_is_bounded_and_ends_with_a_whole_character),
        cmocka_unit_test(a_nul_does_not_end_the_text),
        cmocka_unit_test(a_link_in_the_engines_folder_is_not_followed),
        cmocka_unit_test(a_pipe_is_refused_and_not_waited_for),
        cmocka_unit_test(another_users_file_is_not_read),
    };

    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
