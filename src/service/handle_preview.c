/* handle_preview.c - POST /v1/policy/preview: what would come of other settings
 *
 * The state's thread copies the loop (policy_preview.h), a thread of its own plays it on
 * and posts the end back, and the request is answered then.  One at a time. */
#include "service/handlers.h"

#include "base/mem.h"
#include "base/thread.h"
#include "service/policy_preview.h"

#include <math.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PREVIEW_HOURS 2.0
#define PREVIEW_NICE  15

struct preview_task {
    struct service *service;
    struct request *request;
    struct policy_preview *preview;
    pthread_t thread;
};

static void write_run(struct json_out *out, const char *key,
                      const struct preview_run *run, double span_s)
{
    json_out_key_object(out, key);
    json_out_key_number(out, "joules", run->joules);
    json_out_key_number(out, "mean_watts", span_s > 0 ? run->joules / span_s : NAN);
    json_out_key_number(out, "peak_watts", run->peak_watts);
    json_out_key_int(out, "done", run->done);
    json_out_key_int(out, "started", run->started);
    json_out_key_int(out, "waiting", run->waiting);
    json_out_key_int(out, "moves", run->moves);
    json_out_key_number(out, "waited_s", run->waited_s);
    json_out_key_number(out, "kept_share",
                        run->promised_s > 0 ? run->kept_s / run->promised_s : NAN);
    json_out_end(out);
}

static void answer(struct request *r, const struct policy_preview *p)
{
    struct handlers_answer a;

    handlers_begin(&a, r, NULL);
    if (p->err.code != ERR_NONE) {
        handlers_fail(&a, &p->err);
        return;
    }
    json_out_key_number(&a.out, "from_s", p->from_s);
    json_out_key_number(&a.out, "until_s", p->until_s);
    json_out_key_int(&a.out, "jobs", p->jobs);
    json_out_key_int(&a.out, "left_out", p->left_out);
    write_run(&a.out, "present", &p->runs[PREVIEW_PRESENT], p->until_s - p->from_s);
    write_run(&a.out, "proposed", &p->runs[PREVIEW_PROPOSED], p->until_s - p->from_s);
    handlers_answer(&a, 200);
}

/* On the state's thread again. */
static void played(void *ctx)
{
    struct preview_task *task = ctx;

    pthread_join(task->thread, NULL);
    task->service->preview = NULL;
    answer(task->request, task->preview);
    policy_preview_destroy(task->preview);
    free(task);
}

/* Rounds go first.  On Linux a nice value belongs to a thread. */
static void yield_to_others(void)
{
    if (setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), PREVIEW_NICE) < 0)
        return;
}

static void *play(void *ctx)
{
    struct preview_task *task = ctx;

    pthread_setname_np(pthread_self(), "preview");
    yield_to_others();
    policy_preview_run(task->preview);
    reactor_post(task->service->reactor, played, task);
    return NULL;
}

void handle_preview_policy(void *ctx, struct request *r)
{
    struct service *s = ctx;
    struct optimize_settings settings = *loop_settings(s->loop);
    const struct loop_options options = service_config_loop(&s->config);
    const struct learned_options learned = service_config_learned(&s->config);
    struct preview_task *task;
    struct err err = {0};

    if (s->preview) {
        request_answer_error(
            r, 409, "exists", NULL,
            "another preview is being played: ask again in some seconds");
        return;
    }
    if (!handlers_take_policy(r, &settings))
        return;
    task = mem_new(struct preview_task);
    *task = (struct preview_task){.service = s, .request = r};
    task->preview = policy_preview_create(
        s->loop, &options, &learned, &settings,
        json_member_number(r->body, "hours", PREVIEW_HOURS), service_now_s(s), &err);
    if (task->preview && thread_start(&task->thread, play, task) == 0) {
        s->preview = task;
        return;
    }
    policy_preview_destroy(task->preview);
    free(task);
    request_answer_error(r, 503, "busy", NULL, "%s",
                         err.code != ERR_NONE ? err.text : "no thread can be started");
}

void handlers_end_preview(struct service *s)
{
    while (s->preview) /* seconds at most; its end is posted here */
        reactor_step(s->reactor, 0.01);
}
