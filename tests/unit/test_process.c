/* test_process.c - real processes, found and signalled */
#include "base/process.h"
#include "support/test.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A child in a session of its own with a child in yet another; both wait.  *below is the
 * lower one. */
static pid_t family(pid_t *below)
{
    int told[2];
    pid_t child;

    assert_int_equal(pipe(told), 0);
    child = fork();
    if (child == 0) {
        pid_t grandchild;

        setsid();
        grandchild = fork();
        if (grandchild == 0) {
            setsid();
            grandchild = getpid();
            if (write(told[1], &grandchild, sizeof(grandchild)) < 0)
                _exit(1);
            for (;;)
                pause();
        }
        for (;;)
            pause();
    }
    assert_int_equal(read(told[0], below, sizeof(*below)), sizeof(*below));
    close(told[0]);
    close(told[1]);
    return child;
}

static void end(pid_t child, pid_t below)
{
    kill(below, SIGKILL);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static bool holds(const struct process_ids *ids, pid_t pid)
{
    for (size_t i = 0; i < ids->count; i++)
        if (ids->items[i].pid == pid)
            return true;
    return false;
}

CASE(a_tree_is_collected_and_remembered)
{
    struct process_table procs = {0};
    struct process_ids members = {0};
    struct process one;
    struct err err;
    pid_t below, child = family(&below);

    assert_true(process_read(child, &one));
    vec_push(&members, one.id);
    assert_int_equal(process_table_read(&procs, &err), 0);
    process_table_collect(&procs, &members, getsid(0));
    assert_int_equal(members.count, 2);
    assert_true(holds(&members, child) && holds(&members, below));
    assert_false(holds(&members, getpid()));

    /* The upper one dies: the lower one has another parent and is still known. */
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(process_table_read(&procs, &err), 0);
    process_table_collect(&procs, &members, getsid(0));
    assert_int_equal(members.count, 1);
    assert_true(holds(&members, below));
    kill(below, SIGKILL);
    vec_free(&members);
    process_table_fini(&procs);
}

CASE(the_lists_of_children_agree)
{
    struct process_children list = {0};
    pid_t below, child = family(&below);

    process_children_add(child, &list);
    assert_int_equal(list.count, 1);
    assert_int_equal(list.items[0], below);
    free(list.items);
    list = (struct process_children){0};
    process_children_add(getpid(), &list);
    assert_true(list.count >= 2);
    free(list.items);
    end(child, below);
}

CASE(the_table_below_a_process_is_without_it)
{
    struct process_table table = {0};
    pid_t below, child = family(&below);
    struct err err = {0};

    assert_int_equal(process_table_below(&table, child, &err), 0);
    assert_int_equal(table.all.count, 1);
    assert_int_equal(table.all.items[0].id.pid, below);
    assert_int_equal(table.all.items[0].parent, child);
    assert_int_equal(process_table_below(&table, getpid(), &err), 0);
    assert_non_null(process_table_find(&table, child));
    assert_non_null(process_table_find(&table, below));
    assert_null(process_table_find(&table, getpid()));
    assert_int_equal(process_table_below(&table, below, &err), 0);
    assert_int_equal(table.all.count, 0);
    process_table_fini(&table);
    end(child, below);
}

CASE(another_process_with_the_number_is_not_signalled)
{
    struct process one;
    pid_t below, child = family(&below);

    assert_true(process_read(child, &one));
    assert_true(process_alive(one.id));
    one.id.start++;
    assert_false(process_alive(one.id));
    assert_false(process_signal(one.id, SIGKILL));
    one.id.start--;
    assert_true(process_signal(one.id, SIGKILL));
    end(child, below);
    assert_false(process_alive(one.id));
    assert_false(process_signal((struct process_id){0}, SIGKILL));
    assert_false(process_alive((struct process_id){.pid = -1}));
}

CASE(the_environment_of_a_process_is_read)
{
    static const char *const both[] = {"CORGI_A=1", "CORGI_B=two"};
    static const char *const wrong[] = {"CORGI_A=1", "CORGI_B=tw"};
    char value[16];
    pid_t child = fork();

    if (child == 0) {
        char *const argv[] = {(char[]){"sleep"}, (char[]){"60"}, NULL};
        char *const env[] = {(char[]){"CORGI_A=1"}, (char[]){"CORGI_B=two"}, NULL};

        execve("/bin/sleep", argv, env);
        _exit(1);
    }
    for (int i = 0; i < 500 && !process_environ_has(child, both, 2); i++)
        usleep(10000);
    assert_true(process_environ_has(child, both, 2));
    assert_false(process_environ_has(child, wrong, 2));
    assert_true(process_environ_get(child, "CORGI_B", value, sizeof(value)));
    assert_string_equal(value, "two");
    assert_false(process_environ_get(child, "CORGI", value, sizeof(value)));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_false(process_environ_has(child, both, 2));
}

struct spinner {
    pthread_barrier_t there, over;
};

static void *spin(void *arg)
{
    struct spinner *s = arg;
    struct timespec used;

    do {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    } while (used.tv_sec == 0 && used.tv_nsec < 150000000);
    pthread_barrier_wait(&s->there);
    pthread_barrier_wait(&s->over);
    return NULL;
}

static void *idle(void *arg)
{
    struct spinner *s = arg;

    pthread_barrier_wait(&s->there);
    pthread_barrier_wait(&s->over);
    return NULL;
}

CASE(each_thread_has_its_own_time)
{
    struct process_threads threads = {0};
    struct spinner s;
    pthread_t one, other;
    int much = 0;

    pthread_barrier_init(&s.there, NULL, 3);
    pthread_barrier_init(&s.over, NULL, 3);
    assert_int_equal(pthread_create(&one, NULL, spin, &s), 0);
    assert_int_equal(pthread_create(&other, NULL, idle, &s), 0);
    pthread_barrier_wait(&s.there);
    process_threads_add(getpid(), &threads);
    pthread_barrier_wait(&s.over);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    assert_true(threads.count >= 3); /* sanitizers have threads of their own */
    for (size_t i = 0; i < threads.count; i++)
        much += threads.items[i].cpu_s > 0.1;
    assert_in_range(much, 1, 2);      /* the test itself may have worked as long */
    process_threads_add(0, &threads); /* nobody: nothing */
    free(threads.items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tree_is_collected_and_remembered),
        cmocka_unit_test(the_lists_of_children_agree),
        cmocka_unit_test(the_table_below_a_process_is_without_it),
        cmocka_unit_test(another_process_with_the_number_is_not_signalled),
        cmocka_unit_test(the_environment_of_a_process_is_read),
        cmocka_unit_test(each_thread_has_its_own_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
