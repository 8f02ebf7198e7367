/* loop_admin.c - an operator's words, engines that decide themselves, lessons, and what a
 * restart brings back; see loop.h
 *
 * The daemon begins a lesson when one is due, has its planning thread study it and takes
 * it; the simulator does all three at once.  The daemon saves and loads what was learned.
 */
#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"
#include "loop/admit/admit_check.h"
#include "loop/cluster.h"
#include "loop/estimate/lengths.h"
#include "loop/loop_private.h"
#include "loop/refine/lesson.h"
#include "model/codec.h"

#include <math.h>
#include <string.h>

/* What was learned: the model's bytes, then those of lengths and those of shares, each
 * with its size, a checksum and its mark behind it. */
#define LENGTHS_MARK  "CORGILEN"
#define SHARES_MARK   "CORGISHR"
#define PART_OVERHEAD 24

int loop_hold(struct loop *loop, uint64_t id, bool held, double now_s, struct err *err)
{
    struct job_status *status;

    if (loop_find(loop, id, &status, err) < 0)
        return -1;
    status->held = held;
    loop_want_round(loop, now_s);
    return 0;
}

void loop_defer(struct loop *loop, uint64_t id, double until_s)
{
    struct job_status *status = jobs_change(loop->jobs, id);

    if (!status)
        return;
    status->not_before_s = until_s;
    loop->due_s = fmin(loop->due_s, until_s);
}

static int check_device(const struct loop *loop, int device, struct err *err)
{
    if (device >= 0 && device < loop->cluster->device_count)
        return 0;
    return err_set(err, ERR_NOT_FOUND, "there is no device %d", device);
}

int loop_drain(struct loop *loop, int device, bool drained, double now_s, struct err *err)
{
    if (check_device(loop, device, err) < 0)
        return -1;
    loop->cluster->devices[device].drained = drained;
    loop_want_round(loop, now_s);
    return 0;
}

int loop_set_cap(struct loop *loop, int device, double watts, double now_s,
                 struct err *err)
{
    const struct gpu_sheet *type;

    if (check_device(loop, device, err) < 0)
        return -1;
    type = &loop->cluster->types[loop->cluster->devices[device].type];
    if (watts != 0 && (type->cap_min_watts <= 0 || !(watts >= type->cap_min_watts) ||
                       watts > type->tdp_watts))
        return err_set(err, ERR_INVALID, "a %s can be capped from %g to %g W, not at %g",
                       type->name, type->cap_min_watts, type->tdp_watts, watts);
    loop->cluster->devices[device].cap_watts = watts;
    loop->device_changed_s[device] = now_s;
    return 0;
}

int loop_fix_cap(struct loop *loop, int device, double watts, double now_s,
                 struct err *err)
{
    if (loop_set_cap(loop, device, isnan(watts) ? 0 : watts, now_s, err) < 0)
        return -1;
    loop->fixed_cap_watts[device] = watts;
    loop_want_round(loop, now_s);
    return 0;
}

void loop_allow_sleep(struct loop *loop, int node, bool allowed, double now_s)
{
    loop->cluster->nodes[node].may_sleep = allowed;
    loop_want_round(loop, now_s);
}

void loop_set_settings(struct loop *loop, const struct optimize_settings *settings,
                       double now_s)
{
    loop->settings = *settings;
    loop_want_round(loop, now_s);
}

void loop_set_share(struct loop *loop, const struct fair_share_rule *rule, double now_s)
{
    fair_shares_tell(loop->shares, rule);
    loop_stir(loop, now_s);
}

void loop_fold_share(struct loop *loop, int owner, const char *account, double now_s)
{
    fair_shares_fold(loop->shares, owner, account, loop->settings.fair_share_s, now_s);
    loop_stir(loop, now_s);
}

static bool has_seat(const struct device *d, uint64_t job)
{
    for (int i = 0; i < d->job_count; i++)
        if (d->jobs[i] == job)
            return true;
    return d->job_count < LOOP_MAX_SHARE;
}

/* Has each of them a seat for this job, its own counted? */
static int check_seats(const struct loop *loop, uint64_t job, const int *devices,
                       int count, struct err *err)
{
    for (int i = 0; i < count; i++) {
        int d = devices[i];

        if (check_device(loop, d, err) < 0)
            return -1;
        if (loop->cluster->devices[d].failed ||
            !has_seat(&loop->cluster->devices[d], job))
            return err_set(err, ERR_INVALID, "device %d has no seat for job %llu", d,
                           (unsigned long long)job);
        for (int k = 0; k < i; k++)
            if (devices[k] == d)
                return err_set(err, ERR_INVALID, "job %llu had device %d twice",
                               (unsigned long long)job, d);
    }
    return 0;
}

static int check_restored(const struct loop *loop, const struct job_status *was,
                          struct err *err)
{
    if (was->device_count != was->job.devices || was->device_count > LOOP_MAX_GANG)
        return err_set(err, ERR_INVALID, "job %llu needs %d devices and had %d",
                       (unsigned long long)was->job.id, was->job.devices,
                       was->device_count);
    return check_seats(loop, was->job.id, was->devices, was->device_count, err);
}

