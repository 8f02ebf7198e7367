/* fuzz_philly.c - a list that is taken has arrivals in order that ran on GPUs */
#include "fuzz/fuzz.h"

#include "fuzz/fuzz_arrivals.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_read_arrivals(data, size, ARRIVALS_PHILLY);
}
