/* handle_admin.c - policy, quotas, tokens, the audit log */
#include "service/handlers.h"

#include "base/mem.h"
#include "loop/loop_settings.h"
#include "service/quotas.h"
#include "service/tx.h"
#include "service/user_shares.h"

#include <math.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- policy ----------------------------------------------------------------------- */

void handlers_power_limit(struct json_out *out, const struct service *s)
{
    json_out_key_number(
        out, "power_limit_now_watts",
        power_schedule_at(&loop_settings(s->loop)->power_limit, service_now_s(s)));
}

static void power_limit_members(struct json_out *out, const struct power_schedule *p)
{
    json_out_key_number(out, "power_limit_watts", p->watts);
    json_out_key_array(out, "power_limit_hours");
    for (int i = 0; i < p->count; i++) {
        json_out_begin_object(out);
        json_out_key_int(out, "from_minute", p->hours[i].from_minute);
        json_out_key_int(out, "to_minute", p->hours[i].to_minute);
        json_out_key_number(out, "watts", p->hours[i].watts);
        json_out_end(out);
    }
    json_out_end(out);
}

static void policy_members(struct json_out *out, const struct service *s)
{
    const struct optimize_settings *p = loop_settings(s->loop);

    json_out_key_int(out, "share", p->share_max);
    json_out_key_bool(out, "sleep", p->sleep);
    json_out_key_bool(out, "caps", p->caps);
    json_out_key_bool(out, "moves", p->moves);
    json_out_key_bool(out, "paused", s->paused);
    json_out_key_number(out, "confidence", p->confidence);
    json_out_key_number(out, "progress_watts", p->progress_watts);
    json_out_key_number(out, "move_s", p->move_s);
    json_out_key_number(out, "grace_s", p->grace_s);
    json_out_key_string(out, "preempt", settings_preempt_names[p->preempt]);
    json_out_key_number(out, "fair_share_s", p->fair_share_s);
    power_limit_members(out, &p->power_limit);
    handlers_power_limit(out, s);
    json_out_key_number(out, "changed_s", s->policy_changed_s);
    json_out_key_string(out, "changed_by",
                        s->policy_changed_by[0] ? s->policy_changed_by : NULL);
}

void handle_show_policy(void *ctx, struct request *r)
{
    struct handlers_answer a;

    handlers_begin(&a, r, NULL);
    policy_members(&a.out, ctx);
    handlers_answer(&a, 200);
}

static void take_power_limit(const struct json_value *v, struct power_schedule *p)
{
    const struct json_value *hours = json_value_get(v, "power_limit_hours");

    p->watts = json_member_number(v, "power_limit_watts", p->watts);
    if (!hours)
        return;
    p->count = 0;
    for (size_t i = 0; i < json_value_count(hours) && i < POWER_SCHEDULE_MAX; i++) {
        const struct json_value *item = json_value_item(hours, i);

        p->hours[p->count++] = (struct power_hours){
            .from_minute = (int)json_member_number(item, "from_minute", 0),
            .to_minute = (int)json_member_number(item, "to_minute", 0),
            .watts = json_member_number(item, "watts", 0)};
    }
}

bool handlers_take_policy(struct request *r, struct optimize_settings *p)
{
    const struct json_value *v = r->body;
    const char *preempt = json_member_string(v, "preempt");
    struct err err = {0};

    for (int i = 0; preempt && settings_preempt_names[i]; i++)
        if (strcmp(preempt, settings_preempt_names[i]) == 0)
            p->preempt = i;
    p->share_max = (int)json_member_number(v, "share", p->share_max);
    p->sleep = json_member_bool(v, "sleep", p->sleep);
    p->caps = json_member_bool(v, "caps", p->caps);
    p->moves = json_member_bool(v, "moves", p->moves);
    p->confidence = json_member_number(v, "confidence", p->confidence);
    p->progress_watts = json_member_number(v, "progress_watts", p->progress_watts);
    p->move_s = json_member_number(v, "move_s", p->move_s);
    p->grace_s = json_member_number(v, "grace_s", p->grace_s);
    p->fair_share_s = json_member_number(v, "fair_share_s", p->fair_share_s);
    take_power_limit(v, &p->power_limit);
    if (power_schedule_check(&p->power_limit, &err) == 0)
        return true;
    request_answer_error(r, 400, "invalid", "power_limit_hours", "%s", err.text);
    return false;
}

