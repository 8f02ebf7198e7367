/* gpus.c - see gpus.h */
#include "engine/local/gpus.h"

#include <stddef.h>

struct gpus *gpus_open(const struct gpus_options *options, struct err *err)
{
    (void)options;
    err_set(err, ERR_UNSUPPORTED, "GPUs cannot be used by this version");
    return NULL;
}

void gpus_close(struct gpus *gpus)
{
    (void)gpus;
}

int gpus_count(const struct gpus *gpus)
{
    (void)gpus;
    return 0;
}

const char *gpus_uuid(const struct gpus *gpus, int gpu)
{
    (void)gpus;
    (void)gpu;
    return "";
}

const struct gpu_sheet *gpus_sheet(const struct gpus *gpus, int gpu)
{
    (void)gpus;
    (void)gpu;
    return NULL;
}

bool gpus_energy(struct gpus *gpus, int gpu, struct gpus_energy *energy)
{
    (void)gpus;
    (void)gpu;
    (void)energy;
    return false;
}

bool gpus_package_energy(struct gpus *gpus, struct gpus_energy *energy)
{
    (void)gpus;
    (void)energy;
    return false;
}

bool gpus_present(struct gpus *gpus, int gpu, char *text, size_t size)
{
    (void)gpus;
    (void)gpu;
    (void)text;
    (void)size;
    return true;
}

int gpus_cap(struct gpus *gpus, int gpu, double watts, struct err *err)
{
    (void)gpus;
    (void)gpu;
    (void)watts;
    return err_set(err, ERR_UNSUPPORTED, "GPUs cannot be used by this version");
}
