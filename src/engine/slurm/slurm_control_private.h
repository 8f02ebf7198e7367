/* slurm_control_private.h - the inside of slurm_control.h: slurm_control.c has the
 * operations and the rows, slurm_identity.c what is ours, slurm_judge.c what follows from
 * a look, slurm_placing.c the orders, slurm_order_members.c what they say */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "engine/slurm/slurm_control.h"
#include "engine/slurm/slurm_mark.h"

#define NOBODY UINT64_MAX /* tag of an order that no job of ours waits for */
/* A slurmctld that was killed and forgot that a job runs kills it some seconds after its
 * start, which takes KillWait.  Until then slurmd takes a second start of that number for
 * a mistake, and slurmctld drains the node ("Duplicate jobid"). */
#define SLURM_FORGOTTEN_S 8.0
#define SLURM_TAIL_SIZE   17 /* the end of a digest, which stands in a ref */

/* Where it stands, as far as we know. */
enum slurm_stage {
    STAGE_ENTERING, /* not in Slurm, or nobody knows whether it is */
    STAGE_HELD,     /* waits on hold */
    STAGE_PLACED,   /* was released, and is to begin */
    STAGE_RUNS,
    STAGE_LOOSE,   /* waits, and not on hold: Slurm itself queued it again */
    STAGE_LEAVING, /* cancelled, and Slurm has not shown its end */
    STAGE_ENDED,   /* until Slurm forgets it */
};

/* What is to be done next; one order a job is under way. */
enum slurm_wish {
    WISH_NOTHING,
    WISH_SUBMIT,
    WISH_START,
    WISH_HOLD,
    WISH_CANCEL,
    WISH_SIGNAL, /* to checkpoint */
    WISH_REQUEUE,
    WISH_LOOK_UP /* what became of it, in Slurm's own book of ends */
};

/* What the last look that told of it showed. */
struct slurm_shown {
    bool there;
    enum slurm_job_stands stands;
    bool held, launch_failed, depends, completing;
    double submit_s, start_s, end_s;
    int restarts, exit_status, signal;
    int cpus, num_nodes;
    double memory_mb;
    int node_gpus;
    bool bare;                       /* only its mark says how many GPUs it asks for */
    char node_type[SLURM_TYPE_SIZE]; /* "": any */
    char state[24];
    char *comment; /* NULL: none */
    int device_count, devices[LOOP_MAX_GANG];
};

struct slurm_ours {
    uint64_t job;
    char id[SLURM_ID_SIZE];     /* "": not known */
    char tail[SLURM_TAIL_SIZE]; /* of its digest */
    uint64_t who;               /* its user and what they call it, as a hash */
    uint64_t belongs; /* its account, QOS and partition as the daemon knows them,
                         likewise */
    double submit_s;  /* when it was handed in under this id, as shown last; 0: never */
    int restarts;     /* likewise */
    char *submit;     /* members of the order that hands it in; NULL: a user did */
    enum slurm_stage stage;
    enum slurm_wish wish, under_way;
    int attempt; /* the daemon has told to start, */
    bool live;   /* and waits for the end of it */
    int device_count, devices[LOOP_MAX_GANG];
    uint64_t pin; /* GPUs by name it asks for since it was placed, as bits; 0: none */
    bool shares;  /* its device with others, if the node has shards */
    int checkpoint_signal; /* before a move; 0: none */
    double grace_s;        /* it may take for that */
    double parked_s;       /* it has had that time, epoch; 0: nobody signalled it;
                              infinite: it may be queued again */
    double began_s;        /* start that was told; 0: none */
    double ran_from_s;     /* when it ran last, as shown; 0: never */
    int ran_restarts;      /* as Slurm counted then */
    bool stopping;         /* the daemon said so; */
    bool moving;           /* it goes on elsewhere */
    bool holding;          /* it did not begin in time, and was held */
    bool released;         /* by this daemon: whoever holds it now is somebody else */
    bool doubted; /* the helper says its number is somebody else's: a look tells */
    bool end_due; /* of an attempt Slurm never heard of */
    bool told_depends;
    double until_s; /* it should have begun, epoch */
    double rest_s;  /* it may be released from then on, epoch */
    double held_s;  /* a look showed it on hold last, epoch; 0: none has */
    long freed_at;  /* on hold no more: judged when settings were told so often; 0: not */
    long judge_from; /* looks before this one may have begun too early */
    double gone_s;   /* since when Slurm does not show it; 0: it does */
    double alive_s;  /* the last look before it was gone, epoch; 0: not known */
    double blind_s;  /* nobody looked for so long before it was gone */
    bool looked_up;
    bool book_away;     /* Slurm's book of ends did not answer in all that time */
    double ask_again_s; /* it is asked again from then on, epoch; 0: it was not asked */
    double asks_s;      /* of a job that is shown: since when, epoch */
    struct slurm_shown shown;
};

