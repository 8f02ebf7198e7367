/* mutant.c - see mutant.h; linked into every program of a run of tests/mutation/run */
#include "mutant.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static unsigned char nobody_reads[MUTANT_MAX];

int mutant_on;
unsigned char *mutant_seen = nobody_reads;

__attribute__((constructor(101))) static void read_environment(void)
{
    const char *number = getenv("CORGI_MUTANT"), *path = getenv("CORGI_MUTANTS_SEEN");
    void *map;
    int file;

    if (number)
        mutant_on = atoi(number);
    if (!path || (file = open(path, O_RDWR | O_CLOEXEC)) < 0)
        return;
    map = mmap(NULL, MUTANT_MAX, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (map != MAP_FAILED)
        mutant_seen = map;
    close(file);
}