void handle_update_policy(void *ctx, struct request *r)
{
    struct service *s = ctx;
    struct optimize_settings settings = *loop_settings(s->loop);
    struct handlers_answer a;
    bool paused = s->paused;
    struct tx *tx;

    if (!handlers_writable(s, r))
        return;
    if (!handlers_take_policy(r, &settings))
        return;
    s->paused = json_member_bool(r->body, "paused", paused);
    settings = service_config_allowed(&s->config, &settings);
    loop_set_settings(s->loop, &settings, service_now_s(s));
    s->policy_changed_s = service_now_s(s);
    str_copy(s->policy_changed_by, sizeof(s->policy_changed_by), r->identity.name);
    handlers_begin(&a, r, NULL);
    policy_members(&a.out, s);
    tx = tx_begin(s);
    policy_members(tx_event(tx, "policy", NULL), s);
    if (s->paused != paused)
        store_put(tx_batch(tx),
                  &(struct store_setting){SERVICE_PAUSED, s->paused ? "yes" : ""});
    handlers_commit(&a, tx, 200);
    service_want_round(s);
}

/* ---- quotas ----------------------------------------------------------------------- */

static void quota_members(struct json_out *out, const struct service *s, const char *user)
{
    struct user_quota q = quotas_of(s, user);
    struct records_use use = records_use(s->records, user);

    json_out_key_string(out, "user", user);
    json_out_key_number(out, "max_jobs", q.max_jobs >= 0 ? q.max_jobs : NAN);
    json_out_key_number(out, "max_running", q.max_running >= 0 ? q.max_running : NAN);
    json_out_key_number(out, "max_gpus", q.max_gpus >= 0 ? q.max_gpus : NAN);
    json_out_key_int(out, "jobs", use.jobs);
    json_out_key_int(out, "running", use.running);
    json_out_key_int(out, "gpus", use.gpus);
}

struct quota_list {
    const struct service *service;
    struct json_out *out;
    struct fair_share *users; /* (count) */
    size_t count;
};

static void list_row(const struct quota_list *list, const char *user,
                     const struct fair_share *share)
{
    json_out_begin_object(list->out);
    quota_members(list->out, list->service, user);
    if (share)
        user_shares_members(list->out, share);
    json_out_end(list->out);
}

/* A user whose jobs are reckoned to several accounts has a row for each. */
static void list_quota(const struct quota_list *list, const char *user)
{
    struct fair_share sum;
    const char *name;
    int rows = 0;

    if (job_group_of(user, &name) < JOB_GROUPS) {
        bool has = user_shares_of_group(list->users, list->count, user, &sum);

        list_row(list, user, has ? &sum : NULL);
        return;
    }
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->users[i].name, user) == 0) {
            list_row(list, user, &list->users[i]);
            rows++;
        }
    if (rows == 0)
        list_row(list, user, NULL);
}

/* One of several rows of this user that is not the first. */
static bool listed_before(const struct quota_list *list, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (strcmp(list->users[i].name, list->users[at].name) == 0)
            return true;
    return false;
}

static bool has_quota(const struct service *s, const char *user)
{
    vec_each (const struct user_quota, q, &s->quotas)
        if (strcmp(q->user, user) == 0)
            return true;
    return false;
}

/* Whoever has a quota, then whoever had devices, then what all others may have. */
static void list_all(const struct quota_list *list)
{
    const struct service *s = list->service;

    vec_each (const struct user_quota, q, &s->quotas)
        list_quota(list, q->user);
    for (size_t i = 0; i < list->count; i++)
        if (list->users[i].name[0] && !has_quota(s, list->users[i].name) &&
            !listed_before(list, i))
            list_quota(list, list->users[i].name);
    if (!has_quota(s, USER_QUOTA_DEFAULT))
        list_quota(list, USER_QUOTA_DEFAULT);
}

void handle_list_quotas(void *ctx, struct request *r)
{
    struct service *s = ctx;
    const struct auth_identity *who = &r->identity;
    struct handlers_answer a;
    struct quota_list list = {.service = s, .out = &a.out};

    list.users = user_shares_list(s, &list.count);
    handlers_begin(&a, r, "quotas");
    if (who->role == AUTH_USER)
        list_quota(&list, who->name);
    else
        list_all(&list);
    handlers_answer(&a, 200);
    free(list.users);
}

