/* tables.c - which columns of which table a row's struct fills
 *
 * batch.c makes the statements that put rows from this, reader.c those that read them.
 * The tables themselves stand in migrations.c. */
#include "store/store_private.h"

#include "loop/requirement.h"

/* ---- columns ----------------------------------------------------------------------- */

#define MEMBER(row, member) ((struct row *)0)->member
#define KIND(row, member)                                                                \
    _Generic(MEMBER(row, member), bool                                                   \
             : ROW_BOOL, int                                                             \
             : ROW_INT, unsigned                                                         \
             : ROW_UNSIGNED, uint64_t                                                    \
             : ROW_U64, double                                                           \
             : ROW_REAL, const char *                                                    \
             : ROW_TEXT, char *                                                          \
             : ROW_CHARS, const char *const *                                            \
             : ROW_WORDS, unsigned char *                                                \
             : ROW_DIGEST, struct row_bytes                                              \
             : ROW_BYTES)
#define PLACE(row, member)                                                               \
    .offset = offsetof(struct row, member), .size = sizeof(MEMBER(row, member))

/* A column and the member of a struct that fills it. */
#define NAMED(row, column, member)                                                       \
    {                                                                                    \
        .name = #column, .kind = KIND(row, member), PLACE(row, member)                   \
    }
#define COLUMN(row, column) NAMED(row, column, column)
/* NULL is written as this text. */
#define TEXT_OR(row, column, text)                                                       \
    {                                                                                    \
        .name = #column, .kind = ROW_TEXT, PLACE(row, column), .otherwise = text         \
    }
/* A number that stands as a word of a list. */
#define WORD(row, column, member, list)                                                  \
    {                                                                                    \
        .name = #column, .kind = ROW_WORD, PLACE(row, member), .words = list             \
    }
#define AS(as, row, column)                                                              \
    {                                                                                    \
        .name = #column, .kind = as, PLACE(row, column)                                  \
    }

const char *const row_states[] = {"waiting", "running",   "done",
                                  "failed",  "cancelled", NULL};
static const char *const kind_words[] = {"training", "inference", NULL};
static const char *const role_words[] = {"viewer", "user", "operator", NULL};
static const char *const scope_words[] = {"node", "device", NULL};
static const char *const wish_words[] = {"auto", "on", "off", NULL};

/* The last two are not changed with the others. */
static const struct row_column request[] = {
    NAMED(store_request, id, job.id),
    NAMED(store_request, name, job.name),
    NAMED(store_request, owner, job.owner),
    TEXT_OR(store_request, user, ""),
    COLUMN(store_request, uid),
    COLUMN(store_request, gid),
    WORD(store_request, kind, job.kind, kind_words),
    NAMED(store_request, family, job.descriptor.family),
    WORD(store_request, model, job.descriptor.model, model_kind_names),
    NAMED(store_request, batch, job.descriptor.batch),
    NAMED(store_request, gmac_per_sample, job.descriptor.gmac_per_sample),
    NAMED(store_request, params_millions, job.descriptor.params_millions),
    NAMED(store_request, memory_mb_per_sample, job.descriptor.memory_mb_per_sample),
    WORD(store_request, need, job.need.kind, requirement_kind_names),
    NAMED(store_request, rate, job.need.rate),
    NAMED(store_request, latency_s, job.need.latency_s),
    NAMED(store_request, deadline_s, job.need.deadline_s),
    NAMED(store_request, confidence, job.need.confidence),
    NAMED(store_request, submitted_s, job.submitted_s),
    NAMED(store_request, total_steps, job.total_steps),
    NAMED(store_request, duration_s, job.duration_s),
    NAMED(store_request, devices_wanted, job.devices),
    NAMED(store_request, memory_gb, job.memory_gb),
    NAMED(store_request, priority, job.priority),
    TEXT_OR(store_request, types, ""),
    NAMED(store_request, may_share, job.may_share),
    NAMED(store_request, may_move, job.may_move),
    COLUMN(store_request, directory),
    COLUMN(store_request, argv),
    COLUMN(store_request, env),
    COLUMN(store_request, output),
    COLUMN(store_request, metrics_url),
    COLUMN(store_request, metrics_counter),
    COLUMN(store_request, progress_file),
    COLUMN(store_request, stop_grace_s),
    COLUMN(store_request, checkpoint_signal),
    COLUMN(store_request, extra),
    COLUMN(store_request, key),
    COLUMN(store_request, digest),
};

