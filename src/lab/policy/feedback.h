/* feedback.h - no estimator, only feedback
 *
 * Every job is expected to be like every other: one constant a GPU type, one for sharing,
 * one for watts.  What was measured of a job corrects what is believed of that very job
 * and of nothing else.  The floor that shows what estimating is worth. */
#pragma once

#include "loop/types.h"
#include "model/model.h"

/* Types are borrowed and must outlive the model. */
struct model feedback_model_create(const struct gpu_sheet *types, int type_count);
