/* descriptor.c - names of model kinds, see descriptor.h */
#include "world/descriptor.h"

#include <stddef.h>
#include <strings.h>

const char *const model_kind_names[MODEL_KIND_COUNT + 1] = {
    [MODEL_UNKNOWN] = "unknown",
    [MODEL_CONV] = "conv",
    [MODEL_ATTENTION] = "attention",
    [MODEL_RNN] = "rnn",
    [MODEL_EMBEDDING] = "embedding",
    [MODEL_GAN] = "gan",
    [MODEL_RL] = "rl",
    [MODEL_DIFFUSION] = "diffusion",
    [MODEL_OTHER] = "other",
};

/* Words people use for the same. */
static const struct {
    const char *word;
    enum model_kind kind;
} synonyms[] = {
    {"cnn", MODEL_CONV},         {"transformer", MODEL_ATTENTION},
    {"llm", MODEL_ATTENTION},    {"lstm", MODEL_RNN},
    {"gru", MODEL_RNN},          {"recommendation", MODEL_EMBEDDING},
    {"reinforcement", MODEL_RL},
};

enum model_kind model_kind_find(const char *name)
{
    for (int k = 0; k < MODEL_KIND_COUNT; k++)
        if (!strcasecmp(name, model_kind_names[k]))
            return (enum model_kind)k;
    for (size_t i = 0; i < sizeof(synonyms) / sizeof(synonyms[0]); i++)
        if (!strcasecmp(name, synonyms[i].word))
            return synonyms[i].kind;
    return MODEL_UNKNOWN;
}
