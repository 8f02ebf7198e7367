/* user_shares.c - see user_shares.h; lifecycle.c, restart.c and found_jobs.c tell of
 * users, handle_admin.c and rounds.c show them */
#include "service/user_shares.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void user_shares_tell(struct service *s, const struct record *r)
{
    struct fair_share_rule rule =
        service_config_share(&s->config, record_job(r)->owner, record_user(r));

    loop_set_share(s->loop, &rule, service_now_s(s));
}

void user_shares_tell_all(struct service *s)
{
    size_t count;
    struct fair_share *users = user_shares_list(s, &count);

    for (size_t i = 0; i < count; i++) {
        struct fair_share_rule rule =
            service_config_share(&s->config, users[i].owner, users[i].name);

        loop_set_share(s->loop, &rule, service_now_s(s));
    }
    free(users);
}

struct fair_share *user_shares_list(const struct service *s, size_t *count)
{
    return fair_shares_list(loop_shares(s->loop), loop_settings(s->loop)->fair_share_s,
                            service_now_s(s), count);
}

bool user_shares_find(const struct fair_share *users, size_t count, const char *user,
                      struct fair_share *found)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(users[i].name, user) == 0) {
            *found = users[i];
            return true;
        }
    return false;
}

void user_shares_members(struct json_out *out, const struct fair_share *user)
{
    json_out_key_string(out, "account", user->account[0] ? user->account : NULL);
    json_out_key_number(out, "weight",
                        user->account[0] ? user->weight : user->group_weight);
    json_out_key_number(out, "gpu_s", user->used_s);
    json_out_key_number(out, "had", user->had);
    json_out_key_number(out, "due", user->due);
}