/* ---- an engine that decides itself ---- */

int loop_seat(struct loop *loop, uint64_t id, const int *devices, int count, double at_s,
              struct err *err)
{
    struct job_status *status;

    if (loop_find(loop, id, &status, err) < 0)
        return -1;
    if (count < 1 || count > LOOP_MAX_GANG)
        return err_set(err, ERR_INVALID, "job %llu got %d devices",
                       (unsigned long long)id, count);
    if (check_seats(loop, id, devices, count, err) < 0)
        return -1;
    loop_leave_devices(loop, status, at_s);
    status->job.devices = status->device_count = count;
    memcpy(status->devices, devices, (size_t)count * sizeof(*devices));
    for (int i = 0; i < count; i++) {
        cluster_seat(loop->cluster, devices[i], id);
        loop->device_changed_s[devices[i]] = at_s;
    }
    if (isnan(status->started_s))
        status->started_s = at_s;
    status->placed_s = status->counted_s = at_s;
    status->state = JOB_RUNNING;
    loop_want_round(loop, at_s);
    return 0;
}

/* Whoever else was there has gone: from now on it is idle. */
static void note_unused(struct loop *loop, int node, bool before, double now_s)
{
    if (!before && cluster_node_is_unused(loop->cluster, node))
        loop->cluster->nodes[node].idle_since_s = now_s;
}

/* What is told is left; what the loop's own jobs take of it is the loop's to count. */
void loop_set_room(struct loop *loop, int node, struct host_room left, double now_s)
{
    struct node *n = &loop->cluster->nodes[node];
    bool unused = cluster_node_is_unused(loop->cluster, node);

    if (!isfinite(n->room.cpus) || !isfinite(left.cpus))
        n->room.cpus = left.cpus;
    if (!isfinite(n->room.memory_gb) || !isfinite(left.memory_gb))
        n->room.memory_gb = left.memory_gb;
    n->taken = (struct host_room){
        isfinite(left.cpus) ? n->room.cpus - left.cpus : 0,
        isfinite(left.memory_gb) ? n->room.memory_gb - left.memory_gb : 0};
    note_unused(loop, node, unused, now_s);
    loop_want_round(loop, now_s);
}

void loop_set_access(struct loop *loop, int node, struct node_access access, double now_s)
{
    loop->cluster->nodes[node].access = access;
    loop_want_round(loop, now_s);
}

void loop_set_group_end(struct loop *loop, int group, double ends_s, double now_s)
{
    loop->cluster->group_ends_s[group] = ends_s;
    loop_want_round(loop, now_s);
}

void loop_bind(struct loop *loop, uint64_t id, int group, double limit_s, double now_s)
{
    struct job_status *status = jobs_change(loop->jobs, id);

    if (!status)
        return;
    status->job.group = group;
    status->job.limit_s = limit_s;
    loop_want_round(loop, now_s);
}

/* What it held so far was the other account's. */
void loop_reckon(struct loop *loop, uint64_t id, uint64_t account, double now_s)
{
    struct job_status *status = jobs_change(loop->jobs, id);

    if (!status || status->job.account == account)
        return;
    if (status->device_count > 0)
        loop_count_use(loop, status, now_s);
    status->job.account = account;
    fair_shares_meet(loop->shares, &status->job);
    loop_want_round(loop, now_s);
}

void loop_device_taken(struct loop *loop, int device, bool taken, double now_s)
{
    struct device *d = &loop->cluster->devices[device];
    bool unused = cluster_node_is_unused(loop->cluster, d->node);

    d->taken = taken;
    note_unused(loop, d->node, unused, now_s);
    loop_want_round(loop, now_s);
}

void loop_add_node(struct loop *loop, const struct node_spec *spec, double now_s)
{
    size_t before = (size_t)loop->cluster->device_count, now;

    cluster_add_node(loop->cluster, spec);
    now = (size_t)loop->cluster->device_count;
    loop->device_changed_s =
        mem_resize(loop->device_changed_s, before, now, sizeof(double));
    loop->fixed_cap_watts =
        mem_resize(loop->fixed_cap_watts, before, now, sizeof(double));
    for (size_t d = before; d < now; d++)
        loop->fixed_cap_watts[d] = NAN;
    loop_want_round(loop, now_s);
}

/* ---- after a restart ---- */

int loop_restore(struct loop *loop, const struct job_status *was, struct err *err)
{
    struct job_status *status;

    if (jobs_get(loop->jobs, was->job.id))
        return err_set(err, ERR_EXISTS, "job %llu exists already",
                       (unsigned long long)was->job.id);
    if (admit_check(&was->job, loop->cluster, err) < 0)
        return -1;
    if (was->state == JOB_RUNNING && check_restored(loop, was, err) < 0)
        return -1;
    loop_tell_model(loop, DEFERRED_BEGIN, &was->job, NULL);
    status = jobs_add(loop->jobs, &was->job);
    *status = *was;
    status->counted_s = NAN; /* from the next count on */
    fair_shares_meet(loop->shares, &was->job);
    status->ages_passed = status->parts_passed = LENGTHS_RESUMED;
    if (was->state != JOB_RUNNING)
        status->device_count = 0;
    for (int i = 0; i < status->device_count; i++) {
        cluster_seat(loop->cluster, status->devices[i], was->job.id);
        jobs_touch(loop->jobs, &loop->cluster->devices[status->devices[i]]);
    }
    loop->due_s = -INFINITY;
    return 0;
}

