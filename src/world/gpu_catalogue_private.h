/* gpu_catalogue_private.h - the rows gpu.c looks up; everyone else asks gpu.h */
#ifndef CORGI_WORLD_GPU_CATALOGUE_PRIVATE_H
#define CORGI_WORLD_GPU_CATALOGUE_PRIVATE_H

#include "world/gpu_sheet.h"

struct gpu_alias {
    const char *alias;
    const char *name; /* key of a card */
};

extern const struct gpu_sheet gpu_catalogue_cards[]; /* (gpu_catalogue_size) */
extern const size_t gpu_catalogue_size;
extern const struct gpu_alias gpu_catalogue_aliases[]; /* (gpu_catalogue_alias_count) */
extern const size_t gpu_catalogue_alias_count;

#endif
