/* paths.h - the best long chain from one record
 *
 * Trying all chains ends at a depth of six or eight.  Where two jobs that are alone could
 * share if a dozen pairs in between changed partners, what is needed is a path: for every
 * task the best way found so far to make it the loose one, improved until nothing
 * changes.  Types come with their prices; what is used too much in the end is left to
 * the chains. */
#pragma once

#include "lab/solver/chains_private.h"

/* The chain has begun and is empty; true when a move was made. */
bool paths_from(struct chain *c, int record);
