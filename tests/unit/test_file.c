/* test_file.c - whole files, in a directory of the test's own */
#include "base/file.h"
#include "support/test.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[] = "/tmp/corgi-test-file-XXXXXX";
static struct err err;

static char *in_dir(const char *name)
{
    return file_join(dir, name);
}

static size_t files_in_dir(void)
{
    struct dirent *entry;
    size_t count = 0;
    DIR *d = opendir(dir);

    while ((entry = readdir(d)))
        count += entry->d_name[0] != '.';
    closedir(d);
    return count;
}

CASE(reads_back_what_was_written)
{
    const char bytes[] = {'a', '\0', 'b', '\n'};
    char *path = in_dir("data"), *read = NULL;
    size_t count = 0;

    assert_int_equal(file_write(path, bytes, sizeof(bytes), &err), 0);
    assert_int_equal(file_write(path, bytes, sizeof(bytes), &err), 0);
    assert_int_equal(file_read(path, sizeof(bytes), &read, &count, &err), 0);
    assert_int_equal(count, sizeof(bytes));
    assert_memory_equal(read, bytes, sizeof(bytes));
    assert_int_equal(read[count], '\0');
    assert_int_equal(files_in_dir(), 1);
    unlink(path);
    free(read);
    free(path);
}

CASE(refuses_a_file_beyond_the_limit)
{
    char *path = in_dir("large"), *read = NULL;
    size_t count = 99;

    assert_int_equal(file_write(path, "12345", 5, &err), 0);
    assert_int_equal(file_read(path, 4, &read, &count, &err), -1);
    assert_int_equal(err.code, ERR_LIMIT);
    assert_null(read);
    assert_int_equal(count, 99);
    assert_int_equal(file_read("/dev/zero", 1000, &read, &count, &err), -1);
    assert_int_equal(err.code, ERR_LIMIT);
    unlink(path);
    free(path);
}

CASE(tells_missing_from_unreadable)
{
    char *path = in_dir("nothing"), *read;
    size_t count;

    assert_int_equal(file_read(path, 10, &read, &count, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_non_null(strstr(err.text, path));
    assert_int_equal(file_read(dir, 10, &read, &count, &err), -1);
    assert_int_equal(err.code, ERR_SYSTEM);
    free(path);
}

CASE(the_beginning_is_as_much_as_fits)
{
    char *path = file_join(dir, "head"), text[8] = "-------";

    assert_int_equal(file_write(path, "0123456789", 10, NULL), 0);
    assert_int_equal(file_head(path, text, sizeof(text)), 7);
    assert_string_equal(text, "0123456");
    assert_int_equal(file_write(path, "", 0, NULL), 0);
    assert_int_equal(file_head(path, text, sizeof(text)), 0);
    assert_string_equal(text, "");
    assert_int_equal(file_head(dir, text, sizeof(text)), -1);
    assert_int_equal(errno, EISDIR);
    unlink(path);
    assert_int_equal(file_head(path, text, sizeof(text)), -1);
    assert_int_equal(errno, ENOENT);
    free(path);
}

CASE(an_aborted_write_leaves_the_old_file)
{
    char *path = in_dir("kept"), *read = NULL;
    struct file_out *out;
    size_t count;

    assert_int_equal(file_write(path, "old", 3, &err), 0);
    out = file_out_open(path, &err);
    assert_non_null(out);
    fputs("new", file_out_stream(out));
    file_out_abort(out);
    assert_int_equal(file_read(path, 10, &read, &count, &err), 0);
    assert_string_equal(read, "old");
    assert_int_equal(files_in_dir(), 1);
    unlink(path);
    free(read);
    free(path);
}

CASE(a_full_disk_is_an_error_at_the_last_byte)
{
    static char megabyte[1 << 20];

    assert_int_equal(file_write("/dev/full", "x", 1, &err), -1);
    assert_non_null(strstr(err.text, "No space left"));
    assert_int_equal(file_write("/dev/full", megabyte, sizeof(megabyte), &err), -1);
    assert_non_null(strstr(err.text, "No space left"));
}

CASE(devices_are_written_not_replaced)
{
    struct stat st;

    assert_int_equal(file_write("/dev/null", "x", 1, &err), 0);
    assert_int_equal(stat("/dev/null", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
}

CASE(a_link_is_followed_and_the_mode_kept)
{
    char *target = in_dir("target"), *link = in_dir("link");
    struct stat st;

    assert_int_equal(file_write(target, "old", 3, &err), 0);
    assert_int_equal(chmod(target, 0640), 0);
    assert_int_equal(symlink(target, link), 0);
    assert_int_equal(file_write(link, "new!", 4, &err), 0);
    assert_int_equal(lstat(link, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(stat(target, &st), 0);
    assert_int_equal(st.st_size, 4);
    assert_int_equal(st.st_mode & 0777, 0640);
    unlink(link);
    unlink(target);
    free(target);
    free(link);
}

CASE(makes_directories_all_the_way)
{
    char *deep = in_dir("a/b/c/"), *file = in_dir("plain"), *below = in_dir("plain/d");
    struct stat st;

    assert_int_equal(file_make_dirs(deep, &err), 0);
    assert_int_equal(file_make_dirs(deep, &err), 0);
    assert_int_equal(stat(deep, &st), 0);
    assert_int_equal(file_write(file, "", 0, &err), 0);
    assert_int_equal(file_make_dirs(file, &err), -1);
    assert_int_equal(file_make_dirs(below, &err), -1);
    assert_int_equal(file_make_dirs("", &err), -1);
    unlink(file);
    free(deep);
    free(file);
    free(below);
}

/* As a daemon that is killed while it starts a job. */
static void a_lock_of_the_dead_is_waited_for_one_of_the_living_is_not(void **state)
{
    char *path = file_join(dir, "locked");
    int fd, status;
    pid_t owner = fork();

    (void)state;
    if (owner == 0) {
        fd = file_lock(path, NULL);
        if (fork() == 0)
            usleep(300000); /* has the descriptor too */
        _exit(fd < 0);
    }
    assert_int_equal(waitpid(owner, &status, 0), owner);
    assert_int_equal(status, 0);
    fd = file_lock(path, &err);
    assert_true(fd >= 0);
    assert_int_equal(file_lock(path, &err), -1);
    assert_int_equal(err.code, ERR_EXISTS);
    close(fd);
    free(path);
}

static int remove_dir(void **state)
{
    char command[sizeof(dir) + 10];

    (void)state;
    snprintf(command, sizeof(command), "rm -r %s", dir);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_back_what_was_written),
        cmocka_unit_test(refuses_a_file_beyond_the_limit),
        cmocka_unit_test(tells_missing_from_unreadable),
        cmocka_unit_test(the_beginning_is_as_much_as_fits),
        cmocka_unit_test(an_aborted_write_leaves_the_old_file),
        cmocka_unit_test(a_full_disk_is_an_error_at_the_last_byte),
        cmocka_unit_test(devices_are_written_not_replaced),
        cmocka_unit_test(a_link_is_followed_and_the_mode_kept),
        cmocka_unit_test(makes_directories_all_the_way),
        cmocka_unit_test(a_lock_of_the_dead_is_waited_for_one_of_the_living_is_not),
    };

    if (!mkdtemp(dir))
        return 1;
    return cmocka_run_group_tests(tests, NULL, remove_dir);
}
