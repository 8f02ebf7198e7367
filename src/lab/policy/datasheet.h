/* datasheet.h - a model without networks: data-sheet ratios, corrected by running means
 *
 * The first estimate of a job is its work divided by what the data sheet promises, or,
 * when nothing is told of its work, the rate it asks for.  Every observation moves it and
 * its like. It is the floor any learned model has to beat. */
#pragma once

#include "loop/types.h"
#include "model/model.h"

/* Types are borrowed and must outlive the model. */
struct model datasheet_model_create(const struct gpu_sheet *types, int type_count);