static const struct row_column progress[] = {
    NAMED(store_progress, id, job),        WORD(store_progress, state, state, row_states),
    COLUMN(store_progress, held),          COLUMN(store_progress, attempt),
    COLUMN(store_progress, started_s),     COLUMN(store_progress, placed_s),
    COLUMN(store_progress, ended_s),       COLUMN(store_progress, steps_done),
    COLUMN(store_progress, required_rate), COLUMN(store_progress, moves),
    COLUMN(store_progress, restarts),      COLUMN(store_progress, exit_status),
    COLUMN(store_progress, signal),        TEXT_OR(store_progress, devices, ""),
    COLUMN(store_progress, reason),        NAMED(store_progress, progress_extra, extra),
};

static const struct row_column transition[] = {
    COLUMN(store_transition, job),
    COLUMN(store_transition, at_s),
    WORD(store_transition, from_state, from, row_states),
    WORD(store_transition, to_state, to, row_states),
    COLUMN(store_transition, what),
    COLUMN(store_transition, reason),
    COLUMN(store_transition, attempt),
    COLUMN(store_transition, devices),
};

static const struct row_column decision[] = {
    COLUMN(store_decision, id),           COLUMN(store_decision, job),
    COLUMN(store_decision, at_s),         COLUMN(store_decision, round),
    COLUMN(store_decision, what),         COLUMN(store_decision, devices),
    COLUMN(store_decision, rate),         COLUMN(store_decision, watts),
    COLUMN(store_decision, joules),       COLUMN(store_decision, reason),
    COLUMN(store_decision, alternatives),
};

static const struct row_column quote[] = {
    COLUMN(store_quote, id),         AS(ROW_ID, store_quote, job),
    TEXT_OR(store_quote, user, ""),  COLUMN(store_quote, at_s),
    COLUMN(store_quote, verdict),    COLUMN(store_quote, rate),
    COLUMN(store_quote, confidence), COLUMN(store_quote, joules),
    COLUMN(store_quote, joules_low), COLUMN(store_quote, joules_high),
    COLUMN(store_quote, start_s),    COLUMN(store_quote, valid_until_s),
    COLUMN(store_quote, devices),    COLUMN(store_quote, neighbour),
    COLUMN(store_quote, detail),
};

static const struct row_column guard[] = {
    COLUMN(store_guard, job),      COLUMN(store_guard, at_s),
    COLUMN(store_guard, kind),     COLUMN(store_guard, promised),
    COLUMN(store_guard, measured), COLUMN(store_guard, window_s),
    COLUMN(store_guard, device),   COLUMN(store_guard, action),
    COLUMN(store_guard, reason),
};

static const struct row_column event[] = {
    COLUMN(store_event, id),   COLUMN(store_event, at_s),
    COLUMN(store_event, kind), AS(ROW_ID, store_event, job),
    COLUMN(store_event, user), TEXT_OR(store_event, data, "{}"),
};

/* The last four are only read. */
static const struct row_column measurement[] = {
    COLUMN(store_measurement, job),
    COLUMN(store_measurement, attempt),
    TEXT_OR(store_measurement, device, ""),
    COLUMN(store_measurement, at_s),
    COLUMN(store_measurement, window_s),
    COLUMN(store_measurement, rate),
    COLUMN(store_measurement, watts),
    COLUMN(store_measurement, steps),
    COLUMN(store_measurement, source),
    COLUMN(store_measurement, confidence),
    COLUMN(store_measurement, out_of_memory),
    AS(ROW_POSITIVE, store_measurement, latency_s),
    COLUMN(store_measurement, windows),
    COLUMN(store_measurement, rate_low),
    COLUMN(store_measurement, rate_high),
    COLUMN(store_measurement, latency_high_s),
};

static const struct row_column power[] = {
    COLUMN(store_power, device),   COLUMN(store_power, at_s),
    COLUMN(store_power, window_s), COLUMN(store_power, watts),
    COLUMN(store_power, joules),   COLUMN(store_power, modelled),
};

static const struct row_column energy[] = {
    COLUMN(store_energy, at_s),
    TEXT_OR(store_energy, device, ""),
    COLUMN(store_energy, job),
    TEXT_OR(store_energy, user, ""),
    COLUMN(store_energy, joules),
    COLUMN(store_energy, error_joules),
    COLUMN(store_energy, modelled_joules),
    COLUMN(store_energy, busy_s),
    COLUMN(store_energy, saved_joules),
};

static const struct row_column energy_sum[] = {
    COLUMN(store_energy_sum, start_s),      COLUMN(store_energy_sum, span_s),
    COLUMN(store_energy_sum, job),          COLUMN(store_energy_sum, user),
    COLUMN(store_energy_sum, device),       COLUMN(store_energy_sum, joules),
    COLUMN(store_energy_sum, error_joules), COLUMN(store_energy_sum, modelled_joules),
    COLUMN(store_energy_sum, busy_s),       COLUMN(store_energy_sum, saved_joules),
};

