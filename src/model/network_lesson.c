/* network_lesson.c - learned_lesson.c calls it on its copy; the model takes the networks
 * with the rest of the lesson */
#include "model/network_lesson.h"

#include "base/map.h"
#include "base/rng.h"
#include "model/p2.h"
#include "model/pairs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of every so many families one judges. */
#define JUDGES_OF 3

/* Below these nothing is learned: one or two judges are chance. */
#define JUDGES_MIN      3
#define LEARN_GAMES_MIN 12
#define JUDGE_CELLS_MIN 40
#define KNOWN_MIN       4 /* jobs that a game leaves */

#define GROUPS_MOST     24 /* held out */
#define JOBS_MOST       3  /* of each, */
#define SINGLES_MOST    2  /* and of each alone */
#define ASKED_MOST      32
#define STEPS           40
#define GAMES_A_STEP    8
#define RATE            3e-4 /* games are few and lessons many: a little at a time */
#define GAIN_MIN        0.01 /* share of the error; less is chance */
#define STREAM          300

struct game {
    struct attention_case asked;
    int group;
};

typedef vec_of(struct game) games_of;

/* Everything measured that is kept, as one catalogue. */
struct school {
    const struct pairs *p;
    struct pair_catalogue from;
    vec_of(struct cell) cells;
    vec_of(double) values;
    int *groups;   /* (jobs) families, and jobs without one */
    int *cells_of; /* (jobs) own speeds known */
    bool *judge;   /* (jobs) of a family that judges */
    bool *hidden;  /* (jobs) */
    struct rng rng;
    games_of learn[PAIR_NETWORKS], check[PAIR_NETWORKS];
};

/* ---- what is known ------------------------------------------------------------------
 */

static void add_cell(struct school *s, struct cell cell, double value)
{
    vec_push(&s->cells, cell);
    vec_push(&s->values, value);
    s->cells_of[cell.job] += cell.job != cell.other;
}

/* What the core knows, then what it forgot, the newest first. */
static void gather(struct school *s)
{
    const struct pairs *p = s->p;
    struct map *seen = map_create();

    for (size_t i = 0; i < p->core->count; i++) {
        map_put(seen, cell_key(p->core->cells[i]), i);
        add_cell(s, p->core->cells[i], p->core->values[i]);
    }
    for (size_t i = p->replay.kept.count; i-- > 0;) {
        const struct pair_replay_item *item = &p->replay.kept.items[i];
        size_t at;

        if (map_get(seen, cell_key(item->cell), &at))
            continue;
        map_put(seen, cell_key(item->cell), i);
        add_cell(s, item->cell, item->value);
    }
    map_destroy(seen);
    s->from = pairs_catalogue(p, NULL);
    s->from.cells = s->cells.items;
    s->from.values = s->values.items;
    s->from.count = s->cells.count;
}

/* A family judges for ever or never, whatever comes later. */
static void choose_judges(struct school *s)
{
    int families = (int)s->p->core->newest.count;

    for (int j = 0; j < s->from.job_count; j++) {
        int family = s->from.jobs[j].family;

        s->groups[j] = family >= 0 ? family : families + j;
        s->judge[j] = (family >= 0 ? family : j) % JUDGES_OF == JUDGES_OF - 1;
    }
}

/* ---- games --------------------------------------------------------------------------
 */

struct dealt_pairs { /* a job's measured pairs beside jobs that are not hidden */
    struct cell own[PAIRS_MAX + PAIR_REPLAY_MAX];
    double own_value[PAIRS_MAX + PAIR_REPLAY_MAX];
    double effect_value[PAIRS_MAX + PAIR_REPLAY_MAX]; /* NaN: not measured */
    size_t count;
};

static void deal(const struct school *s, int job, struct dealt_pairs *hand)
{
    hand->count = 0;
    for (size_t i = 0; i < s->from.count; i++) {
        struct cell cell = s->from.cells[i];

        if (cell.job != job || s->hidden[cell.other])
            continue;
        hand->own[hand->count] = cell;
        hand->effect_value[hand->count] = NAN;
        hand->own_value[hand->count++] = s->from.values[i];
    }
    for (size_t i = 0; i < s->from.count; i++)
        for (size_t k = 0; s->from.cells[i].other == job && k < hand->count; k++)
            if (s->from.cells[i].job == hand->own[k].other &&
                s->from.cells[i].gpu == hand->own[k].gpu)
                hand->effect_value[k] = s->from.values[i];
}

