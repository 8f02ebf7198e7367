/* torch.h - the same networks in libtorch, where the comparison was built
 *
 * bench/torch.cpp is a program of its own beside corgi, built only where libtorch is
 * installed; corgi itself never links it. */
#ifndef CORGI_LAB_BENCH_TORCH_H
#define CORGI_LAB_BENCH_TORCH_H

#include <stdbool.h>

struct torch_times {
    double network_ms;    /* answers for so many cells */
    double train_step_ms; /* one step of the same batch */
};

/* False when the program is not there or says nothing sensible. */
bool torch_measure(int cells, struct torch_times *times);

#endif