static const struct row_column token[] = {
    COLUMN(store_token, id),
    COLUMN(store_token, digest),
    WORD(store_token, role, role, role_words),
    COLUMN(store_token, user),
    COLUMN(store_token, uid),
    COLUMN(store_token, gid),
    COLUMN(store_token, note),
    COLUMN(store_token, created_s),
    COLUMN(store_token, expires_s),
    COLUMN(store_token, revoked_s),
};

static const struct row_column revocation[] = {
    NAMED(store_revocation, id, token),
    NAMED(store_revocation, revoked_s, at_s),
};

static const struct row_column audit[] = {
    COLUMN(store_audit, at_s),        COLUMN(store_audit, user),
    NAMED(store_audit, peer, from),   COLUMN(store_audit, action),
    COLUMN(store_audit, target),      COLUMN(store_audit, outcome),
    NAMED(store_audit, note, detail),
};

static const struct row_column setting[] = {
    COLUMN(store_setting, name),
    COLUMN(store_setting, text),
};

static const struct row_column operator_word[] = {
    WORD(store_operator, scope, scope, scope_words),
    COLUMN(store_operator, name),
    COLUMN(store_operator, drained),
    WORD(store_operator, power, power, wish_words),
    COLUMN(store_operator, cap_watts),
    COLUMN(store_operator, reason),
    COLUMN(store_operator, user),
    COLUMN(store_operator, at_s),
};

static const struct row_column model[] = {
    COLUMN(model_row, id),    COLUMN(model_row, name),  COLUMN(model_row, version),
    COLUMN(model_row, at_s),  COLUMN(model_row, bytes), COLUMN(model_row, digest),
    COLUMN(model_row, whole),
};

static const struct row_column model_part[] = {
    COLUMN(model_part, model),
    COLUMN(model_part, part),
    COLUMN(model_part, bytes),
};

/* ---- tables ------------------------------------------------------------------------ */

#define COUNT(columns) (sizeof(columns) / sizeof((columns)[0]))
#define ROW(row, list) .size = sizeof(struct row), .parts = {{list, COUNT(list), 0}}

/* Two halves of a row; the id of the second is that of the first. */
#define JOB_ROW                                                                          \
    .name = "jobs", .size = sizeof(struct store_job), .time = "submitted_s",             \
    .parts = {{request, COUNT(request), 0},                                              \
              {progress + 1, COUNT(progress) - 1, offsetof(struct store_job, progress)}}

static const char no_job[] = "there is no such job in the store";

/* A sum over no seconds divides to NULL, which is read as NaN: not measured. */
#define SELECT_MEASUREMENTS                                                              \
    "SELECT job, attempt, nullif(device, ''), hour_s + 3600 AS at_s, window_s,"          \
    " rate_sum / nullif(rated_s, 0), watts_sum / nullif(powered_s, 0), steps, NULL,"     \
    " NULL, out_of_memory, latency_sum / nullif(timed_s, 0), windows, rate_low,"         \
    " rate_high, latency_high FROM measurement_hours"                                    \
    " WHERE job = :job AND hour_s + 3600 >= :from AND hour_s < :to"                      \
    " UNION ALL "                                                                        \
    "SELECT job, attempt, nullif(device, ''), at_s, window_s, rate, watts, steps,"       \
    " source, confidence, out_of_memory, latency_s, 1, rate, rate, latency_s"            \
    " FROM measurements WHERE job = :job AND at_s >= :from AND at_s <= :to"

/* No such time, no such hour: the table refuses it. */
#define PUT_ENERGY                                                                       \
    "INSERT INTO energy (start_s, span_s, device, job, user, joules, error_joules,"      \
    " modelled_joules, busy_s, saved_joules)"                                            \
    " VALUES (CAST(?1 / 3600 AS INTEGER) * 3600, 3600, ?2, ?3, ?4, ?5, ?6, ?7, ?8, "     \
    "?9)" ENERGY_ADDS_UP

/* The columns tell a sum apart: start_s, span_s, job, user, device.  The first term is
 * for the index, no span is longer than a day. */
#define SPAN "min(start_s), max(start_s + span_s) - min(start_s)"
#define ENERGY_SUMS(columns, group)                                                      \
    .select = "SELECT " columns ", sum(joules), sum(error_joules),"                      \
              " sum(modelled_joules), sum(busy_s), sum(saved_joules) FROM energy"        \
              " WHERE start_s > :from - 86400 AND start_s + span_s > :from"              \
              " AND start_s < :to",                                                      \
    .tail = group, .limit = 10000, ROW(store_energy_sum, energy_sum)

