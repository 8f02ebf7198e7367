/* helper_workers.c - helper_server.c adds tasks; slurm_source.c and slurm_orders.c carry
 * them out */
#include "corgi-engine-slurm/helper_workers.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORKERS 4

struct helper_workers {
    int woken;
    pthread_t threads[WORKERS];
    pthread_mutex_t lock; /* guards the queue, and done of tasks */
    pthread_cond_t more;
    vec_of(struct helper_task *) queue;
};

void helper_task_destroy(struct helper_task *t)
{
    rows_fini(&t->rows);
    str_fini(&t->members);
    str_fini(&t->request);
    free(t);
}

static int carry_out(const struct helper_task *t, struct json_out *out, struct err *err)
{
    struct json_doc *doc;
    int rc;

    if (json_doc_parse(&doc, t->request.text, t->request.length, "request", err) < 0)
        return -1;
    rc = t->what->order(json_doc_root(doc), out, err);
    json_doc_destroy(doc);
    return rc;
}

static void work_on(struct helper_task *t)
{
    struct json_out out;

    if (t->what->load) {
        t->rc = t->what->load(&t->rows, &t->since, &t->err);
        return;
    }
    json_out_init(&out, &t->members, false);
    json_out_begin_object(&out);
    t->rc = t->what->order ? carry_out(t, &out, &t->err) : t->what->run(&out, &t->err);
    json_out_end(&out);
}

static void *worker(void *ctx)
{
    struct helper_workers *w = ctx;
    const uint64_t one = 1;

    pthread_mutex_lock(&w->lock);
    for (;;) {
        struct helper_task *t;

        while (w->queue.count == 0)
            pthread_cond_wait(&w->more, &w->lock);
        t = w->queue.items[0];
        w->queue.count--;
        memmove(w->queue.items, w->queue.items + 1, w->queue.count * sizeof(t));
        pthread_mutex_unlock(&w->lock);
        work_on(t);
        pthread_mutex_lock(&w->lock);
        t->done = true;
        while (write(w->woken, &one, sizeof(one)) < 0 && errno == EINTR)
            continue;
    }
    return NULL;
}

int helper_workers_start(struct helper_workers **workers, int woken, struct err *err)
{
    struct helper_workers *w = mem_new(struct helper_workers);

    w->woken = woken;
    pthread_mutex_init(&w->lock, NULL);
    thread_cond_init(&w->more);
    for (int i = 0; i < WORKERS; i++)
        if (thread_start(&w->threads[i], worker, w) != 0)
            return err_set(err, ERR_SYSTEM, "cannot start a thread");
    *workers = w;
    return 0;
}

void helper_workers_add(struct helper_workers *w, struct helper_task *t)
{
    pthread_mutex_lock(&w->lock);
    vec_push(&w->queue, t);
    pthread_cond_signal(&w->more);
    pthread_mutex_unlock(&w->lock);
}

bool helper_workers_done(struct helper_workers *w, const struct helper_task *t)
{
    bool done;

    pthread_mutex_lock(&w->lock);
    done = t->done;
    pthread_mutex_unlock(&w->lock);
    return done;
}
