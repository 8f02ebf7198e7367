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
#define FIELD(row, column, member, as, ...)                                              \
    {                                                                                    \
        .name = #column, .kind = as, .offset = offsetof(struct row, member),             \
        .size = sizeof(MEMBER(row, member)), __VA_ARGS__                                 \
    }

/* A column and the member of a struct that fills it. */
#define NAMED(row, column, member)                                                       \
    FIELD(row, column, member, KIND(row, member), .words = NULL)
#define AS(as, row, column) FIELD(row, column, column, as, .words = NULL)
/* NULL is written as this text. */
#define TEXT_OR(row, column, text) FIELD(row, column, column, ROW_TEXT, .otherwise = text)
/* The sum of such a text, or of NULL. */
#define SUM_OR(row, column, member, text)                                                \
    FIELD(row, column, member, ROW_SUM, .otherwise = text)
/* A number that stands as a word of a list. */
#define WORD(row, column, member, list)                                                  \
    FIELD(row, column, member, ROW_WORD, .words = list)

/* Columns that have the names of their members: COLUMNS(row, id, at_s, ...), up to 8. */
#define COLUMNS(row, ...)                                                                \
    PICK(__VA_ARGS__, C8, C7, C6, C5, C4, C3, C2, C1)(row, __VA_ARGS__)
#define PICK(a, b, c, d, e, f, g, h, picked, ...) picked
#define C1(row, a)                                NAMED(row, a, a)
#define C2(row, a, ...)                           C1(row, a), C1(row, __VA_ARGS__)
#define C3(row, a, ...)                           C1(row, a), C2(row, __VA_ARGS__)
#define C4(row, a, ...)                           C1(row, a), C3(row, __VA_ARGS__)
#define C5(row, a, ...)                           C1(row, a), C4(row, __VA_ARGS__)
#define C6(row, a, ...)                           C1(row, a), C5(row, __VA_ARGS__)
#define C7(row, a, ...)                           C1(row, a), C6(row, __VA_ARGS__)
#define C8(row, a, ...)                           C1(row, a), C7(row, __VA_ARGS__)

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
    COLUMNS(store_request, uid, gid),
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
    NAMED(store_request, cpus, job.cpus),
    NAMED(store_request, host_memory_gb, job.host_memory_gb),
    NAMED(store_request, priority, job.priority),
    TEXT_OR(store_request, types, ""),
    NAMED(store_request, may_share, job.may_share),
    NAMED(store_request, may_move, job.may_move),
    COLUMNS(store_request, directory, argv, env, output, metrics_url, metrics_counter),
    COLUMNS(store_request, progress_file, stop_grace_s, checkpoint_signal, extra),
    COLUMNS(store_request, key, digest),
};

static const struct row_column progress[] = {
    NAMED(store_progress, id, job),
    WORD(store_progress, state, state, row_states),
    COLUMNS(store_progress, held, attempt, started_s, placed_s, ended_s, steps_done),
    COLUMNS(store_progress, required_rate, moves, restarts, exit_status, signal),
    TEXT_OR(store_progress, devices, ""),
    COLUMNS(store_progress, reason),
    NAMED(store_progress, progress_extra, extra),
};

static const struct row_column state_count[] = {
    WORD(store_state_count, state, state, row_states),
    COLUMNS(store_state_count, count),
};

static const struct row_column transition[] = {
    COLUMNS(store_transition, job, at_s),
    WORD(store_transition, to_state, to, row_states),
    COLUMNS(store_transition, what, reason, attempt, devices),
    WORD(store_transition, from_state, from, row_states), /* only read */
};

static const struct row_column decision[] = {
    COLUMNS(store_decision, id, job, at_s, round, what, devices, rate, watts),
    COLUMNS(store_decision, joules, reason, alternatives),
    SUM_OR(store_decision, alternatives_sum, alternatives, NULL),
};

