/* cmd_top.c - corgi top: the cluster and its jobs on a terminal, live
 *
 * Every few seconds the daemon is asked for its summary, its devices and the jobs that
 * wait or run (daemon.c); the answers are kept and rows point into them.  screen.c draws
 * and reads keys.  Enter asks why a job is where it is. */
#include "corgi/commands.h"

#include "base/clock.h"
#include "corgi/daemon.h"
#include "corgi/screen.h"
#include "corgi/top_list.h"
#include "corgi/view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* From this height on devices and jobs are shown together. */
#define BOTH_FROM_ROWS 36
#define HEAD_ROWS      3
#define FILTER_SIZE    40
#define NARROWEST      10 /* lines are not broken for less */

struct top_args {
    struct daemon_args daemon;
    double delay_s;
};

static const struct option_spec options[] = {
    OPT(struct top_args, delay_s, SECONDS, "delay", 'd', "TIME", "ask again this often",
        .min = 0.2, .max = 3600, .default_text = "2s"),
    DAEMON_CONNECT_OPTIONS,
    {0},
};

struct top {
    const struct top_args *args;
    struct client *client;
    struct client_answer version, summary, nodes, jobs;
    struct top_list lists[2]; /* jobs, devices */
    int focus;
    char filter[FILTER_SIZE];
    bool typing; /* the filter */
    bool help;
    struct err trouble; /* the last answer did not come */
    struct str why;     /* lines about a job; empty: none is looked at */
    int why_first;
    bool ended;
};

enum { LIST_JOBS, LIST_DEVICES };

static void fill_lists(struct top *t)
{
    const struct json_value *jobs = json_value_get(daemon_root(&t->jobs), "jobs");
    const struct json_value *nodes = json_value_get(daemon_root(&t->nodes), "nodes");

    for (int i = 0; i < 2; i++)
        top_list_clear(&t->lists[i]);
    for (size_t i = 0; i < json_value_count(jobs); i++)
        top_list_add(&t->lists[LIST_JOBS], json_value_item(jobs, i), t->filter);
    for (size_t n = 0; n < json_value_count(nodes); n++) {
        const struct json_value *devices =
            json_value_get(json_value_item(nodes, n), "devices");

        for (size_t i = 0; i < json_value_count(devices); i++)
            top_list_add(&t->lists[LIST_DEVICES], json_value_item(devices, i), t->filter);
    }
    for (int i = 0; i < 2; i++)
        top_list_sort(&t->lists[i]);
}

/* ---- asking ------------------------------------------------------------------------ */

/* The answer before stays when there is none. */
static bool ask(struct top *t, const char *path, struct client_answer *kept)
{
    const struct client_request request = {
        .method = HTTP_GET, .path = path, .retries = 1};
    struct client_answer answer;
    struct err err = {0};

    if (daemon_ask(t->client, &request, &answer, &err) < 0) {
        client_answer_fini(&answer);
        t->trouble = err;
        return false;
    }
    client_answer_fini(kept);
    *kept = answer;
    return true;
}

static void ask_all(struct top *t)
{
    t->trouble = (struct err){0};
    for (int i = 0; i < 2; i++)
        top_list_clear(&t->lists[i]); /* its rows point into what goes now */
    (void)(ask(t, "/v1/version", &t->version) && ask(t, "/v1/summary", &t->summary) &&
           ask(t, "/v1/nodes", &t->nodes) &&
           ask(t, "/v1/jobs?state=active&limit=1000", &t->jobs));
    fill_lists(t);
}

/* ---- why --------------------------------------------------------------------------- */

static double job_of(const struct top *t)
{
    const struct top_list *l = &t->lists[t->focus];
    const struct json_value *row;

    if (l->rows.count == 0)
        return NAN;
    row = l->rows.items[l->chosen].value;
    return t->focus == LIST_JOBS
               ? view_number(row, "id")
               : view_number(json_value_item(json_value_get(row, "jobs"), 0), "job");
}

static void add_alternatives(struct str *out, const struct json_value *list)
{
    char a[VIEW_SIZE];

    for (size_t i = 0; i < json_value_count(list); i++) {
        const struct json_value *x = json_value_item(list, i);

        str_addf(out, "    %s: %s", view_text_or(x, "type", "elsewhere"),
                 view_text_or(x, "text", view_text_or(x, "verdict", "?")));
        if (view_number(x, "rate") > 0)
            str_addf(out, ", %s/s", view_rate(a, view_number(x, "rate")));
        str_add(out, "\n");
    }
}

