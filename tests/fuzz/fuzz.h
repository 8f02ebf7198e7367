/* fuzz.h - the one function a fuzz target has, called by libFuzzer or by standalone.c */
#pragma once

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
