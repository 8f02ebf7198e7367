/* test_end_why.c - every sentence that says why an attempt ended
 *
 * A kind of end without a case here fails. */
#include "service/end_why.h"

#include "support/test.h"

#include "engine/engine.h"
#include "service/lifecycle.h"

#include <signal.h>

static const struct {
    struct engine_event event;
    const char *code, *text;
} cases[] = {
    {{.end = ENGINE_END_DONE}, "", ""},
    {{.end = ENGINE_END_DONE, .text = "Slurm says: completed"},
     "",
     "Slurm says: completed"},
    {{.end = ENGINE_END_FAILED, .exit_status = 3}, "exit", "ended with exit status 3"},
    {{.end = ENGINE_END_FAILED, .exit_status = 3, .text = "no such file"},
     "exit",
     "ended with exit status 3: no such file"},
    {{.end = ENGINE_END_FAILED, .exit_status = 3, .text = "exit status 3, after 2 s"},
     "exit",
     "ended with exit status 3, after 2 s"},
    {{.end = ENGINE_END_FAILED, .signal = SIGSEGV},
     "signal",
     "ended by signal 11 (Segmentation fault)"},
    {{.end = ENGINE_END_FAILED, .signal = SIGKILL, .text = "Slurm says: failed"},
     "signal",
     "ended by signal 9 (Killed): Slurm says: failed"},
    {{.end = ENGINE_END_FAILED, .signal = SIGKILL, .text = "ended by signal 9 (Killed)"},
     "signal",
     "ended by signal 9 (Killed)"},
    /* Its node's failure, not its own. */
    {{.end = ENGINE_END_FAILED, .text = "Slurm says: node_fail"},
     "exit",
     "Slurm says: node_fail"},
    {{.end = ENGINE_END_STOPPED}, "lost", "the engine stopped it"},
    {{.end = ENGINE_END_OUT_OF_MEMORY},
     "out_of_memory",
     "the device had too little memory"},
    {{.end = ENGINE_END_NOT_STARTED}, "not_started", "it could not be started"},
    {{.end = ENGINE_END_LOST}, "lost", "it ended while nobody looked"},
    {{.end = ENGINE_END_LOST, .text = "its node is not awake"},
     "lost",
     "its node is not awake"},
    {{.end = ENGINE_END_CANCELLED}, "cancelled", "cancelled in the engine itself"},
    {{.end = ENGINE_END_TIME_LIMIT}, "time_limit", "it reached its time limit"},
    {{.end = ENGINE_END_REQUEUED}, "lost", "the engine put it back into the queue"},
    {{.end = ENGINE_END_NO_ROOM}, "capacity", "its place was not free"},
    {{.end = ENGINE_END_UNKNOWN}, "unknown", "nobody knows how it ended"},
};

static void an_end_is_told_as_it_was(void **state)
{
    char buffer[END_WHY_SIZE];
    bool told[ENGINE_END_UNKNOWN + 1] = {false};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct why why = end_why(&cases[i].event, buffer);

        assert_string_equal(why.code, cases[i].code);
        assert_string_equal(why.text, cases[i].text);
        told[cases[i].event.end] = true;
    }
    for (int end = 0; end <= ENGINE_END_UNKNOWN; end++)
        assert_true(told[end]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_end_is_told_as_it_was)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