static void shuffle(struct dealt_pairs *hand, struct rng *rng)
{
    for (size_t i = 0; i + 1 < hand->count; i++) {
        size_t j = i + rng_below(rng, hand->count - i);
        struct cell own = hand->own[i];
        double value = hand->own_value[i], effect = hand->effect_value[i];

        hand->own[i] = hand->own[j];
        hand->own_value[i] = hand->own_value[j];
        hand->effect_value[i] = hand->effect_value[j];
        hand->own[j] = own;
        hand->own_value[j] = value;
        hand->effect_value[j] = effect;
    }
}

/* The first pairs of a hand are shown, of half of the games with their effects. */
static void show(struct school *s, struct pair_sight *view,
                 const struct dealt_pairs *hand, size_t shown)
{
    struct cell cells[PAIR_SHOWN_MAX];
    double values[PAIR_SHOWN_MAX];
    bool both = rng_below(&s->rng, 2) == 0;
    size_t count = 0;

    for (size_t i = 0; i < shown; i++) {
        struct cell own = hand->own[i];

        cells[count] = own;
        values[count++] = hand->own_value[i];
        if (!both || isnan(hand->effect_value[i]))
            continue;
        cells[count] = (struct cell){own.other, own.gpu, own.job};
        values[count++] = hand->effect_value[i];
    }
    pair_view_show(view, cells, values, count);
}

static void add_game(struct school *s, struct pair_sight *view, struct dealt_pairs *hand,
                     size_t shown, int group, bool judges)
{
    int asked[ASKED_MOST];
    nn_real target[ASKED_MOST];
    enum pair_network network = shown > 0 ? PAIR_P2 : PAIR_P1;
    struct game game = {.group = group};
    size_t count = 0;

    if (hand->count < shown + 2)
        return;
    shuffle(hand, &s->rng);
    show(s, view, hand, shown);
    for (size_t i = shown; i < hand->count && count + 2 <= ASKED_MOST; i++) {
        asked[count] = pair_view_find(view, hand->own[i]);
        target[count++] = (nn_real)hand->own_value[i];
        if (isnan(hand->effect_value[i]))
            continue;
        asked[count] =
            pair_view_cell(view, PAIR_EFFECT, hand->own[i].gpu, hand->own[i].other);
        target[count++] = (nn_real)hand->effect_value[i];
    }
    if (network == PAIR_P1)
        p1_case(view, asked, count, &game.asked);
    else
        p2_case(view, asked, count, &game.asked);
    game.asked.target = mem_dup(target, count, sizeof(*target));
    vec_push(judges ? &s->check[network] : &s->learn[network], game);
}

/* Games with a hidden job: nothing, and then this or that shown of it. */
static void play(struct school *s, int job, bool judges)
{
    static const size_t counts[] = {1, 3, 10};
    struct pair_sight *view = pair_view_create(&s->from, job, s->hidden);
    struct dealt_pairs *hand = mem_new(struct dealt_pairs);

    if (view->known_count >= KNOWN_MIN) {
        deal(s, job, hand);
        add_game(s, view, hand, 0, s->groups[job], judges);
        for (int i = 0; i < 2; i++)
            add_game(s, view, hand, counts[rng_below(&s->rng, 3)], s->groups[job],
                     judges);
    }
    pair_view_destroy(view);
    free(hand);
}

/* Judges are hidden from what is learned, and play with everybody else known. */
static void hide(struct school *s, int job, bool family, bool judges)
{
    for (int j = 0; j < s->from.job_count; j++)
        s->hidden[j] = (!judges && s->judge[j]) || j == job ||
                       (family && s->groups[j] == s->groups[job]);
}

static void play_group(struct school *s, int first)
{
    bool judges = s->judge[first];
    int families = 0, singles = 0;

    for (int j = first; j < s->from.job_count && families < JOBS_MOST; j++)
        if (s->groups[j] == s->groups[first] && s->cells_of[j] > 0) {
            hide(s, j, true, judges);
            play(s, j, judges);
            families++;
        }
    for (int j = first; families > 1 && singles < SINGLES_MOST && j < s->from.job_count;
         j++)
        if (s->groups[j] == s->groups[first] && s->cells_of[j] > 0) {
            hide(s, j, false, judges);
            play(s, j, judges);
            singles++;
        }
}

