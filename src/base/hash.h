/* hash.h - the hash of a text: FNV-1a with 64 bits
 *
 * It is the same on every machine and in every run, so it may be the key of a map, the
 * seed of a random stream or a part of a name.  rng_mix() of base/rng.h joins two hashes,
 * or a hash and a number. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t hash_bytes(const char *bytes, size_t count)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (size_t i = 0; i < count; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * 0x100000001b3u;
    return hash;
}

static inline uint64_t hash_text(const char *text)
{
    return hash_bytes(text, strlen(text));
}
