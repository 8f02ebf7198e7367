/* network_progress.c - pairs.c codes it for checkpoints */
#include "model/network_progress.h"

void network_progress_code(struct network_progress *p, struct codec *c)
{
    codec_u64(c, &p->taken);
    codec_u64(c, &p->rolled_back);
    codec_at_least(c, &p->before, 0);
    codec_at_least(c, &p->after, 0);
}
