/* digest.h - SHA-256, for request bodies, tokens and checkpoints */
#ifndef CORGI_STORE_DIGEST_H
#define CORGI_STORE_DIGEST_H

#include <stddef.h>

#define STORE_DIGEST_BYTES 32

void store_digest(const void *bytes, size_t count,
                  unsigned char digest[STORE_DIGEST_BYTES]);

#endif
