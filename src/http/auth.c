/* auth.c - see auth.h */
#include "http/auth.h"

#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <grp.h>
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

static const char *const role_names[] = {"nobody", "viewer", "user", "operator"};

const char *auth_role_name(enum auth_role role)
{
    return role_names[role];
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

static bool listed(const char *const *list, const char *name)
{
    for (; list && *list; list++)
        if (!strcmp(*list, name))
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
static bool in_groups(const char *const *wanted, const char *user, gid_t gid)
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
    if (who->uid == 0 || who->uid == geteuid() || listed(rules->operators, who->name))
        return AUTH_OPERATOR;
    if (rules->operator_groups && in_groups(rules->operator_groups, who->name, who->gid))
        return AUTH_OPERATOR;
    if (listed(rules->viewers, who->name))
        return AUTH_VIEWER;
    return rules->local_role;
}

int auth_local(const struct auth_rules *rules, int socket, struct auth_identity *identity,
               struct err *err)
{
    struct auth_identity who = {.local = true};
    struct ucred peer;
    socklen_t size = sizeof(peer);

    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        return err_sys(err, "cannot learn who is at the other end of the socket");
    who.uid = peer.uid;
    who.gid = peer.gid;
    who.pid = peer.pid;
    name_of(peer.uid, who.name, sizeof(who.name));
    who.role = local_role(rules, &who);
    *identity = who;
    return 0;
}

bool auth_bearer(const struct auth_rules *rules, const char *header, double now_s,
                 struct auth_identity *identity)
{
    /* Compared with when there is no such token, so that this takes as long. */
    static const struct auth_token_record none;
    struct auth_token_record record = none;
    struct auth_token token;
    bool known, equal;

    *identity = (struct auth_identity){
        .role = rules->anonymous_role, .uid = AUTH_NO_ID, .gid = (gid_t)AUTH_NO_ID};
    if (!header)
        return true;
    identity->role = AUTH_NOBODY;
    if (strncasecmp(header, BEARER, strlen(BEARER)) != 0 || !rules->find_token)
        return false;
    if (!auth_token_read(header + strlen(BEARER) + strspn(header + strlen(BEARER), " "),
                         &token))
        return false;
    known = rules->find_token(rules->ctx, token.id, &record);
    equal = auth_digest_equal(record.digest, token.digest);
    explicit_bzero(token.text, sizeof(token.text));
    if (!known || !equal || (record.expires_s > 0 && now_s >= record.expires_s))
        return false;
    *identity = record.identity;
    identity->local = false;
    identity->pid = 0;
    str_copy(identity->token, sizeof(identity->token), token.id);
    return true;
}