static void add_job(struct str *out, const struct json_value *job)
{
    char a[VIEW_SIZE], b[VIEW_SIZE], c[VIEW_SIZE], d[VIEW_SIZE];

    str_addf(out, "Job %.0f %s of %s is %s", view_number(job, "id"),
             view_text_or(job, "name", ""), view_text_or(job, "user", "?"),
             view_text_or(job, "state", "?"));
    if (json_value_count(json_value_get(job, "devices")) > 0) {
        str_add(out, " on ");
        top_list_add_where(out, job);
    }
    str_addf(out, "\n%s%s", view_text_or(job, "reason", ""),
             json_member_string(job, "reason") ? "\n" : "");
    str_addf(out, "promised %s/s, measured %s/s, %s, %s so far\n\n",
             view_rate(a, view_number(job, "promised_rate")),
             view_rate(b, view_number(job, "rate")),
             view_watts(c, view_number(job, "watts")),
             view_joules(d, view_number(job, "joules")));
    add_alternatives(out, json_value_get(job, "places"));
}

static void add_decisions(struct str *out, const struct json_value *list)
{
    char a[VIEW_SIZE];

    for (size_t i = 0; i < json_value_count(list); i++) {
        const struct json_value *d = json_value_item(list, i);

        str_addf(out, "%s %s: %s\n", view_time(a, view_number(d, "at_s")),
                 view_text_or(d, "kind", "?"), view_text_or(d, "reason", "-"));
        add_alternatives(out, json_value_get(d, "alternatives"));
    }
}

static void ask_why(struct top *t)
{
    struct client_answer job = {0}, decisions = {0};
    double id = job_of(t);
    char path[80];

    str_clear(&t->why);
    t->why_first = 0;
    if (!(id > 0))
        return;
    snprintf(path, sizeof(path), "/v1/jobs/%.0f", id);
    if (ask(t, path, &job)) {
        add_job(&t->why, daemon_root(&job));
        snprintf(path, sizeof(path), "/v1/decisions?limit=20&job=%.0f", id);
        if (ask(t, path, &decisions))
            add_decisions(&t->why, json_value_get(daemon_root(&decisions), "decisions"));
    }
    client_answer_fini(&job);
    client_answer_fini(&decisions);
}

/* ---- drawing ----------------------------------------------------------------------- */

static void draw_head(const struct top *t)
{
    const struct json_value *s = daemon_root(&t->summary);
    const struct json_value *jobs = json_value_get(s, "jobs"),
                            *devices = json_value_get(s, "devices"),
                            *promises = json_value_get(s, "promises");
    const char *engine = view_text_or(daemon_root(&t->version), "engine", "?");
    struct str line = {0};
    char a[VIEW_SIZE], b[VIEW_SIZE];

    str_addf(&line, "corgi top: %s%s, %.0f of %.0f GPUs busy, %.0f shared, %.0f asleep",
             view_watts(a, view_number(s, "watts")),
             strcmp(engine, "sim") ? "" : " (simulated)", view_number(devices, "busy"),
             view_number(devices, "total"), view_number(devices, "shared"),
             view_number(devices, "asleep"));
    screen_text(0, 0, screen_columns(), SCREEN_BOLD, str_text(&line));
    str_clear(&line);
    str_addf(&line, "%.0f running, %.0f waiting; promises kept %s, %.0f broken now; %s",
             view_number(jobs, "running"), view_number(jobs, "waiting"),
             view_share(a, view_number(promises, "kept_share")),
             view_number(promises, "broken"), view_joules(b, view_number(s, "joules")));
    screen_text(1, 0, screen_columns(),
                view_number(promises, "broken") > 0 ? SCREEN_BAD : SCREEN_PLAIN,
                str_text(&line));
    str_clear(&line);
    if (t->typing || t->filter[0])
        str_addf(&line, "filter: %s%s", t->filter, t->typing ? "_" : "");
    if (t->trouble.code != ERR_NONE)
        str_addf(&line, "%s%s", line.length ? "; " : "", t->trouble.text);
    screen_text(2, 0, screen_columns(),
                t->trouble.code != ERR_NONE ? SCREEN_BAD : SCREEN_DIM, str_text(&line));
    str_fini(&line);
}

/* Cells of one row, or the titles (row NULL). */
static void draw_cells(const struct top_list *l, int y, const struct json_value *row,
                       enum screen_style style)
{
    struct top_cell cell = {0};

    screen_text(y, 0, screen_columns(), style, "");
    while (top_list_cell(l, row, screen_columns(), &cell)) {
        int indent = cell.right ? cell.width - (int)cell.text.length : 0;

        indent = indent > 0 ? indent : 0;
        screen_text(y, cell.x + indent, cell.width - indent, style, str_text(&cell.text));
    }
    str_fini(&cell.text);
}

