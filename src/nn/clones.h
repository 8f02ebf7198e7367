/* clones.h - one function compiled for several processors, the best chosen at start */
#pragma once

/* The choice is made before sanitizers are up, so they get the plain function. */
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__SANITIZE_ADDRESS__) &&   \
    !defined(__SANITIZE_THREAD__) && !defined(__clang__)
#define CLONES __attribute__((target_clones("default", "avx", "fma")))
#else
#define CLONES
#endif