const struct row_table row_tables[STORE_TABLE_COUNT] = {
    [STORE_JOBS] = {JOB_ROW, .tail = " ORDER BY id DESC", .limit = 1000},
    [STORE_LIVE_JOBS] = {JOB_ROW,
                         .tail = " AND state IN ('waiting', 'running') ORDER BY id"},
    [STORE_REQUESTS] = {.name = "jobs",
                        .verb = "UPDATE",
                        .missing = no_job,
                        .parts = {{request, COUNT(request) - 2, 0}}},
    [STORE_PROGRESS] = {.name = "jobs",
                        .verb = "UPDATE",
                        .missing = no_job,
                        ROW(store_progress, progress)},
    [STORE_TRANSITIONS] = {.name = "transitions",
                           .needs = ":job",
                           .tail = " ORDER BY id",
                           ROW(store_transition, transition)},
    [STORE_DECISIONS] = {.name = "decisions",
                         .tail = " ORDER BY id DESC",
                         .limit = 1000,
                         ROW(store_decision, decision)},
    [STORE_QUOTES] = {.name = "quotes",
                      .needs = ":job",
                      .tail = " ORDER BY id",
                      ROW(store_quote, quote)},
    [STORE_GUARDS] = {.name = "guard_events", ROW(store_guard, guard)},
    [STORE_EVENTS] = {.name = "events",
                      .tail = " ORDER BY id",
                      .limit = 1000,
                      ROW(store_event, event)},
    [STORE_MEASUREMENTS] = {.name = "measurements",
                            .select = SELECT_MEASUREMENTS,
                            .tail = " ORDER BY at_s",
                            .limit = 10000,
                            .only_read = 4,
                            ROW(store_measurement, measurement)},
    [STORE_POWER] = {.name = "power", ROW(store_power, power)},
    [STORE_ENERGY] = {.put = PUT_ENERGY, ROW(store_energy, energy)},
    [STORE_ENERGY_TOTAL] = {ENERGY_SUMS(SPAN ", 0, NULL, NULL", " HAVING count(*) > 0")},
    [STORE_ENERGY_BY_JOB] = {ENERGY_SUMS(SPAN ", job, nullif(max(user), ''), NULL",
                                         " GROUP BY job"
                                         " ORDER BY sum(joules) DESC, job")},
    [STORE_ENERGY_BY_USER] = {ENERGY_SUMS(SPAN ", 0, nullif(user, ''), NULL",
                                          " GROUP BY user"
                                          " ORDER BY sum(joules) DESC, user")},
    [STORE_ENERGY_BY_DEVICE] = {ENERGY_SUMS(SPAN ", 0, NULL, device",
                                            " GROUP BY device"
                                            " ORDER BY sum(joules) DESC, device")},
    [STORE_ENERGY_BY_HOUR] = {ENERGY_SUMS("start_s, span_s, 0, NULL, NULL",
                                          " GROUP BY start_s, span_s"
                                          " ORDER BY start_s, span_s")},
    [STORE_ENERGY_BY_DAY] = {ENERGY_SUMS("start_s / 86400 * 86400, 86400, 0, NULL, NULL",
                                         " GROUP BY start_s / 86400 ORDER BY 1")},
    [STORE_TOKENS] = {.name = "tokens", .tail = " ORDER BY id", ROW(store_token, token)},
    [STORE_REVOCATIONS] = {.put = "UPDATE tokens SET revoked_s = CASE WHEN revoked_s > 0"
                                  " THEN revoked_s ELSE ?2 END WHERE id = ?1",
                           .missing = "there is no such token",
                           ROW(store_revocation, revocation)},
    [STORE_AUDIT] = {.name = "audit", ROW(store_audit, audit)},
    [STORE_SETTINGS] = {.name = "settings",
                        .verb = "INSERT OR REPLACE",
                        .tail = " ORDER BY name",
                        ROW(store_setting, setting)},
    [STORE_OPERATORS] = {.name = "operator_settings",
                         .verb = "INSERT OR REPLACE",
                         .tail = " ORDER BY scope, name",
                         ROW(store_operator, operator_word)},
    [STORE_MODELS] = {.name = "models",
                      .tail = " AND whole = 1 ORDER BY id DESC",
                      ROW(model_row, model)},
    [STORE_MODEL_PARTS] = {.name = "model_parts",
                           .id = "model",
                           .needs = ":id",
                           .tail = " ORDER BY part",
                           ROW(model_part, model_part)},
    [STORE_WHOLE_MODELS] = {.put = "UPDATE models SET whole = 1 WHERE id = ?1 AND bytes ="
                                   " (SELECT sum(length(bytes)) FROM model_parts"
                                   " WHERE model = ?1)",
                            .missing = "a piece of the checkpoint could not be stored",
                            .size = sizeof(struct model_row),
                            .parts = {{model, 1, 0}}},
};
