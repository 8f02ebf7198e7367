/* network_choice.c - service_config.c reads the names, pairs.c asks for the kind */
#include "model/network_choice.h"

const char *const network_choice_names[NETWORKS_CHOICES + 1] = {"auto", "ff", "gru",
                                                                "transformer", NULL};

enum set_reader_kind network_choice_kind(enum network_choice choice)
{
    static const enum set_reader_kind kinds[NETWORKS_CHOICES] = {
        [NETWORKS_AUTO] = SET_READER_FF,
        [NETWORKS_FF] = SET_READER_FF,
        [NETWORKS_GRU] = SET_READER_GRU,
        [NETWORKS_TRANSFORMER] = SET_READER_TRANSFORMER,
    };

    return kinds[choice];
}