static const struct row_column quote[] = {
    COLUMNS(store_quote, id),
    AS(ROW_ID, store_quote, job),
    TEXT_OR(store_quote, user, ""),
    COLUMNS(store_quote, at_s, verdict, rate, confidence, joules, joules_low),
    COLUMNS(store_quote, joules_high, start_s, valid_until_s, devices, neighbour, detail),
    SUM_OR(store_quote, detail_sum, detail, NULL),
};

static const struct row_column guard[] = {
    COLUMNS(store_guard, job, at_s, kind, promised, measured, window_s, device, action),
    COLUMNS(store_guard, reason),
};

static const struct row_column event[] = {
    COLUMNS(store_event, id, at_s, kind),
    AS(ROW_ID, store_event, job),
    COLUMNS(store_event, user),
    TEXT_OR(store_event, data, "{}"),
    SUM_OR(store_event, data_sum, data, "{}"),
};

/* The last four are only read. */
static const struct row_column measurement[] = {
    COLUMNS(store_measurement, job, attempt),
    TEXT_OR(store_measurement, device, ""),
    COLUMNS(store_measurement, at_s, window_s, rate, watts, steps, source, confidence),
    COLUMNS(store_measurement, out_of_memory),
    AS(ROW_POSITIVE, store_measurement, latency_s),
    AS(ROW_POSITIVE, store_measurement, median_s),
    AS(ROW_POSITIVE, store_measurement, busy),
    AS(ROW_POSITIVE, store_measurement, held),
    COLUMNS(store_measurement, windows, rate_low, rate_high, latency_high_s),
};

static const struct row_column power[] = {
    COLUMNS(store_power, device, at_s, window_s, watts, joules, modelled),
};

static const struct row_column energy[] = {
    COLUMNS(store_energy, at_s),
    TEXT_OR(store_energy, device, ""),
    COLUMNS(store_energy, job),
    TEXT_OR(store_energy, user, ""),
    COLUMNS(store_energy, joules, error_joules, modelled_joules, busy_s, saved_joules),
    COLUMNS(store_energy, saved_error, unknown_joules),
};

static const struct row_column energy_sum[] = {
    COLUMNS(store_energy_sum, start_s, span_s, job, user, name, device, joules),
    COLUMNS(store_energy_sum, error_joules, modelled_joules, busy_s, saved_joules),
    COLUMNS(store_energy_sum, saved_error, unknown_joules),
};

static const struct row_column token[] = {
    COLUMNS(store_token, id, digest),
    WORD(store_token, role, role, role_words),
    COLUMNS(store_token, user, uid, gid, note, created_s, expires_s, revoked_s),
};

static const struct row_column revocation[] = {
    NAMED(store_revocation, id, token),
    NAMED(store_revocation, revoked_s, at_s),
};

static const struct row_column audit[] = {
    COLUMNS(store_audit, at_s, user),
    NAMED(store_audit, peer, from),
    COLUMNS(store_audit, action, target, outcome),
    NAMED(store_audit, note, detail),
    COLUMNS(store_audit, id),
};

static const struct row_column setting[] = {COLUMNS(store_setting, name, text)};

static const struct row_column operator_word[] = {
    WORD(store_operator, scope, scope, scope_words),
    COLUMNS(store_operator, name, drained),
    WORD(store_operator, power, power, wish_words),
    COLUMNS(store_operator, cap_watts, reason, user, at_s),
};

static const struct row_column model[] = {
    COLUMNS(model_row, id, name, version, at_s, bytes, digest, whole)};

static const struct row_column model_part[] = {COLUMNS(model_part, model, part, bytes)};

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
    " NULL, out_of_memory, latency_sum / nullif(timed_s, 0), NULL, NULL, NULL, windows," \
    " rate_low, rate_high, latency_high FROM measurement_hours"                          \
    " WHERE job = :job AND hour_s + 3600 >= :from AND hour_s < :to"                      \
    " UNION ALL "                                                                        \
    "SELECT job, attempt, nullif(device, ''), at_s, window_s, rate, watts, steps,"       \
    " source, confidence, out_of_memory, latency_s, median_s, busy, held, 1, rate, "     \
    "rate,"                                                                              \
    " latency_s"                                                                         \
    " FROM measurements WHERE job = :job AND at_s >= :from AND at_s <= :to"

