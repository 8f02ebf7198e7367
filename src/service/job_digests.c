/* job_digests.c - found_jobs.c tells it of jobs as they are found, restart.c of those
 * that are known; listeners.c asks it whose a token is, handle_reports.c of which job */
#include "service/job_digests.h"

#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/vec.h"
#include "service/job_records.h"

#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#define NAME_SIZE 64

struct known_digest {
    unsigned char digest[AUTH_DIGEST_BYTES];
    char name[NAME_SIZE];
    uint64_t job;
    double gone_s; /* it was first missed among the records; 0: it was not */
};

struct job_digests {
    vec_of(struct known_digest) entries;
    struct map *names;  /* digest and name -> entries */
    struct map *digest; /* digest -> one of the entries that have it */
};

struct job_digests *job_digests_create(void)
{
    struct job_digests *d = mem_new(struct job_digests);

    d->names = map_create();
    d->digest = map_create();
    return d;
}

void job_digests_destroy(struct job_digests *d)
{
    if (!d)
        return;
    map_destroy(d->names);
    map_destroy(d->digest);
    vec_free(&d->entries);
    free(d);
}

static uint64_t digest_key(const unsigned char *digest)
{
    return hash_bytes((const char *)digest, AUTH_DIGEST_BYTES);
}

static uint64_t name_key(const unsigned char *digest, const char *name)
{
    return rng_mix(digest_key(digest), hash_text(name));
}

static bool read_hex(const char *hex, unsigned char digest[AUTH_DIGEST_BYTES])
{
    static const char digits[] = "0123456789abcdef";

    if (!hex || strspn(hex, digits) != 2 * AUTH_DIGEST_BYTES ||
        hex[2 * AUTH_DIGEST_BYTES])
        return false;
    for (int i = 0; i < AUTH_DIGEST_BYTES; i++)
        digest[i] = (unsigned char)((strchr(digits, hex[2 * i]) - digits) * 16 +
                                    (strchr(digits, hex[2 * i + 1]) - digits));
    return true;
}

static void index_entry(struct job_digests *d, size_t at)
{
    const struct known_digest *e = &d->entries.items[at];

    map_put(d->names, name_key(e->digest, e->name), at);
    map_put(d->digest, digest_key(e->digest), at);
}

void job_digests_put(struct job_digests *d, const char *hex, const char *ref,
                     uint64_t job)
{
    struct known_digest e = {.job = job};
    size_t length = strcspn(ref, "@#"), at;

    if (length == 0 || length >= NAME_SIZE || !read_hex(hex, e.digest))
        return;
    memcpy(e.name, ref, length);
    if (map_get(d->names, name_key(e.digest, e.name), &at)) {
        d->entries.items[at] = e;
        return;
    }
    vec_push(&d->entries, e);
    index_entry(d, d->entries.count - 1);
}

/* In time that does not depend on where they differ. */
static bool has(const struct job_digests *d, size_t at, const unsigned char *digest)
{
    return CRYPTO_memcmp(d->entries.items[at].digest, digest, AUTH_DIGEST_BYTES) == 0;
}

bool job_digests_known(const struct job_digests *d,
                       const unsigned char digest[AUTH_DIGEST_BYTES])
{
    size_t at;

    return map_get(d->digest, digest_key(digest), &at) && has(d, at, digest);
}

uint64_t job_digests_job(const struct job_digests *d,
                         const unsigned char digest[AUTH_DIGEST_BYTES], const char *name)
{
    size_t at;

    if (!map_get(d->names, name_key(digest, name), &at) || !has(d, at, digest) ||
        strcmp(d->entries.items[at].name, name) != 0)
        return 0;
    return d->entries.items[at].job;
}

void job_digests_tidy(struct job_digests *d, const struct records *records, double now_s)
{
    size_t kept = 0;

    for (size_t i = 0; i < d->entries.count; i++) {
        struct known_digest e = d->entries.items[i];

        if (e.gone_s == 0 && !records_get(records, e.job))
            e.gone_s = now_s;
        if (e.gone_s == 0 || now_s - e.gone_s < JOB_DIGESTS_KEEP_S)
            d->entries.items[kept++] = e;
    }
    if (kept == d->entries.count)
        return;
    d->entries.count = kept;
    map_destroy(d->names);
    map_destroy(d->digest);
    d->names = map_create();
    d->digest = map_create();
    for (size_t i = 0; i < kept; i++)
        index_entry(d, i);
}
