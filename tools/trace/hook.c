/* hook.c - writes down which functions a program enters, each at its first time
 *
 * tools/trace-submit compiles this and links it into programs that are built with
 * -finstrument-functions, so that the compiler calls it at the beginning of every
 * function. A program writes to a file of its own in TRACE_FOLDER, named by program and
 * process: a line "SECONDS ADDRESS" a function, with the address as it stands in the
 * program's file. At the end of the process a line "calls NUMBER" follows. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* never itself entered through the hook */
#define QUIET __attribute__((no_instrument_function))
#define SLOTS 65536 /* a power of two, far above the number of functions */

extern const char __executable_start[]; /* the linker's: where the program was loaded */

static _Atomic uintptr_t touched[SLOTS];
static atomic_ulong calls;
static int file = -1;

QUIET static void write_line(const char *text, int length)
{
    if (file >= 0 && length > 0 && write(file, text, (size_t)length) < 0)
        file = -1; /* the disk is full: the reader finds no last line */
}

/* True when the address was not there. */
QUIET static int add(uintptr_t address)
{
    size_t at = (address >> 4) * 0x9E3779B1u % SLOTS;

    for (;; at = (at + 1) % SLOTS) {
        uintptr_t there = atomic_load_explicit(&touched[at], memory_order_relaxed);

        if (there == address)
            return 0;
        if (there == 0 && atomic_compare_exchange_strong(&touched[at], &there, address))
            return 1;
        if (there == address)
            return 0;
    }
}

QUIET void __cyg_profile_func_enter(void *function, void *caller);
QUIET void __cyg_profile_func_exit(void *function, void *caller);

void __cyg_profile_func_enter(void *function, void *caller)
{
    int saved = errno;
    char line[64];
    struct timespec now;

    (void)caller;
    atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
    if (add((uintptr_t)function)) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        write_line(line, snprintf(line, sizeof(line), "%lld.%09ld %#lx\n",
                                  (long long)now.tv_sec, now.tv_nsec,
                                  (unsigned long)((uintptr_t)function -
                                                  (uintptr_t)__executable_start)));
    }
    errno = saved;
}

void __cyg_profile_func_exit(void *function, void *caller)
{
    (void)function;
    (void)caller;
}

QUIET __attribute__((constructor)) static void begin(void)
{
    char path[512];

    snprintf(path, sizeof(path), "%s/%s.%ld", TRACE_FOLDER, program_invocation_short_name,
             (long)getpid());
    file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

QUIET __attribute__((destructor)) static void end(void)
{
    char line[64];

    write_line(line, snprintf(line, sizeof(line), "calls %lu\n", atomic_load(&calls)));
}