struct slurm_control {
    struct slurm_node_table *nodes;
    struct slurm_job_table *watched;
    struct helper_link *link;
    struct engine_sink sink;
    char *partitions;
    double start_s;
    double kill_wait_s, min_job_age_s; /* Slurm's; 0 of the latter: it forgets nothing */
    double denied_s;  /* Slurm lets us change nothing: no order before then, epoch */
    char denied[200]; /* what it said */
    double boot_s;    /* slurmctld began then, epoch; -1: not known yet */
    long confs;       /* so often that was told; */
    bool asks_conf;   /* it is to be told again */
    double looked_s; /* the last complete look, epoch, also of a daemon before; 0: none */
    char *looked_path; /* a file of that time; NULL: nobody remembers */
    bool sharing;
    const char *probe, *report, *report_ca; /* borrowed; NULL: none */
    char identity[SLURM_DIGEST_SIZE]; /* with it begins the digest of what we hand in */
    vec_of(struct slurm_ours *) jobs;
    struct map *by_job, *by_id; /* places in jobs */
    long looks;                 /* complete ones since the start */
};

/* slurm_identity.c: jobs we handed in before are known again by the identity; a ref is
 * read again (false: it is none of ours) */
void slurm_identity_know(struct slurm_control *control, const char *state_dir);
void slurm_ours_tail(const char *digest, char tail[SLURM_TAIL_SIZE]);
void slurm_ours_ref(const struct slurm_ours *job, char *text, size_t size);
bool slurm_ours_read_ref(const char *ref, char id[SLURM_ID_SIZE],
                         char tail[SLURM_TAIL_SIZE]);
uint64_t slurm_ours_who(uid_t uid, const char *name);
/* Its digest, when we handed it in. */
void slurm_ours_digest(const struct slurm_control *control, uint64_t job,
                       char digest[SLURM_DIGEST_SIZE]);

/* When the last look was: a file's time tells the next daemon. */
void slurm_identity_looked(struct slurm_control *control, double now_s);

/* slurm_control.c */
void slurm_ours_name(struct slurm_control *control, struct slurm_ours *job,
                     const char *id); /* "": it has none any more */
void slurm_ours_lose(
    struct slurm_ours *job); /* nobody shows it under its name any more */
void slurm_ours_drop(struct slurm_control *control, struct slurm_ours *job);

/* What comes first of a move: the checkpoint, then the queue. */
static inline enum slurm_wish slurm_move_wish(const struct slurm_ours *job)
{
    return job->checkpoint_signal > 0 && job->parked_s == 0 ? WISH_SIGNAL : WISH_REQUEUE;
}

/* slurm_judge.c: a look is complete, what follows for this job?  It may be gone then. */
void slurm_judge(struct slurm_control *control, struct slurm_ours *job, double now_s);
/* What Slurm's book of ends says of it (the helper's answer; code: of one that is an
 * error, else NULL); it is gone then. */
void slurm_judge_book(struct slurm_control *control, struct slurm_ours *job,
                      const struct json_value *answer, const char *code, double now_s);
/* The attempt is over, if the daemon waits for that; the job is. */
void slurm_tell_end(const struct slurm_control *control, struct slurm_ours *job,
                    enum engine_end end, double at_s, const char *text);
void slurm_tell_over(const struct slurm_control *control, const struct slurm_ours *job,
                     enum engine_end end, double at_s, const char *text);
void slurm_tell_entered(const struct slurm_control *control, const struct slurm_ours *job,
                        double now_s);

/* slurm_order_members.c: members of orders, without braces; the caller frees.  NULL: the
 * devices cannot be asked for, and err says why. */
char *slurm_submit_members(const struct slurm_control *control,
                           const struct engine_job *job);
const char *slurm_submit_name(const struct engine_job *job); /* what Slurm calls it */
char *slurm_place_members(const struct slurm_control *control,
                          const struct slurm_ours *job, struct err *err);
/* Which GPUs of its nodes it is to have by name, as bits; 0: others on each, or none have
 * names. */
uint64_t slurm_ours_pinned(const struct slurm_control *control,
                           const struct slurm_ours *job);
/* Does only the mark say how many GPUs it asks for? */
bool slurm_ours_is_bare(const struct slurm_control *control,
                        const struct slurm_ours *job);
