/* train_alone.h - rows to train the network of rates alone on (model/ratios.h)
 *
 * From worlds drawn by the generator: a catalogue, full or with holes, and jobs that are
 * not in it (nor, half of the time, their family), of which a few types were measured;
 * the other types are to be told. */
#ifndef CORGI_LAB_EVAL_TRAIN_ALONE_H
#define CORGI_LAB_EVAL_TRAIN_ALONE_H

#include "lab/eval/train_data.h"

/* The caller ends it with train_data_fini(). */
void train_alone_init(struct train_data *data, int worlds, uint64_t seed);

#endif
