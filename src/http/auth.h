/* auth.h - who is asking, what they may do, and how often
 *
 * On the Unix socket the kernel tells the user; elsewhere a bearer token does.  Tokens
 * look like corgi-ID-SECRET: ID is public and finds the record, of the rest only the
 * SHA-256 is ever kept. */
#pragma once

#include "base/config.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Each may do what those before it may, save that a viewer does not report: see
 * auth_role_may(). */
enum auth_role {
    AUTH_NOBODY,   /* of a route: needs no identity; of an identity: unknown */
    AUTH_REPORTER, /* tells what the probe of one job saw, and nothing else */
    AUTH_VIEWER,   /* looks, changes nothing */
    AUTH_USER,     /* submits, and has the say over their own jobs */
    AUTH_OPERATOR, /* has the say over everything */
};

const char *auth_role_name(enum auth_role role);
bool auth_role_may(enum auth_role role, enum auth_role least); /* of a route */
bool auth_role_named(const char *name, enum auth_role *role);

#define AUTH_NAME_SIZE    64
#define AUTH_ID_SIZE      17 /* 16 hex digits and the end */
#define AUTH_TOKEN_SIZE   80
#define AUTH_DIGEST_BYTES 32

#define AUTH_NO_ID        ((uid_t)-1) /* also as gid_t and pid_t */

struct auth_identity {
    enum auth_role role;
    char name[AUTH_NAME_SIZE]; /* the user's; "" for nobody */
    uid_t uid;                 /* AUTH_NO_ID: none */
    gid_t gid;
    pid_t pid;                /* of the asking process on the Unix socket; else 0 */
    bool local;               /* came through the Unix socket */
    char token[AUTH_ID_SIZE]; /* the public part; "" for none */
    uint64_t job;             /* of a reporter: the only one it may speak for; else 0 */
    /* Of a reporter without job: of its token, which says for which jobs. */
    unsigned char digest[AUTH_DIGEST_BYTES];
};

/* ---- tokens ------------------------------------------------------------------------ */

struct auth_token_record {
    unsigned char digest[AUTH_DIGEST_BYTES]; /* SHA-256 of the whole token */
    struct auth_identity identity;           /* of whoever shows it */
    double expires_s;                        /* since 1970; 0: never */
};

/* A new token from the system's random source: its text, shown once, and what to keep. */
struct auth_token {
    char text[AUTH_TOKEN_SIZE];
    char id[AUTH_ID_SIZE];
    unsigned char digest[AUTH_DIGEST_BYTES];
};

int auth_token_make(struct auth_token *token, struct err *err);

/* The parts of a token someone showed; false when it cannot be one of ours. */
bool auth_token_read(const char *text, struct auth_token *token);

/* ---- tokens of jobs ----------------------------------------------------------------
 *
 * corgi-job-ID-EXPIRES-MAC.  A daemon makes one for a job from a key of its own and keeps
 * nothing: the MAC says that it made it.  Whoever shows it may report for that job. */

#define AUTH_KEY_BYTES      32
#define AUTH_JOB_TOKEN_SIZE 96

int auth_key_make(unsigned char key[AUTH_KEY_BYTES], struct err *err);

int auth_job_token_make(const unsigned char key[AUTH_KEY_BYTES], uint64_t job,
                        double expires_s, char text[AUTH_JOB_TOKEN_SIZE],
                        struct err *err);

/* False: it is not one that was made with this key, or its time is over. */
bool auth_job_token_check(const unsigned char key[AUTH_KEY_BYTES], const char *text,
                          double now_s, uint64_t *job);

/* ---- rules ------------------------------------------------------------------------- */

struct auth_rules {
    /* Local users and groups by name, of char *, borrowed.  root is always an operator,
     * and so is the user the daemon runs as. */
    struct config_list operators;
    struct config_list operator_groups;
    struct config_list viewers; /* local users who may only look */
    enum auth_role local_role;  /* of all other local users; AUTH_NOBODY shuts them out */
    enum auth_role anonymous_role; /* over TCP without a token; AUTH_NOBODY as a rule */
    /* Find a token by its public part; false: no such token.  NULL: no tokens. */
    bool (*find_token)(void *ctx, const char *id, struct auth_token_record *record);
    void *ctx;
    const unsigned char *job_key; /* (AUTH_KEY_BYTES) of tokens of jobs; NULL: none */
    /* Does a job have a token of this digest, see base/slurm_token.h?  NULL: none. */
    bool (*knows_digest)(void *ctx, const unsigned char digest[AUTH_DIGEST_BYTES]);
};

/* The numbers of who is at the other end of a Unix socket; neither name nor role yet. */
bool auth_peer(int socket, struct auth_identity *identity);

/* Their name and role, from the system's accounts, which may take a while.  An account
 * without a name is "uid:1234". */
void auth_account(const struct auth_rules *rules, struct auth_identity *identity);

/* Whose token this is, from the value of an Authorization header; NULL: none was sent.
 * False: it is wrong, expired or of no known kind.  now_s since 1970. */
bool auth_bearer(const struct auth_rules *rules, const char *header, double now_s,
                 struct auth_identity *identity);

/* ---- how often --------------------------------------------------------------------- */

struct auth_rate;

/* A bucket each: per_s tokens a second flow into it, and it holds `burst`.  At most
 * `most` buckets are kept; full ones are forgotten first. */
struct auth_rate *auth_rate_create(double per_s, double burst, int most);
void auth_rate_destroy(struct auth_rate *rate); /* NULL is fine */

/* Take that many tokens of whoever the key stands for; false when there are too few, and
 * *wait_s is how long until there are enough. */
bool auth_rate_take(struct auth_rate *rate, uint64_t key, double tokens, double now_s,
                    double *wait_s);
