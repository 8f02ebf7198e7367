/* listeners.c - where people come in: sockets, who they are, what they may, and the log
 * of who changed what, or tried to
 *
 * service.c makes the server here before the state is there, opens it when it is, and
 * has the audit log written every tick. */
#include "service/service_private.h"

#include "base/log.h"
#include "service/daemon_metrics.h"
#include "service/handlers.h"
#include "service/job_digests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More than this in one tick is a flood of refusals: the log has a line for the rest. */
#define AUDIT_MAX 5000

/* ---- the audit log ---------------------------------------------------------------- */

static const char *outcome(int status)
{
    if (status < 400)
        return "done";
    return status < 500 ? "refused" : "failed";
}

static void audit_note(void *ctx, const struct request *r, int status)
{
    struct service *s = ctx;
    const struct auth_identity *who = &r->identity;
    const struct route *route = r->match.route;
    char detail[80], from[160];

    if (!s->audits)
        s->audits = store_batch_create();
    if (store_batch_rows(s->audits) >= AUDIT_MAX) {
        log_warn("audit_dropped", LOG_STR("user", who->name), LOG_STR("path", r->path));
        return;
    }
    snprintf(detail, sizeof(detail), "%s %d", http_method_names[r->head.method], status);
    if (who->local)
        snprintf(from, sizeof(from), "unix uid=%u pid=%ld", (unsigned)who->uid,
                 (long)who->pid);
    else
        snprintf(from, sizeof(from), "%s", r->peer);
    store_put(s->audits,
              &(struct store_audit){.at_s = service_now_s(s),
                                    .user = who->name[0] ? who->name : NULL,
                                    .from = from,
                                    .action = route ? route->operation : "none",
                                    .target = r->path,
                                    .outcome = outcome(status),
                                    .detail = detail});
}

void listeners_flush(struct service *s)
{
    struct err err = {0};

    if (s->audits &&
        store_commit(s->store, s->audits, STORE_DURABLE, NULL, NULL, &err) < 0) {
        log_error("audit_lost", LOG_U64("rows", store_batch_rows(s->audits)),
                  LOG_ERR(&err));
        store_batch_destroy(s->audits);
    }
    s->audits = NULL;
}

static void answered(void *ctx, const struct request *r, int status)
{
    daemon_metrics_answer(ctx, r, status);
}

/* ---- the server ------------------------------------------------------------------- */

static bool find_token(void *ctx, const char *id, struct auth_token_record *record)
{
    struct service *s = ctx;

    vec_each (struct token, t, &s->tokens)
        if (strcmp(t->public_id, id) == 0) {
            *record = t->record;
            return true;
        }
    return false;
}

static bool knows_digest(void *ctx, const unsigned char digest[AUTH_DIGEST_BYTES])
{
    struct service *s = ctx;

    return job_digests_known(s->job_digests, digest);
}

static void fill_server_config(struct service *s, const struct service_config *c,
                               struct server_config *out)
{
    static const enum auth_role roles[] = {AUTH_NOBODY, AUTH_VIEWER, AUTH_USER,
                                           AUTH_OPERATOR};

    *out =
        (struct server_config){.routes = handlers_routes,
                               .ctx = s,
                               .limits = {.body_bytes = (size_t)c->limits.body_kb << 10,
                                          .connections = c->limits.connections,
                                          .connections_each = c->limits.connections_each,
                                          .answer_s = c->limits.answer_s,
                                          .requests_per_s = c->limits.requests_per_s,
                                          .burst = c->limits.burst,
                                          .bytes_per_s = c->limits.kb_per_s * 1024},
                               .auth = {.operators = c->auth.operators,
                                        .operator_groups = c->auth.operator_groups,
                                        .viewers = c->auth.viewers,
                                        .local_role = roles[c->auth.local_role],
                                        .anonymous_role = roles[c->auth.anonymous_role],
                                        .find_token = find_token,
                                        .job_key = s->report_key,
                                        .knows_digest = knows_digest,
                                        .ctx = s},
                               .audit = audit_note,
                               .answered = answered};
}

int listeners_open(struct service *s, struct err *err)
{
    const struct service_listen_config *c = &s->config.listen;
    int given = daemon_process_listen_fds();

    for (int i = 0; i < given; i++)
        if (server_listen_fd(s->server, 3 + i, err) < 0)
            return -1;
    if (given == 0 &&
        server_listen_unix(
            s->server,
            &(struct server_unix){.path = s->socket,
                                  .mode = (mode_t)strtol(c->socket_mode, NULL, 8),
                                  .group = c->socket_group},
            err) < 0)
        return -1;
    if (!c->tcp)
        return 0;
    if (server_listen_tcp(s->server,
                          &(struct server_tcp){.address = c->tcp,
                                               .certificate = c->certificate,
                                               .key = c->key,
                                               .anywhere = c->anywhere},
                          err) < 0)
        return -1;
    log_info("listening", LOG_STR("tcp", c->tcp),
             LOG_I64("port", server_port(s->server, 0)),
             LOG_BOOL("tls", c->certificate != NULL));
    return 0;
}

void listeners_make(struct service *s)
{
    struct server_config config;

    daemon_process_descriptors(s->config.limits.connections);
    fill_server_config(s, &s->config, &config);
    s->server = server_create(s->reactor, &config);
    s->hub = sse_hub_create(s->reactor,
                            &(struct sse_config){.max_clients = s->config.limits.streams,
                                                 .replay = handlers_replay,
                                                 .ctx = s});
    s->metrics = metrics_create();
    s->figures = daemon_metrics_create(s);
}

int listeners_reload(struct service *s, const struct service_config *fresh,
                     struct err *err)
{
    struct server_config config;

    fill_server_config(s, fresh, &config);
    return server_reload(s->server, &config, err);
}
