/* mutant.h - which mutant is switched on; tests/mutation/run puts it before every file
 *
 * The runner writes all mutants of a run into one tree, each as an expression that asks
 * mutant_is() with its number.  $CORGI_MUTANT names the one that is on, 0 or nothing
 * none; $CORGI_MUTANTS_SEEN names a file with a byte a mutant, set when its place is
 * reached. */
#pragma once

#define MUTANT_MAX 65536

extern int mutant_on;
extern unsigned char *mutant_seen;

static inline int mutant_is(int number)
{
    mutant_seen[number] = 1;
    return mutant_on == number;
}
