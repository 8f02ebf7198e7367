/* audit_log.c - see audit_log.h */
#include "service/audit_log.h"

#include "base/log.h"
#include "base/mem.h"
#include "service/daemon_metrics.h"

#include <stdio.h>
#include <stdlib.h>

/* More than this in one tick is a flood of refusals: the log has a line for the rest. */
#define AUDIT_MAX 5000

static const char *outcome(int status)
{
    if (status < 400)
        return "done";
    return status < 500 ? "refused" : "failed";
}

void audit_note(void *ctx, const struct server_audit *e)
{
    struct service *s = ctx;
    char detail[80], from[160];

    if (s->audits.count >= AUDIT_MAX) {
        log_warn("audit_dropped", LOG_STR("user", e->identity ? e->identity->name : ""),
                 LOG_STR("path", e->path));
        return;
    }
    snprintf(detail, sizeof(detail), "%s %d", e->method, e->status);
    if (e->identity && e->identity->local)
        snprintf(from, sizeof(from), "unix uid=%u pid=%ld", (unsigned)e->identity->uid,
                 (long)e->identity->pid);
    else
        snprintf(from, sizeof(from), "%s", e->peer);
    vec_push(&s->audits, (struct store_audit){
                             .at_s = service_now_s(s),
                             .user = e->identity && e->identity->name[0]
                                         ? mem_strdup(e->identity->name)
                                         : NULL,
                             .from = mem_strdup(from),
                             .action = mem_strdup(e->operation ? e->operation : "none"),
                             .target = mem_strdup(e->path ? e->path : ""),
                             .outcome = outcome(e->status),
                             .detail = mem_strdup(detail),
                         });
}

void audit_answered(void *ctx, const struct server_audit *entry)
{
    daemon_metrics_answer(ctx, entry);
}

static void forget(struct service *s)
{
    vec_each (struct store_audit, a, &s->audits) {
        free((char *)(uintptr_t)a->user);
        free((char *)(uintptr_t)a->from);
        free((char *)(uintptr_t)a->action);
        free((char *)(uintptr_t)a->target);
        free((char *)(uintptr_t)a->detail);
    }
    vec_clear(&s->audits);
}

void audit_flush(struct service *s)
{
    struct store_batch *batch;
    struct err err = {0};

    if (s->audits.count == 0)
        return;
    batch = store_batch_create();
    vec_each (struct store_audit, a, &s->audits)
        store_add_audit(batch, a);
    if (store_commit(s->store, batch, STORE_DURABLE, NULL, NULL, &err) < 0) {
        log_error("audit_lost", LOG_U64("rows", s->audits.count), LOG_ERR(&err));
        store_batch_destroy(batch);
    }
    forget(s);
}

void audit_fini(struct service *s)
{
    forget(s);
    vec_free(&s->audits);
}