static enum screen_style style_of(const struct json_value *row)
{
    const char *state = view_text_or(row, "state", "");
    double ratio = view_number(row, "rate") / view_number(row, "promised_rate");

    if (!strcmp(state, "failed") || ratio < 0.95)
        return SCREEN_BAD;
    return !strcmp(state, "asleep") || !strcmp(state, "drained") ? SCREEN_DIM
                                                                 : SCREEN_PLAIN;
}

static void draw_list(struct top *t, int which, int y, int rows)
{
    struct top_list *l = &t->lists[which];
    bool focus = t->focus == which;

    l->page = rows - 1;
    if (l->page < 1)
        return;
    if (l->chosen < l->first)
        l->first = l->chosen;
    if (l->chosen >= l->first + (size_t)l->page)
        l->first = l->chosen - (size_t)l->page + 1;
    draw_cells(l, y, NULL, focus ? SCREEN_TITLE : SCREEN_BOLD);
    for (int i = 0; i < l->page && l->first + (size_t)i < l->rows.count; i++) {
        size_t at = l->first + (size_t)i;
        const struct json_value *row = l->rows.items[at].value;

        draw_cells(l, y + 1 + i, row,
                   focus && at == l->chosen ? SCREEN_CHOSEN : style_of(row));
    }
    if (l->rows.count == 0)
        screen_text(y + 1, 0, screen_columns(), SCREEN_DIM,
                    t->filter[0]         ? "nothing is like that; Esc clears the filter"
                    : which == LIST_JOBS ? "no job waits or runs; see corgi submit --help"
                                         : "the cluster has no GPU");
}

/* Long lines go on below, indented; returns how many there are. */
static int draw_lines(const char *text, int y, int rows, int skip)
{
    int width = screen_columns() > NARROWEST ? screen_columns() : NARROWEST, count = 0;
    struct str line = {0};

    while (*text) {
        int length = (int)strcspn(text, "\n"), from = 0;

        do {
            int indent = from ? 4 : 0, take = length - from;

            if (take > width - indent) {
                take = width - indent;
                while (take > 1 && text[from + take] != ' ')
                    take--;
                take = take > 1 ? take : width - indent;
            }
            str_clear(&line);
            str_add_bytes(&line, text + from, (size_t)take);
            if (count >= skip && count - skip < rows)
                screen_text(y + count - skip, indent, width - indent, SCREEN_PLAIN,
                            str_text(&line));
            from += take;
            while (from < length && text[from] == ' ')
                from++;
            count++;
        } while (from < length);
        text += length + (text[length] == '\n');
    }
    str_fini(&line);
    return count;
}

static const char help_text[] =
    "Tab               GPUs or jobs\n"
    "Up, Down, PgUp, PgDn, Home, End\n"
    "Enter             why the job is where it is\n"
    "s or F6           sort by the next column; r: the other way round\n"
    "/ or F4           show what has this text; Esc: all\n"
    "h or F1           this; q or F10: end\n"
    "\n"
    "A power with * comes from a model, not from a meter.  A rate with ? is\n"
    "asked for and not promised yet.  Red: a promise does not hold.\n";

static void draw(struct top *t)
{
    int rows = screen_rows(), free_rows = rows - HEAD_ROWS - 1;

    screen_clear();
    draw_head(t);
    if (t->help) {
        draw_lines(help_text, HEAD_ROWS, free_rows, 0);
    } else if (t->why.length > 0) {
        int count = draw_lines(str_text(&t->why), HEAD_ROWS, free_rows, t->why_first);

        if (t->why_first > count - 1)
            t->why_first = count > 0 ? count - 1 : 0;
    } else if (rows >= BOTH_FROM_ROWS) {
        int upper = free_rows / 2;

        draw_list(t, LIST_DEVICES, HEAD_ROWS, upper);
        draw_list(t, LIST_JOBS, HEAD_ROWS + upper, free_rows - upper);
    } else {
        draw_list(t, t->focus, HEAD_ROWS, free_rows);
    }
    screen_text(rows - 1, 0, screen_columns(), SCREEN_DIM,
                t->why.length > 0 ? "Esc back  Up Down"
                : t->typing       ? "Enter keep  Esc clear"
                            : "Tab GPUs/jobs  Enter why  s sort  r reverse  / filter "
                              " h help  q end");
    screen_show();
}

/* ---- keys -------------------------------------------------------------------------- */

