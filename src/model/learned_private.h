/* learned_private.h - the inside of the learned model, for learned*.c only */
#pragma once

#include "base/intern.h"
#include "base/map.h"
#include "base/vec.h"
#include "model/calibration.h"
#include "model/classes.h"
#include "model/doubt.h"
#include "model/learned.h"
#include "model/prediction_cache.h"
#include "model/job_effects.h"
#include "model/running.h"
#include "model/gangs.h"

/* Serving a request is a part of a training step: what it is faster by is learned. */
struct learned_shift {
    double mean, weight;
    double used; /* what is taken from rates of services now: follows the mean in steps */
};

/* Observations absorbed so far, and sudden changes noticed. */
struct learned_counts {
    uint64_t rates, pairs, changes, failures;
};

struct learned_class {
    uint64_t name, family; /* hashes, of this user; family 0: none told */
    uint64_t kind_name;    /* the same whoever's it is */
    int user;
    int kind;
    double params_millions;
    bool service;
    int twin;      /* the same model served or trained; -1: never seen */
    uint64_t used; /* when a job of it came last, counted in jobs */
};

/* What one user's windows say of windows and jobs in general, see learned_users.c. */
struct learned_user {
    int owner;
    struct pooled noise[2], alone, beside;
    struct doubt doubt; /* how many are wrong */
    double wander, wander_s, products, product_weight;
    struct {
        double mean, weight;
    } shift;
    double notes; /* figures told where all users count together */
};

struct learned {
    struct learned_options options;
    struct classes *classes;
    struct gangs *scale;
    struct job_effects *own;
    struct intern *families;           /* by name, */
    struct intern *own_families;       /* and each user's own */
    struct map *names;                 /* hash of what a user tells -> class */
    struct map *kind_names;            /* the same of all users -> kind */
    vec_of(struct learned_class) kept; /* (classes) */
    struct map *user_index;            /* user -> users */
    vec_of(struct learned_user) users;
    /* Over all users, as learned_users_combine() makes them: */
    struct pooled noise[2];      /* of windows: alone, beside others */
    struct pooled alone, beside; /* between jobs of a class */
    double wrong;                /* share of windows */
    struct learned_shift service;
    double wander, wander_s;         /* variance beyond noise, and the time it took */
    double products, product_weight; /* of factors of one job on two types */
    struct calibration calibration;  /* of what was never measured */
    struct learned_counts counts;
    uint64_t adapted_at; /* cells of pairs at the last lesson, */
    double adapted_s;    /* and when that was, on the loop's clock */
    uint64_t stamp, came;
    size_t class_room, cell_room; /* beyond these something is to be forgotten */
    /* What absorb() asks with: nobody else does, so that questions leave no trace. */
    struct prediction_cache *absorbing;
    uint64_t version;    /* counts up with everything that changes the model */
    uint64_t generation; /* the version since which classes have their numbers */
};

/* A family's name behind the number of its user. */
#define LEARNED_FAMILY_SIZE (DESCRIPTOR_FAMILY_SIZE + 12)

/* Cells of pairs whose means are kept. */
#define LEARNED_CELLS 65536

/* Forget a quarter of the classes, but none with jobs here. */
void learned_compact(struct learned *learned);

#define LEARNED_ASKED_MAX 16

/* A question: the model as it is read, and classes that were never begun. */
struct learned_question {
    const struct learned *model;
    struct prediction_cache *cache; /* of the reader; NULL: none */
    struct class_guests guests;
    struct learned_class guests_told[LOOP_MAX_SHARE];
    const struct job *guest_jobs[LOOP_MAX_SHARE];
    /* Without a cache: pairs this very question has asked for, as the next step of an
     * answer asks for the same again. */
    struct learned_asked {
        int kind, type, other;
        struct class_guess guess;
    } pairs[LEARNED_ASKED_MAX];
    int pair_count;
};

/* A job among those of a combination: everything asked of it is asked through this. */
struct learned_member {
    struct learned_question *asked;
    const struct job *job;
    const struct job_own *own;        /* NULL: nothing was measured of it */
    const struct learned_class *told; /* of its class */
    struct footprint_item size;
    int cls, kind, type, devices;
    bool spread;
    int neighbours;
    int others[LOOP_MAX_SHARE - 1];     /* their kinds, sorted, */
    int who[LOOP_MAX_SHARE - 1];        /* which members they are, */
    double busy[LOOP_MAX_SHARE - 1];    /* the share of time each is at work, */
    double demands[LOOP_MAX_SHARE - 1]; /* and what is asked of each, as `demand` */
    double demand;                      /* see struct member */
};

/* Who they are; the question and the members belong together and point at each other. */
void learned_members(const struct learned *learned, struct prediction_cache *cache,
                     const struct combination *where, struct learned_question *asked,
                     struct learned_member *members);

void learned_begin(void *self, const struct job *job);

/* Accounts of users (learned_users.c).  What was added to one counts once it is combined
 * with the others'. */
void learned_users_init(struct learned *learned);
void learned_users_fini(struct learned *learned);
struct learned_user *learned_user(struct learned *learned,
                                  int owner); /* until the next */
void learned_users_combine(struct learned *learned);
void learned_users_code(struct learned *learned, struct codec *c);
/* A figure of this user is to count where all count together: how much, 0..1? */
double learned_user_share(struct learned *learned, int owner);

struct window_noise learned_noise(const struct learned *learned, bool shared);

/* Of the class: ln rate of its devices alone, ln relative speed beside the others, as
 * busy as they are or if they worked all the time. */
struct class_guess learned_alone(const struct learned_member *m);
struct class_guess learned_beside(const struct learned_member *m, bool all_busy);
/* What is believed of the job's own ln rate; `beside` as by learned_beside(). */
struct class_guess learned_believe(const struct learned_member *m,
                                   const struct class_guess *beside);
/* The same if nothing had been measured in this place. */
struct class_guess learned_expect(const struct learned_member *m,
                                  const struct class_guess *beside);
/* Beside one of them if that worked all the time. */
struct class_guess learned_beside_one(const struct learned_member *m, int other);

/* Services work only part of the time.  The share of it at this rate; */
double learned_at_work(double demand, double rate);
/* a relative speed beside who works all the time, made one beside who works `busy` of
 * it, and back (*gain: how an error of the log grows by it); */
double learned_relative_at(double full, double busy);
double learned_relative_full(double at, double busy, double *gain);
/* and what is filled in once all members of a device are known. */
void learned_fill_busy(struct learned_member *members, int count);

/* ln of what the member does now over what it did in this place, whose neighbours were
 * busier or less so. */
double learned_eased(const struct learned_member *m, const struct job_place *place);

/* Its windows in this company; NULL: nothing that was measured there is believed. */
const struct job_place *learned_own_place(const struct learned_member *m);

/* What a belief of a place where the job never was rests on, see calibration.h. */
int learned_basis(const struct learned_member *m);

/* ln gain of the member's devices over one of them. */
struct gangs_guess learned_gain(const struct learned_member *m);

/* ln of what serving is faster by; 0 for training. */
double learned_shift(const struct learned_member *m, double *var);

/* Of a device: watts, and *speed the ln of what the cap leaves of the rate. */
void learned_watts(const struct learned_member *members, const double *relative,
                   const struct combination *where, struct estimate *out, double *speed);

void learned_predict(const void *self, struct prediction_cache *cache,
                     const struct combination *where, struct prediction *out);
void learned_absorb(void *self, const struct observation *seen);
