/* gzip.c - probe/jobstats.c unpacks here what others packed */
#include "base/gzip.h"

#include <stdint.h>
#include <zlib.h>

#define GZIP_ONLY   (15 + 16) /* the largest window, and a header of gzip */
#define CHUNK_BYTES 4096

static int unpack(z_stream *z, size_t most, struct str *out, struct err *err)
{
    size_t before = out->length;
    char chunk[CHUNK_BYTES];
    int state = Z_OK;

    while (state == Z_OK) {
        size_t had;

        z->next_out = (unsigned char *)chunk;
        z->avail_out = sizeof(chunk);
        state = inflate(z, Z_NO_FLUSH);
        had = sizeof(chunk) - z->avail_out;
        if (out->length - before + had > most)
            return err_set(err, ERR_LIMIT, "unpacks to more than %zu bytes", most);
        str_add_bytes(out, chunk, had);
    }
    if (state == Z_STREAM_END && z->avail_in == 0)
        return 0;
    return err_set(err, ERR_FORMAT, "is no whole gzip");
}

int gzip_unpack(const void *bytes, size_t count, size_t most, struct str *out,
                struct err *err)
{
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)bytes};
    size_t before = out->length;
    int rc;

    if (count > UINT32_MAX)
        return err_set(err, ERR_LIMIT, "%zu bytes are too many to unpack", count);
    z.avail_in = (unsigned)count;
    if (inflateInit2(&z, GZIP_ONLY) != Z_OK)
        return err_set(err, ERR_SYSTEM, "zlib does not start");
    rc = unpack(&z, most, out, err);
    inflateEnd(&z);
    if (rc < 0 && out->text) {
        out->length = before;
        out->text[before] = '\0';
    }
    return rc;
}