/* What a step began from is what the store has: a step before it may have been refused by
 * a full disk. */
#define PUT_TRANSITION                                                                   \
    "INSERT INTO transitions (job, at_s, to_state, what, reason, attempt, devices,"      \
    " from_state) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, (SELECT to_state FROM"             \
    " transitions WHERE job = ?1 ORDER BY id DESC LIMIT 1))"

/* No such time, no such hour: the table refuses it. */
#define PUT_ENERGY                                                                       \
    "INSERT INTO energy (start_s, span_s, device, job, user, joules, error_joules,"      \
    " modelled_joules, busy_s, saved_joules, saved_error, unknown_joules)"               \
    " VALUES (CAST(?1 / 3600 AS INTEGER) * 3600, 3600, ?2, ?3, ?4, ?5, ?6, ?7, ?8, "     \
    "?9, ?10, ?11)" ENERGY_ADDS_UP

/* The columns tell a sum apart: start_s, span_s, job, user, device.  The first term is
 * for the index, no span is longer than a day. */
#define SPAN "min(start_s), max(start_s + span_s) - min(start_s)"
#define ENERGY_SUMS(columns, group)                                                      \
    .select = "SELECT " columns ", sum(joules), sum(error_joules),"                      \
              " sum(modelled_joules), sum(busy_s), sum(saved_joules),"                   \
              " sum(saved_error), sum(unknown_joules) FROM energy"                       \
              " WHERE start_s > :from - 86400 AND start_s + span_s > :from"              \
              " AND start_s < :to",                                                      \
    .tail = group, ROW(store_energy_sum, energy_sum)

const struct row_table row_tables[STORE_TABLE_COUNT] = {
    [STORE_JOBS] = {JOB_ROW, .tail = " ORDER BY id DESC", .limit = 1000},
    [STORE_LIVE_JOBS] = {JOB_ROW,
                         .tail = " AND state IN ('waiting', 'running') ORDER BY id"},
    [STORE_STATE_COUNTS] = {.select = "SELECT state, count(*) FROM jobs",
                            .tail = " GROUP BY state",
                            ROW(store_state_count, state_count)},
    [STORE_REQUESTS] = {.name = "jobs",
                        .verb = "UPDATE",
                        .missing = no_job,
                        .parts = {{request, COUNT(request) - 2, 0}}},
    [STORE_PROGRESS] = {.name = "jobs",
                        .verb = "UPDATE",
                        .missing = no_job,
                        ROW(store_progress, progress)},
    [STORE_TRANSITIONS] = {.name = "transitions",
                           .put = PUT_TRANSITION,
                           .needs = ":job",
                           .tail = " ORDER BY id",
                           .only_read = 1,
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
    [STORE_ENERGY_BY_JOB] = {ENERGY_SUMS(
        SPAN ", job, nullif(user, ''), (SELECT name FROM jobs WHERE id = job), device",
        " GROUP BY job, user, device ORDER BY job, device")},
    [STORE_ENERGY_BY_HOUR] = {ENERGY_SUMS("start_s, span_s, 0, NULL, NULL, NULL",
                                          " GROUP BY start_s, span_s"
                                          " ORDER BY start_s, span_s")},
    [STORE_TOKENS] = {.name = "tokens", .tail = " ORDER BY id", ROW(store_token, token)},
    [STORE_REVOCATIONS] = {.put = "UPDATE tokens SET revoked_s = CASE WHEN revoked_s > 0"
                                  " THEN revoked_s ELSE ?2 END WHERE id = ?1",
                           .missing = "there is no such token",
                           ROW(store_revocation, revocation)},
    [STORE_AUDIT] = {.name = "audit",
                     .tail = " ORDER BY id DESC",
                     .limit = 1000,
                     .only_read = 1,
                     ROW(store_audit, audit)},
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
                            .parts = {{model, 1, 0}}},
};
