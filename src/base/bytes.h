/* bytes.h - state as bytes and back, for checkpoints
 *
 * Little-endian numbers one after another.  A reader that runs out or finds a number
 * outside its range turns bad and stays so; what it returns then is harmless, and its
 * user looks once at the end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes_out {
    unsigned char *items;
    size_t count, capacity;
    const int *renumber; /* (classes) new number of each, -1: left out; NULL: all stay */
    const int *renumber_kinds; /* the same of kinds of jobs */
};

void bytes_out_fini(struct bytes_out *out);
void bytes_put(struct bytes_out *out, const void *bytes, size_t count);
void bytes_put_u64(struct bytes_out *out, uint64_t value);
void bytes_put_real(struct bytes_out *out, double value);

/* Where a class goes: its number in the result, -1 when it is left out. */
int bytes_class(const struct bytes_out *out, int cls);
int bytes_kind(const struct bytes_out *out, int kind);

struct bytes_in {
    const unsigned char *at;
    size_t left;
    bool bad;
};

bool bytes_get(struct bytes_in *in, void *bytes, size_t count);
uint64_t bytes_u64(struct bytes_in *in);

/* 0 .. most; what follows holds at least `each` bytes for each. */
size_t bytes_count(struct bytes_in *in, size_t most, size_t each);
int bytes_int(struct bytes_in *in, int least, int most);

/* Finite; bytes_real_or_nan() allows NaN too. */
double bytes_real(struct bytes_in *in);
double bytes_real_or_nan(struct bytes_in *in);
/* A logarithm of something there is: not beyond e^50 either way. */
#define BYTES_LOG_MOST 50.0
double bytes_log(struct bytes_in *in);