/* ---- what was learned ---- */

struct learned_lesson *loop_lesson_begin(struct loop *loop, double now_s)
{
    if (loop->studied || !lesson_due(&loop->model, now_s))
        return NULL;
    return learned_lesson_create(loop->model.self, now_s);
}

void loop_lesson_take(struct loop *loop, struct learned_lesson *lesson)
{
    if (loop->round_out)
        loop->studied = lesson;
    else
        learned_lesson_take(loop->model.self, lesson);
}

void loop_learn_due(struct loop *loop, double now_s)
{
    struct learned_lesson *lesson = loop_lesson_begin(loop, now_s);

    if (!lesson)
        return;
    learned_lesson_study(lesson);
    loop_lesson_take(loop, lesson);
}

struct part {
    const char *mark, *what;
    void (*code)(void *self, struct codec *codec);
};

static void code_lengths(void *self, struct codec *c)
{
    lengths_code(self, c);
}

static void code_shares(void *self, struct codec *c)
{
    fair_shares_code(self, c);
}

static const struct part lengths_part = {LENGTHS_MARK, "lengths", code_lengths};
static const struct part shares_part = {SHARES_MARK, "shares", code_shares};

static void add_part(const struct part *part, void *self, unsigned char **bytes,
                     size_t *count)
{
    struct bytes_out out = {.items = *bytes, .count = *count, .capacity = *count};
    struct codec c = {.out = &out};
    size_t size;

    part->code(self, &c);
    size = out.count - *count;
    bytes_put_u64(&out, size);
    bytes_put_u64(&out, hash_bytes((const char *)out.items + *count, size));
    bytes_put(&out, part->mark, 8);
    *bytes = out.items;
    *count = out.count;
}

/* The part at the end of what was learned, into a new self; *count becomes that of the
 * rest.  *found: it is there, else it is of an older Corgi. */
static int read_part(const struct part *part, const unsigned char *bytes, size_t *count,
                     void *self, bool *found, struct err *err)
{
    struct bytes_in in = {bytes + *count - PART_OVERHEAD, PART_OVERHEAD, false};
    struct codec c = {.in = &in};
    size_t size;
    uint64_t sum;

    *found = *count >= PART_OVERHEAD && memcmp(bytes + *count - 8, part->mark, 8) == 0;
    if (!*found)
        return 0;
    size = bytes_u64(&in);
    sum = bytes_u64(&in);
    if (size > *count - PART_OVERHEAD)
        return err_set(err, ERR_FORMAT, "what was learned of %s is cut short",
                       part->what);
    *count -= PART_OVERHEAD + size;
    in = (struct bytes_in){bytes + *count, size, false};
    part->code(self, &c);
    if (!in.bad && in.left == 0 && sum == hash_bytes((const char *)bytes + *count, size))
        return 0;
    return err_set(err, ERR_FORMAT, "what was learned of %s is damaged", part->what);
}

int loop_save(const struct loop *loop, unsigned char **bytes, size_t *count,
              struct err *err)
{
    if (loop->model.ops != &learned_ops)
        return err_set(err, ERR_UNSUPPORTED, "the model %s cannot be saved",
                       loop->model.ops->name);
    learned_save(loop->model.self, bytes, count);
    add_part(&lengths_part, loop->lengths, bytes, count);
    add_part(&shares_part, loop->shares, bytes, count);
    return 0;
}

static bool is_here(void *ctx, uint64_t job)
{
    return jobs_get(((struct loop *)ctx)->jobs, job) != NULL;
}

void loop_forget_absent(struct loop *loop)
{
    if (loop->model.ops == &learned_ops)
        learned_retain(loop->model.self, is_here, loop);
}

int loop_load(struct loop *loop, const void *bytes, size_t count, struct err *err)
{
    struct lengths *lengths = lengths_create(), *old_lengths = loop->lengths;
    struct fair_shares *shares = fair_shares_create(), *old_shares = loop->shares;
    bool has_shares = false, has_lengths = false;
    int rc = -1;

    if (loop->model.ops != &learned_ops)
        err_set(err, ERR_UNSUPPORTED, "the model %s cannot be loaded",
                loop->model.ops->name);
    else if (read_part(&shares_part, bytes, &count, shares, &has_shares, err) == 0 &&
             read_part(&lengths_part, bytes, &count, lengths, &has_lengths, err) == 0)
        rc = learned_load(loop->model.self, bytes, count, err);
    if (rc == 0 && has_lengths)
        loop->lengths = lengths;
    if (rc == 0 && has_shares)
        loop->shares = shares;
    lengths_destroy(loop->lengths == lengths ? old_lengths : lengths);
    fair_shares_destroy(loop->shares == shares ? old_shares : shares);
    return rc;
}