static void type_filter(struct top *t, int key)
{
    size_t length = strlen(t->filter);

    if (key == SCREEN_ENTER || key == SCREEN_ESCAPE)
        t->typing = false;
    if (key == SCREEN_ESCAPE)
        t->filter[0] = '\0';
    else if (key == SCREEN_BACKSPACE && length > 0)
        t->filter[length - 1] = '\0';
    else if (key >= ' ' && key < 0x7f && length + 1 < sizeof(t->filter))
        memcpy(t->filter + length, (char[]){(char)key, '\0'}, 2);
    fill_lists(t);
}

static void read_why(struct top *t, int key)
{
    int page = screen_rows() - HEAD_ROWS - 2;
    int by = key == SCREEN_UP          ? -1
             : key == SCREEN_DOWN      ? 1
             : key == SCREEN_PAGE_UP   ? -page
             : key == SCREEN_PAGE_DOWN ? page
                                       : 0;

    t->why_first = t->why_first + by > 0 ? t->why_first + by : 0;
    if (key == SCREEN_ESCAPE || key == SCREEN_ENTER || key == 'q')
        str_clear(&t->why);
}

static void take_key(struct top *t, int key)
{
    struct top_list *l = &t->lists[t->focus];

    if (t->typing) {
        type_filter(t, key);
    } else if (t->help) {
        t->help = false;
    } else if (t->why.length > 0) {
        read_why(t, key);
    } else if (key == 'q' || key == SCREEN_F10) {
        t->ended = true;
    } else if (key == '\t') {
        t->focus = !t->focus;
    } else if (key == SCREEN_UP || key == SCREEN_DOWN) {
        top_list_move(l, key == SCREEN_UP ? -1 : 1);
    } else if (key == SCREEN_PAGE_UP || key == SCREEN_PAGE_DOWN) {
        top_list_move(l, key == SCREEN_PAGE_UP ? -l->page : l->page);
    } else if (key == SCREEN_HOME || key == SCREEN_END) {
        top_list_move(l, key == SCREEN_HOME ? -(long)l->rows.count : (long)l->rows.count);
    } else if (key == SCREEN_ENTER) {
        ask_why(t);
    } else if (key == 's' || key == SCREEN_F1 + 5) {
        top_list_next_column(l, screen_columns());
        fill_lists(t);
    } else if (key == 'r') {
        l->backwards = !l->backwards;
        fill_lists(t);
    } else if (key == '/' || key == SCREEN_F1 + 3) {
        t->typing = true;
    } else if (key == SCREEN_ESCAPE) {
        t->filter[0] = '\0';
        fill_lists(t);
    } else if (key == 'h' || key == '?' || key == SCREEN_F1) {
        t->help = true;
    }
}

/* ---- the command ------------------------------------------------------------------- */

static void fini(struct top *t)
{
    for (int i = 0; i < 2; i++)
        top_list_fini(&t->lists[i]);
    client_answer_fini(&t->version);
    client_answer_fini(&t->summary);
    client_answer_fini(&t->nodes);
    client_answer_fini(&t->jobs);
    str_fini(&t->why);
    client_destroy(t->client);
}

static void live(struct top *t)
{
    double next_s = clock_wall_s() + t->args->delay_s;

    while (!t->ended) {
        int key;

        draw(t);
        key = screen_key(fmax(0.01, next_s - clock_wall_s()));
        if (key != SCREEN_NO_KEY && key != SCREEN_RESIZED)
            take_key(t, key);
        if (clock_wall_s() >= next_s) {
            ask_all(t);
            next_s = clock_wall_s() + t->args->delay_s;
        }
    }
}

static int run(struct command_call *call)
{
    struct top t = {
        .args = call->args,
        .lists = {{.columns = top_job_columns}, {.columns = top_device_columns}}};
    struct err err = {0};
    int status = 0;

    if (daemon_open(&t.client, &t.args->daemon, &err) < 0)
        return command_failed(call, &err);
    ask_all(&t);
    if (t.trouble.code != ERR_NONE) {
        status = command_failed(call, &t.trouble);
    } else if (screen_begin(&err) < 0) {
        status = command_failed(call, &err);
    } else {
        live(&t);
        screen_end();
    }
    fini(&t);
    return status;
}

const struct command cmd_top = {
    .name = "top",
    .summary = "GPUs and jobs live on a terminal",
    .help =
        "GPUs with their power, cap and jobs; jobs with what is promised and measured; "
        "below each other where the terminal is high enough, else Tab changes between "
        "them.  Enter tells why a job is where it is.  Keys are as in htop: h lists "
        "them, q ends it.",
    .examples = "corgi top\ncorgi top --delay 10s",
    .options = options,
    .args_size = sizeof(struct top_args),
    .run = run,
};
