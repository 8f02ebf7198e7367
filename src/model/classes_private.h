/* classes_private.h - what classes.c and classes_checkpoint.c share */
#pragma once

#include "model/classes.h"

/* Room for one more class in what is kept here; the parts get it from their users. */
void classes_push(struct classes *classes, int kind, int user);

/* A cell never told of before; takes the tally.  Returns its index. */
size_t classes_push_pair(struct classes *classes, const struct class_pair *pair);
size_t classes_push_gang(struct classes *classes, const struct class_gang_tally *gang);