static void make_games(struct school *s)
{
    int jobs = s->from.job_count, held = 0;
    bool *done = mem_array(bool, s->p->core->newest.count + (size_t)jobs + 1);

    /* The newest first: of more than are held out the others had their turn. */
    for (int j = jobs - 1; j >= 0 && held < GROUPS_MOST; j--) {
        int first = 0;

        if (s->cells_of[j] == 0 || done[s->groups[j]])
            continue;
        done[s->groups[j]] = true;
        held++;
        while (s->groups[first] != s->groups[j])
            first++;
        play_group(s, first);
    }
    free(done);
}

/* ---- learning -----------------------------------------------------------------------
 */

/* Mean log error over the cells of a game. */
static double error_of_game(const struct attention *net, const struct game *game)
{
    struct attention_guess said[ASKED_MOST];
    double error = 0;

    attention_answer(net, &game->asked, said);
    for (int q = 0; q < game->asked.cells; q++)
        error += fabs(said[q].mean - (double)game->asked.target[q]);
    return error / game->asked.cells;
}

struct verdict {
    double before, after; /* mean error, each family counting alike */
    int families, better; /* judges, and who is answered better than before */
};

/* Games of a family follow each other. */
static struct verdict judge(const struct attention *old, const struct attention *tried,
                            const games_of *games)
{
    struct verdict v = {0};

    for (size_t first = 0, next; first < games->count; first = next) {
        double before = 0, after = 0;

        for (next = first;
             next < games->count && games->items[next].group == games->items[first].group;
             next++) {
            before += error_of_game(old, &games->items[next]);
            after += error_of_game(tried, &games->items[next]);
        }
        v.before += before / (double)(next - first);
        v.after += after / (double)(next - first);
        v.better += after < before;
        v.families++;
    }
    v.before /= v.families;
    v.after /= v.families;
    return v;
}

/* Enough of them to tell progress from chance? */
static bool can_judge(const games_of *games)
{
    int cells = 0, families = 0;

    for (size_t i = 0; i < games->count; i++) {
        cells += games->items[i].asked.cells;
        families += i == 0 || games->items[i].group != games->items[i - 1].group;
    }
    return cells >= JUDGE_CELLS_MIN && families >= JUDGES_MIN;
}

static void train(struct school *s, struct attention *net, const games_of *games)
{
    struct attention_trainer *trainer = attention_trainer_create(net, RATE, STEPS);
    struct attention_case *batch[GAMES_A_STEP];

    for (int t = 0; t < STEPS; t++) {
        for (int i = 0; i < GAMES_A_STEP; i++)
            batch[i] = &games->items[rng_below(&s->rng, games->count)].asked;
        attention_train_step(trainer, batch, GAMES_A_STEP);
    }
    attention_repack(net);
    attention_trainer_destroy(trainer);
}

/* The network after the lesson: *net, or what it was. */
static void learn(struct school *s, enum pair_network which, struct attention **net,
                  struct network_progress *progress)
{
    const games_of *learned = &s->learn[which], *judged = &s->check[which];
    struct attention *tried;
    struct verdict v;

    if (learned->count < LEARN_GAMES_MIN || !can_judge(judged))
        return;
    tried = attention_dup(*net);
    train(s, tried, learned);
    v = judge(*net, tried, judged);
    progress->before = v.before;
    progress->after = v.after;
    if (v.after < (1 - GAIN_MIN) * v.before && 2 * v.better > v.families) {
        attention_destroy(*net);
        *net = tried;
        progress->taken++;
    } else {
        attention_destroy(tried);
        progress->rolled_back++;
    }
}

static void games_fini(games_of *games)
{
    vec_each (struct game, g, games)
        attention_case_fini(&g->asked);
    vec_free(games);
}

void network_lesson_study(struct pairs *p, uint64_t seed)
{
    size_t jobs = (size_t)p->core->job_count;
    struct school s = {.p = p,
                       .groups = mem_array(int, jobs + 1),
                       .cells_of = mem_array(int, jobs + 1),
                       .judge = mem_array(bool, jobs + 1),
                       .hidden = mem_array(bool, jobs + 1)};

    gather(&s);
    rng_stream(&s.rng, seed, STREAM + s.cells.count);
    choose_judges(&s);
    make_games(&s);
    learn(&s, PAIR_P1, &p->p1, &p->progress[PAIR_P1]);
    learn(&s, PAIR_P2, &p->p2, &p->progress[PAIR_P2]);
    for (int n = 0; n < PAIR_NETWORKS; n++) {
        games_fini(&s.learn[n]);
        games_fini(&s.check[n]);
    }
    vec_free(&s.cells);
    vec_free(&s.values);
    free(s.groups);
    free(s.cells_of);
    free(s.judge);
    free(s.hidden);
}
