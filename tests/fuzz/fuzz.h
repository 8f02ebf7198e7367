/* fuzz.h - the one function a fuzz target has, called by libFuzzer or by standalone.c */
#ifndef CORGI_TESTS_FUZZ_H
#define CORGI_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
