/* slurm_identity.c - who we are, and what tells our jobs from others; see
 * slurm_control_private.h */
#include "engine/slurm/slurm_control_private.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define IDENTITY_FILE  "slurm-identity"
#define IDENTITY_SIZE  48 /* hex digits */
#define LOOKED_FILE    "slurm-looked"
#define LOOKED_EVERY_S 5.0

static bool good_identity(const char *text, size_t length)
{
    return length >= IDENTITY_SIZE &&
           strspn(text, "0123456789abcdef") >= (size_t)IDENTITY_SIZE;
}

/* ---- when somebody looked last ----------------------------------------------------- */

static void remember_looks(struct slurm_control *c, const char *state_dir)
{
    struct stat file;

    c->looked_path = state_dir ? file_join(state_dir, LOOKED_FILE) : NULL;
    if (c->looked_path && stat(c->looked_path, &file) == 0)
        c->looked_s = (double)file.st_mtim.tv_sec;
}

void slurm_identity_looked(struct slurm_control *c, double now_s)
{
    int fd = -1;

    if (c->looked_path &&
        floor(now_s / LOOKED_EVERY_S) > floor(c->looked_s / LOOKED_EVERY_S))
        fd = open(c->looked_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0) {
        futimens(fd, NULL);
        close(fd);
    }
    c->looked_s = now_s;
}

void slurm_identity_know(struct slurm_control *c, const char *state_dir)
{
    char *path = state_dir ? file_join(state_dir, IDENTITY_FILE) : NULL, *text = NULL;
    unsigned char bytes[IDENTITY_SIZE / 2] = {0};
    struct err err = {0};
    size_t length = 0;

    if (path && file_read(path, 4096, &text, &length, NULL) == 0 &&
        good_identity(text, length)) {
        memcpy(c->identity, text, IDENTITY_SIZE);
    } else {
        if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
            log_warn("no_randomness", LOG_STR("file", IDENTITY_FILE));
        for (size_t i = 0; i < sizeof(bytes); i++)
            snprintf(c->identity + 2 * i, 3, "%02x", bytes[i]);
        if (path && file_write(path, c->identity, IDENTITY_SIZE, &err) < 0)
            log_warn("identity_not_kept", LOG_ERR(&err));
    }
    c->identity[IDENTITY_SIZE] = '\0';
    free(text);
    free(path);
    remember_looks(c, state_dir);
}

void slurm_ours_digest(const struct slurm_control *c, uint64_t job,
                       char digest[SLURM_DIGEST_SIZE])
{
    snprintf(digest, SLURM_DIGEST_SIZE, "%.48s%016" PRIx64, c->identity, job);
}

void slurm_ours_tail(const char *digest, char tail[SLURM_TAIL_SIZE])
{
    memcpy(tail, digest + (SLURM_DIGEST_SIZE - SLURM_TAIL_SIZE), SLURM_TAIL_SIZE);
}

void slurm_ours_ref(const struct slurm_ours *j, char *text, size_t size)
{
    snprintf(text, size, "%s#%s", j->id, j->tail);
}

bool slurm_ours_read_ref(const char *ref, char id[SLURM_ID_SIZE],
                         char tail[SLURM_TAIL_SIZE])
{
    const char *at = ref ? strchr(ref, '#') : NULL;
    size_t length = at ? (size_t)(at - ref) : 0;

    if (length == 0 || length >= SLURM_ID_SIZE || strlen(at + 1) != SLURM_TAIL_SIZE - 1)
        return false;
    memcpy(id, ref, length);
    id[length] = '\0';
    memcpy(tail, at + 1, SLURM_TAIL_SIZE);
    return true;
}

uint64_t slurm_ours_who(uid_t uid, const char *name)
{
    char text[LOOP_NAME_SIZE + 16];

    snprintf(text, sizeof(text), "%u %.*s", (unsigned)uid, LOOP_NAME_SIZE - 1,
             name ? name : "");
    return hash_text(text);
}