static void take_limit(const struct json_value *body, const char *key, int *limit)
{
    const struct json_value *v = json_value_get(body, key);
    double number;

    if (v && json_value_kind(v) == JSON_KIND_NULL)
        *limit = -1;
    else if (json_value_number(v, &number))
        *limit = (int)number;
}

void handle_set_quota(void *ctx, struct request *r)
{
    struct service *s = ctx;
    const char *user = request_param(r, "user"), *name;
    struct handlers_answer a;
    struct user_quota q;
    struct tx *tx;

    if (!handlers_writable(s, r))
        return;
    job_group_of(user, &name);
    if (strlen(name) >= AUTH_NAME_SIZE) {
        request_answer_error(r, 400, "invalid", "user", "the name is too long");
        return;
    }
    q = quotas_of(s, user);
    q.configured = false;
    take_limit(r->body, "max_jobs", &q.max_jobs);
    take_limit(r->body, "max_running", &q.max_running);
    take_limit(r->body, "max_gpus", &q.max_gpus);
    quotas_set(s, &q);
    tx = tx_begin(s);
    quotas_save(tx_batch(tx), &q);
    handlers_begin(&a, r, NULL);
    quota_members(&a.out, s, user);
    handlers_commit(&a, tx, 200);
    service_want_round(s);
}

/* ---- tokens ----------------------------------------------------------------------- */

static void expiry(struct json_out *out, double expires_s)
{
    json_out_key_number(out, "expires_s", expires_s > 0 ? expires_s : NAN);
}

void handle_list_tokens(void *ctx, struct request *r)
{
    struct service *s = ctx;
    struct handlers_answer a;

    handlers_begin(&a, r, "tokens");
    vec_each (struct token, t, &s->tokens) {
        json_out_begin_object(&a.out);
        json_out_key_string(&a.out, "id", t->public_id);
        json_out_key_string(&a.out, "user", t->record.identity.name);
        json_out_key_string(&a.out, "role", auth_role_name(t->record.identity.role));
        json_out_key_number(&a.out, "created_s", t->created_s);
        expiry(&a.out, t->record.expires_s);
        json_out_key_string(&a.out, "note", t->note);
        json_out_end(&a.out);
    }
    handlers_answer(&a, 200);
}

struct new_token {
    struct service *service;
    struct request *request;
    struct token token;
    struct str json;
};

static void token_stored(void *ctx, const struct err *err)
{
    struct new_token *n = ctx;

    if (err->code == ERR_NONE) {
        vec_push(&n->service->tokens, n->token);
        request_answer(n->request, 201, &n->json);
    } else {
        request_answer_error(n->request, 503, err_code_name(err->code), NULL,
                             "it could not be stored: %s", err->text);
    }
    str_fini(&n->json);
    free(n);
}

static void put_token(struct tx *tx, const struct token *t, const char *kept_note)
{
    struct store_token row = {
        .id = t->id,
        .role = (enum store_role)(t->record.identity.role - AUTH_VIEWER),
        .user = t->record.identity.name,
        .uid = t->record.identity.uid,
        .gid = t->record.identity.gid,
        .note = kept_note,
        .created_s = t->created_s,
        .expires_s = t->record.expires_s,
    };

    memcpy(row.digest, t->record.digest, sizeof(row.digest));
    store_put(tx_batch(tx), &row);
}

static int make_token(struct service *s, const struct json_value *body, struct token *t,
                      struct auth_token *made, struct err *err)
{
    const char *user = json_member_string(body, "user");
    const char *role = json_member_string(body, "role");
    const char *note = json_member_string(body, "note");
    const struct passwd *account = getpwnam(user);
    double lasts_s = 0;

    if (!account)
        return err_set(err, ERR_INVALID, "this machine has no user '%s'", user);
    if (auth_token_make(made, err) < 0)
        return -1;
    json_value_number(json_value_get(body, "expires_in_s"), &lasts_s);
    *t = (struct token){.id = store_take_id(s->store, STORE_TOKEN_ID),
                        .created_s = (double)time(NULL)};
    t->record.expires_s = lasts_s > 0 ? t->created_s + lasts_s : 0;
    t->record.identity =
        (struct auth_identity){.uid = account->pw_uid, .gid = account->pw_gid};
    auth_role_named(role, &t->record.identity.role);
    str_copy(t->record.identity.name, AUTH_NAME_SIZE, user);
    str_copy(t->record.identity.token, AUTH_ID_SIZE, made->id);
    str_copy(t->public_id, sizeof(t->public_id), made->id);
    str_copy(t->note, sizeof(t->note), note ? note : "");
    memcpy(t->record.digest, made->digest, AUTH_DIGEST_BYTES);
    return 0;
}

