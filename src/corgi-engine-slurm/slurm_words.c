/* slurm_words.c - slurm_source.c and slurm_job_rows.c write states with it */
#include "corgi-engine-slurm/slurm_words.h"

#include <slurm/slurm.h>

#include <stddef.h>

struct state_word {
    uint32_t bit;
    const char *name;
};

static const char *const job_states[] = {
    [JOB_PENDING] = "pending",     [JOB_RUNNING] = "running",
    [JOB_SUSPENDED] = "suspended", [JOB_COMPLETE] = "completed",
    [JOB_CANCELLED] = "cancelled", [JOB_FAILED] = "failed",
    [JOB_TIMEOUT] = "timeout",     [JOB_NODE_FAIL] = "node_fail",
    [JOB_PREEMPTED] = "preempted", [JOB_BOOT_FAIL] = "boot_fail",
    [JOB_DEADLINE] = "deadline",   [JOB_OOM] = "out_of_memory",
};

static const struct state_word job_flags[] = {
    {JOB_LAUNCH_FAILED, "launch_failed"},
    {JOB_REQUEUE, "requeue"},
    {JOB_REQUEUE_HOLD, "requeue_hold"},
    {JOB_SPECIAL_EXIT, "special_exit"},
    {JOB_CONFIGURING, "configuring"},
    {JOB_COMPLETING, "completing"},
    {JOB_STOPPED, "stopped"},
    {0, NULL},
};

static const char *const node_states[] = {
    [NODE_STATE_UNKNOWN] = "unknown", [NODE_STATE_DOWN] = "down",
    [NODE_STATE_IDLE] = "idle",       [NODE_STATE_ALLOCATED] = "allocated",
    [NODE_STATE_ERROR] = "error",     [NODE_STATE_MIXED] = "mixed",
    [NODE_STATE_FUTURE] = "future",
};

static const struct state_word node_flags[] = {
    {NODE_STATE_DRAIN, "drain"},
    {NODE_STATE_COMPLETING, "completing"},
    {NODE_STATE_NO_RESPOND, "no_respond"},
    {NODE_STATE_POWERED_DOWN, "powered_down"},
    {NODE_STATE_POWERING_DOWN, "powering_down"},
    {NODE_STATE_POWERING_UP, "powering_up"},
    {NODE_STATE_POWER_DOWN, "power_down"},
    {NODE_STATE_POWER_UP, "power_up"},
    {NODE_STATE_FAIL, "fail"},
    {NODE_STATE_MAINT, "maint"},
    {NODE_STATE_RES, "reserved"},
    {NODE_STATE_REBOOT_ISSUED, "reboot"},
    {NODE_STATE_INVALID_REG, "invalid"},
    {0, NULL},
};

const char *slurm_words_job(uint32_t state)
{
    uint32_t base = state & JOB_STATE_BASE;

    return base < JOB_END ? job_states[base] : "unknown";
}

const char *slurm_words_node(uint32_t state)
{
    uint32_t base = state & NODE_STATE_BASE;

    return base < NODE_STATE_END ? node_states[base] : "unknown";
}

static void write_flags(struct json_out *out, const struct state_word *words,
                        uint32_t state)
{
    json_out_key_array(out, "flags");
    for (; words->name; words++)
        if (state & words->bit)
            json_out_string(out, words->name);
    json_out_end(out);
}

void slurm_words_job_flags(struct json_out *out, uint32_t state)
{
    write_flags(out, job_flags, state);
}

void slurm_words_node_flags(struct json_out *out, uint32_t state)
{
    write_flags(out, node_flags, state);
}
