/* auth.c - server.c asks here who is at the other end of a Unix socket, request.c whose
 * token it was shown and whether they ask too often, and service/ makes new tokens;
 * OpenSSL does the hashing */
#include "http/auth.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/slurm_token.h"
#include "base/str.h"
#include "base/vec.h"

#include <grp.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_GROUPS    1024
#define ACCOUNT_BYTES 16384
#define BEARER        "Bearer "

#define ID_DIGITS     16
#define SECRET_DIGITS 43 /* 256 bits in base 64, without padding */

static const char prefix[] = "corgi-";

static const char job_prefix[] = "corgi-job-";

static const char *const role_names[] = {"nobody", "reporter", "viewer", "user",
                                         "operator"};

const char *auth_role_name(enum auth_role role)
{
    return role_names[role];
}

bool auth_role_may(enum auth_role role, enum auth_role least)
{
    if (role == AUTH_VIEWER && least == AUTH_REPORTER)
        return false; /* a viewer changes nothing */
    return role >= least;
}

bool auth_role_named(const char *name, enum auth_role *role)
{
    for (int i = AUTH_NOBODY; i <= AUTH_OPERATOR; i++) {
        if (!strcmp(name, role_names[i])) {
            *role = (enum auth_role)i;
            return true;
        }
    }
    return false;
}

static bool listed(const struct config_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (!strcmp(((char **)list->items)[i], name))
            return true;
    return false;
}

static void name_of(uid_t uid, char *name, size_t size)
{
    char *buffer = mem_array(char, ACCOUNT_BYTES);
    struct passwd account, *found = NULL;

    if (getpwuid_r(uid, &account, buffer, ACCOUNT_BYTES, &found) == 0 && found)
        str_copy(name, size, found->pw_name);
    else
        snprintf(name, size, "uid:%lu", (unsigned long)uid);
    free(buffer);
}

/* Is the group, or one the account lists it in, among those named? */
static bool in_groups(const struct config_list *wanted, const char *user, gid_t gid)
{
    gid_t *groups = mem_array(gid_t, MAX_GROUPS);
    char *buffer = mem_array(char, ACCOUNT_BYTES);
    int count = MAX_GROUPS;
    bool found = false;

    if (getgrouplist(user, gid, groups, &count) < 0)
        count = MAX_GROUPS; /* more than we look at */
    for (int i = 0; i < count && !found; i++) {
        struct group group, *known = NULL;

        if (getgrgid_r(groups[i], &group, buffer, ACCOUNT_BYTES, &known) == 0 && known)
            found = listed(wanted, known->gr_name);
    }
    free(buffer);
    free(groups);
    return found;
}

static enum auth_role local_role(const struct auth_rules *rules,
                                 const struct auth_identity *who)
{
    if (who->uid == 0 || who->uid == geteuid() || listed(&rules->operators, who->name))
        return AUTH_OPERATOR;
    if (rules->operator_groups.count > 0 &&
        in_groups(&rules->operator_groups, who->name, who->gid))
        return AUTH_OPERATOR;
    if (listed(&rules->viewers, who->name))
        return AUTH_VIEWER;
    return rules->local_role;
}

bool auth_peer(int socket, struct auth_identity *identity)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);

    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        return false;
    *identity = (struct auth_identity){
        .local = true, .uid = peer.uid, .gid = peer.gid, .pid = peer.pid};
    return true;
}

void auth_account(const struct auth_rules *rules, struct auth_identity *identity)
{
    name_of(identity->uid, identity->name, sizeof(identity->name));
    identity->role = local_role(rules, identity);
}

/* ---- tokens ------------------------------------------------------------------------ */

static bool digest_of(const char *text, unsigned char digest[AUTH_DIGEST_BYTES])
{
    unsigned length = AUTH_DIGEST_BYTES;

    return EVP_Digest(text, strlen(text), digest, &length, EVP_sha256(), NULL) == 1;
}

/* 256 bits in SECRET_DIGITS digits that may stand in a header and in a file name. */
static void code_secret(const unsigned char bytes[32], char *text)
{
    unsigned char coded[48];

    EVP_EncodeBlock(coded, bytes, 32);
    for (int i = 0; i < SECRET_DIGITS; i++) {
        if (coded[i] == '+')
            coded[i] = '-';
        else if (coded[i] == '/')
            coded[i] = '_';
    }
    memcpy(text, coded, SECRET_DIGITS);
    OPENSSL_cleanse(coded, sizeof(coded));
}

int auth_token_make(struct auth_token *token, struct err *err)
{
    unsigned char random[8 + 32];
    struct auth_token made = {0};
    size_t used = strlen(prefix);

    if (RAND_bytes(random, sizeof(random)) != 1)
        return err_set(err, ERR_SYSTEM, "the system has no random bytes to give");
    for (int i = 0; i < 8; i++)
        snprintf(made.id + 2L * i, 3, "%02x", random[i]);
    memcpy(made.text, prefix, used);
    memcpy(made.text + used, made.id, ID_DIGITS);
    made.text[used + ID_DIGITS] = '-';
    code_secret(random + 8, made.text + used + ID_DIGITS + 1);
    OPENSSL_cleanse(random, sizeof(random));
    if (!digest_of(made.text, made.digest))
        return err_set(err, ERR_SYSTEM, "OpenSSL cannot compute SHA-256");
    *token = made;
    return 0;
}