void handle_make_token(void *ctx, struct request *r)
{
    struct service *s = ctx;
    struct auth_token made;
    struct new_token *n;
    struct str kept = {0};
    struct json_out out;
    struct err err = {0};
    struct tx *tx;

    if (!handlers_writable(s, r))
        return;
    n = mem_new(struct new_token);
    if (make_token(s, r->body, &n->token, &made, &err) < 0) {
        request_fail(r, "user", &err);
        free(n);
        return;
    }
    n->service = s;
    n->request = r;
    json_out_init(&out, &n->json, false);
    json_out_begin_object(&out);
    json_out_key_string(&out, "id", made.id);
    json_out_key_string(&out, "token", made.text);
    json_out_key_string(&out, "user", n->token.record.identity.name);
    json_out_key_string(&out, "role", auth_role_name(n->token.record.identity.role));
    expiry(&out, n->token.record.expires_s);
    json_out_end(&out);
    /* The public part has no column: it goes before the note. */
    str_addf(&kept, "%s %s", made.id, n->token.note);
    tx = tx_begin(s);
    put_token(tx, &n->token, str_text(&kept));
    str_fini(&kept);
    tx_commit(tx, token_stored, n);
}

static void token_revoked(void *ctx, const struct err *err)
{
    struct request *r = ctx;

    if (err->code == ERR_NONE)
        request_answer_bytes(r, 204, NULL, "", 0);
    else
        request_answer_error(r, 503, err_code_name(err->code), NULL,
                             "it could not be stored: %s", err->text);
}

void handle_revoke_token(void *ctx, struct request *r)
{
    struct service *s = ctx;
    const char *id = request_param(r, "token");
    struct tx *tx;

    if (!handlers_writable(s, r))
        return;
    for (size_t i = 0; i < s->tokens.count; i++) {
        if (strcmp(s->tokens.items[i].public_id, id) != 0)
            continue;
        tx = tx_begin(s);
        store_put(tx_batch(tx),
                  &(struct store_revocation){s->tokens.items[i].id, (double)time(NULL)});
        s->tokens.items[i] = s->tokens.items[--s->tokens.count];
        tx_commit(tx, token_revoked, r);
        return;
    }
    request_answer_error(r, 404, "not_found", NULL, "there is no token '%s'", id);
}

/* ---- the audit log ----------------------------------------------------------------- */

struct audit_list {
    struct json_out *out;
    int limit, count;
    uint64_t last;
    bool more;
};

static int audit_row(void *ctx, const void *row)
{
    const struct store_audit *entry = row;
    struct audit_list *l = ctx;

    if (l->count == l->limit) {
        l->more = true;
        return 1;
    }
    l->count++;
    l->last = entry->id;
    json_out_begin_object(l->out);
    json_out_key_int(l->out, "id", (int64_t)entry->id);
    json_out_key_number(l->out, "at_s", entry->at_s);
    json_out_key_string(l->out, "user", entry->user);
    json_out_key_string(l->out, "from", entry->from);
    json_out_key_string(l->out, "action", entry->action);
    json_out_key_string(l->out, "target", entry->target);
    json_out_key_string(l->out, "outcome", entry->outcome);
    json_out_key_string(l->out, "detail", entry->detail);
    json_out_end(l->out);
    return 0;
}

void handle_list_audit(void *ctx, struct request *r)
{
    struct service *s = ctx;
    struct handlers_answer a;
    struct audit_list l = {.out = &a.out};
    struct store_filter filter = {0};
    struct err err = {0};

    if (!handlers_limit(r, &l.limit) || !handlers_after(r, &filter.before_id))
        return;
    filter.limit = l.limit + 1;
    handlers_begin(&a, r, "entries");
    if (store_read(s->reader, STORE_AUDIT, &filter, audit_row, &l, &err) < 0) {
        handlers_fail(&a, &err);
        return;
    }
    handlers_page(&a, l.more, l.last);
    handlers_answer(&a, 200);
}
