/* tally.c - words of jobs on cells: classes.c puts them in and asks what they come to */
#include "model/tally.h"

#include "model/by_user.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

void tally_fini(struct tally *t)
{
    vec_free(&t->words);
}

static void drop(struct tally *t, size_t at)
{
    for (size_t i = at + 1; i < t->words.count; i++)
        t->words.items[i - 1] = t->words.items[i];
    t->words.count--;
}

static int count_of(const struct tally *t, int owner)
{
    int count = 0;

    vec_each (const struct tally_word, w, &t->words)
        count += w->owner == owner;
    return count;
}

/* The oldest word of the user goes. */
static void drop_oldest_of(struct tally *t, int owner)
{
    for (size_t i = 0; i < t->words.count; i++)
        if (t->words.items[i].owner == owner) {
            drop(t, i);
            return;
        }
}

static void make_room(struct tally *t, int owner)
{
    int loudest = owner, most = 0;

    if (count_of(t, owner) >= TALLY_OF_USER)
        drop_oldest_of(t, owner);
    if (t->words.count < TALLY_WORDS)
        return;
    vec_each (const struct tally_word, w, &t->words) {
        int count = count_of(t, w->owner);

        if (count > most) {
            most = count;
            loudest = w->owner;
        }
    }
    drop_oldest_of(t, loudest);
}

int tally_voice(const struct tally *t, int owner, double *mean)
{
    double sum = 0;
    int count = 0;

    vec_each (const struct tally_word, w, &t->words)
        if (w->owner == owner) {
            sum += w->value;
            count++;
        }
    if (count > 0)
        *mean = sum / count;
    return count;
}

/* True: no word before this one is of the same user. */
static bool is_first(const struct tally *t, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (t->words.items[i].owner == t->words.items[at].owner)
            return false;
    return true;
}

static void sum_up(struct tally *t)
{
    struct by_user voices[TALLY_WORDS];
    double var = 0;

    t->users = 0;
    for (size_t i = 0; i < t->words.count; i++) {
        var += t->words.items[i].var / (double)t->words.count;
        if (!is_first(t, i))
            continue;
        tally_voice(t, t->words.items[i].owner, &voices[t->users].value);
        voices[t->users++].weight = 1;
    }
    t->var = var;
    if (t->users > 0)
        t->mean = by_user_median(voices, (size_t)t->users);
}

void tally_take(struct tally *t, const struct tally_word *word, bool changed)
{
    for (size_t i = t->words.count; i-- > 0;) {
        const struct tally_word *w = &t->words.items[i];

        if (w->owner == word->owner && (changed || w->job == word->job))
            drop(t, i);
    }
    make_room(t, word->owner);
    vec_push(&t->words, *word);
    sum_up(t);
}

void tally_shift(struct tally *t, double by)
{
    vec_each (struct tally_word, w, &t->words)
        w->value += by;
    t->mean += by;
}

void tally_clear(struct tally *t)
{
    vec_clear(&t->words);
    t->users = 0;
}

void tally_code(struct tally *t, struct codec *c)
{
    size_t count = codec_count(c, t->words.count, TALLY_WORDS, 32);

    for (size_t i = 0; i < count; i++) {
        struct tally_word w = {0};

        if (c->out)
            w = t->words.items[i];
        codec_int(c, &w.owner, -1, INT_MAX);
        codec_u64(c, &w.job);
        codec_log(c, &w.value);
        codec_at_least(c, &w.var, 0);
        if (c->in)
            vec_push(&t->words, w);
    }
    codec_or_nan(c, &t->pushed, 1);
    codec_bool(c, &t->inferred);
    if (c->in)
        sum_up(t);
}