bool auth_token_read(const char *text, struct auth_token *token)
{
    static const char digits[] = "0123456789abcdef";
    static const char secret[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const char *id = text + strlen(prefix);
    struct auth_token read = {0};

    if (!str_starts(text, prefix) || strspn(id, digits) != ID_DIGITS ||
        id[ID_DIGITS] != '-' || strlen(id + ID_DIGITS + 1) != SECRET_DIGITS ||
        strspn(id + ID_DIGITS + 1, secret) != SECRET_DIGITS)
        return false;
    str_copy(read.text, sizeof(read.text), text);
    memcpy(read.id, id, ID_DIGITS);
    if (!digest_of(text, read.digest))
        return false;
    *token = read;
    return true;
}

int auth_key_make(unsigned char key[AUTH_KEY_BYTES], struct err *err)
{
    if (RAND_bytes(key, AUTH_KEY_BYTES) == 1)
        return 0;
    return err_set(err, ERR_SYSTEM, "the system has no random bytes to give");
}

int auth_job_token_make(const unsigned char key[AUTH_KEY_BYTES], uint64_t job,
                        double expires_s, char text[AUTH_JOB_TOKEN_SIZE], struct err *err)
{
    unsigned char mac[32];
    unsigned length = sizeof(mac);
    int used = snprintf(text, AUTH_JOB_TOKEN_SIZE, "%s%llu-%.0f", job_prefix,
                        (unsigned long long)job, expires_s);

    if (used < 0 || used + 1 + SECRET_DIGITS >= AUTH_JOB_TOKEN_SIZE)
        return err_set(err, ERR_INVALID, "no token lives until %g", expires_s);
    if (!HMAC(EVP_sha256(), key, AUTH_KEY_BYTES, (const unsigned char *)text,
              (size_t)used, mac, &length))
        return err_set(err, ERR_SYSTEM, "OpenSSL cannot compute SHA-256");
    text[used] = '-';
    code_secret(mac, text + used + 1);
    text[used + 1 + SECRET_DIGITS] = '\0';
    OPENSSL_cleanse(mac, sizeof(mac));
    return 0;
}

/* A whole number without leading zeros, and the character behind it. */
static const char *read_whole(const char *text, char behind, uint64_t *number)
{
    char digits[24];
    size_t length = strspn(text, "0123456789");

    if (length == 0 || length > 19 || (*text == '0' && length > 1) ||
        text[length] != behind)
        return NULL;
    memcpy(digits, text, length);
    digits[length] = '\0';
    return parse_u64(digits, number) ? text + length + 1 : NULL;
}

bool auth_job_token_check(const unsigned char key[AUTH_KEY_BYTES], const char *text,
                          double now_s, uint64_t *job)
{
    char made[AUTH_JOB_TOKEN_SIZE];
    uint64_t number, expires_s;
    const char *rest;
    bool equal;

    if (!str_starts(text, job_prefix) || strlen(text) >= sizeof(made))
        return false;
    rest = read_whole(text + strlen(job_prefix), '-', &number);
    if (!rest || !(rest = read_whole(rest, '-', &expires_s)) || number == 0 ||
        strlen(rest) != SECRET_DIGITS ||
        auth_job_token_make(key, number, (double)expires_s, made, NULL) < 0)
        return false;
    /* In time that does not depend on where they differ. */
    equal = strlen(made) == strlen(text) && CRYPTO_memcmp(made, text, strlen(made)) == 0;
    OPENSSL_cleanse(made, sizeof(made));
    if (!equal || now_s >= (double)expires_s)
        return false;
    *job = number;
    return true;
}

/* Of a job: who shows it is that job's reporter. */
static bool bearer_of_job(const struct auth_rules *rules, const char *text, double now_s,
                          struct auth_identity *identity)
{
    uint64_t job;

    if (!rules->job_key || !auth_job_token_check(rules->job_key, text, now_s, &job))
        return false;
    identity->role = AUTH_REPORTER;
    identity->job = job;
    snprintf(identity->name, sizeof(identity->name), "the probe of job %llu",
             (unsigned long long)job);
    /* What is counted by token counts by job. */
    snprintf(identity->token, sizeof(identity->token), "%016llx",
             (unsigned long long)job);
    return true;
}

/* Of one of Slurm's jobs: who shows it is the reporter of the jobs that have its digest.
 */
static bool bearer_of_digest(const struct auth_rules *rules, const char *text,
                             struct auth_identity *identity)
{
    unsigned char digest[AUTH_DIGEST_BYTES];

    if (!rules->knows_digest || !digest_of(text, digest) ||
        !rules->knows_digest(rules->ctx, digest))
        return false;
    identity->role = AUTH_REPORTER;
    memcpy(identity->digest, digest, sizeof(digest));
    str_copy(identity->name, sizeof(identity->name), "the probe of a job of Slurm's");
    for (size_t i = 0; i < ID_DIGITS / 2; i++)
        snprintf(identity->token + 2 * i, 3, "%02x", digest[i]);
    return true;
}

bool auth_bearer(const struct auth_rules *rules, const char *header, double now_s,
                 struct auth_identity *identity)
{
    /* Compared with when there is no such token, so that this takes as long. */
    static const struct auth_token_record none;
    struct auth_token_record record = none;
    struct auth_token token;
    const char *shown;
    bool known, equal;

    *identity = (struct auth_identity){
        .role = rules->anonymous_role, .uid = AUTH_NO_ID, .gid = (gid_t)AUTH_NO_ID};
    if (!header)
        return true;
    identity->role = AUTH_NOBODY;
    if (strncasecmp(header, BEARER, strlen(BEARER)) != 0)
        return false;
    shown = header + strlen(BEARER) + strspn(header + strlen(BEARER), " ");
    if (str_starts(shown, job_prefix))
        return bearer_of_job(rules, shown, now_s, identity);
    if (slurm_token_is(shown))
        return bearer_of_digest(rules, shown, identity);
    if (!rules->find_token || !auth_token_read(shown, &token))
        return false;
    known = rules->find_token(rules->ctx, token.id, &record);
    /* In time that does not depend on where they differ. */
    equal = CRYPTO_memcmp(record.digest, token.digest, AUTH_DIGEST_BYTES) == 0;
    explicit_bzero(token.text, sizeof(token.text));
    if (!known || !equal || (record.expires_s > 0 && now_s >= record.expires_s))
        return false;
    *identity = record.identity;
    identity->local = false;
    identity->pid = 0;
    str_copy(identity->token, sizeof(identity->token), token.id);
    return true;
}

/* ---- how often --------------------------------------------------------------------- */

struct bucket {
    uint64_t key;
    double tokens;
    double at_s;
};

struct auth_rate {
    double per_s;
    double burst;
    size_t most;
    struct map *index; /* key -> buckets */
    vec_of(struct bucket) buckets;
};

struct auth_rate *auth_rate_create(double per_s, double burst, int most)
{
    struct auth_rate *rate = mem_new(struct auth_rate);

    rate->per_s = per_s;
    rate->burst = burst;
    rate->most = (size_t)most;
    rate->index = map_create();
    return rate;
}

void auth_rate_destroy(struct auth_rate *rate)
{
    if (!rate)
        return;
    map_destroy(rate->index);
    vec_free(&rate->buckets);
    free(rate);
}

static double tokens_now(const struct auth_rate *rate, const struct bucket *b,
                         double now_s)
{
    double tokens = b->tokens + (now_s - b->at_s) * rate->per_s;

    return tokens > rate->burst ? rate->burst : tokens;
}

/* A full bucket is as good as none.  When nobody's is full, the fullest goes. */
static void make_room(struct auth_rate *rate, double now_s)
{
    size_t kept = 0, fullest = 0;

    for (size_t i = 0; i < rate->buckets.count; i++) {
        struct bucket b = rate->buckets.items[i];

        if (tokens_now(rate, &b, now_s) >= rate->burst) {
            map_remove(rate->index, b.key);
            continue;
        }
        rate->buckets.items[kept] = b;
        map_put(rate->index, b.key, kept);
        kept++;
    }
    rate->buckets.count = kept;
    if (kept < rate->most)
        return;
    for (size_t i = 1; i < kept; i++)
        if (tokens_now(rate, &rate->buckets.items[i], now_s) >
            tokens_now(rate, &rate->buckets.items[fullest], now_s))
            fullest = i;
    map_remove(rate->index, rate->buckets.items[fullest].key);
    rate->buckets.items[fullest] = rate->buckets.items[--rate->buckets.count];
    if (fullest < rate->buckets.count)
        map_put(rate->index, rate->buckets.items[fullest].key, fullest);
}

static struct bucket *bucket_of(struct auth_rate *rate, uint64_t key, double now_s)
{
    size_t at;

    if (!map_get(rate->index, key, &at)) {
        if (rate->buckets.count >= rate->most)
            make_room(rate, now_s);
        at = rate->buckets.count;
        vec_push(&rate->buckets,
                 (struct bucket){.key = key, .tokens = rate->burst, .at_s = now_s});
        map_put(rate->index, key, at);
    }
    return &rate->buckets.items[at];
}

bool auth_rate_take(struct auth_rate *rate, uint64_t key, double tokens, double now_s,
                    double *wait_s)
{
    struct bucket *b = bucket_of(rate, key, now_s);

    b->tokens = tokens_now(rate, b, now_s);
    b->at_s = now_s;
    if (b->tokens < tokens) {
        *wait_s = (tokens - b->tokens) / rate->per_s;
        return false;
    }
    b->tokens -= tokens;
    *wait_s = 0;
    return true;
}
