/* top_list.c - cmd_top.c puts the daemon's answers in here and draws what comes out */
#include "corgi/top_list.h"

#include "corgi/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- columns ----------------------------------------------------------------------- */

struct top_column {
    const char *title;
    const char *key; /* a member of the row, by which it is sorted */
    enum view_as as;
    int width; /* 0: what the others leave */
    int from;  /* columns a terminal must have for it */
    /* Instead of the member. */
    void (*add)(struct str *out, const struct json_value *row);
};

static bool is_number(const struct top_column *c)
{
    return c->as != VIEW_TEXT;
}

void top_list_add_where(struct str *out, const struct json_value *job)
{
    const struct json_value *devices = json_value_get(job, "devices");

    for (size_t i = 0; i < json_value_count(devices); i++)
        str_addf(out, "%s%s", i ? "," : "",
                 view_text_or(json_value_item(devices, i), "name", "?"));
    if (json_value_count(devices) == 0)
        str_add(out, view_text_or(job, "reason", "-"));
}

static void add_promised(struct str *out, const struct json_value *job)
{
    const char *promise = view_text_or(job, "promise", "none");
    char a[VIEW_SIZE];

    if (!strcmp(promise, "pending"))
        str_addf(out, "%s?", view_rate(a, view_number(job, "required_rate")));
    else
        str_add(out, view_rate(a, view_number(job, "promised_rate")));
}

static void add_watts(struct str *out, const struct json_value *device)
{
    char a[VIEW_SIZE];

    str_addf(out, "%s%s", view_watts(a, view_number(device, "watts")),
             json_member_bool(device, "modelled", false) ? "*" : "");
}

static void add_jobs(struct str *out, const struct json_value *device)
{
    const struct json_value *jobs = json_value_get(device, "jobs");

    for (size_t i = 0; i < json_value_count(jobs); i++) {
        const struct json_value *job = json_value_item(jobs, i);

        str_addf(out, "%s%.0f %s", i ? ", " : "", view_number(job, "job"),
                 view_text_or(job, "name", ""));
    }
}

static const struct top_column job_columns[] = {
    {"JOB", "id", VIEW_COUNT, 7, 0, NULL},
    {"NAME", "name", VIEW_TEXT, 18, 0, NULL},
    {"USER", "user", VIEW_TEXT, 10, 100, NULL},
    {"STATE", "state", VIEW_TEXT, 8, 0, NULL},
    {"RATE", "rate", VIEW_RATE, 8, 0, NULL},
    {"PROMISED", "promised_rate", VIEW_RATE, 9, 0, add_promised},
    {"POWER", "watts", VIEW_WATTS, 8, 60, NULL},
    {"ENERGY", "joules", VIEW_JOULES, 10, 100, NULL},
    {"STEPS", "steps_done", VIEW_COUNT, 14, 130, NULL},
    {"WHERE", "where", VIEW_TEXT, 0, 0, top_list_add_where},
    {0},
};

static const struct top_column device_columns[] = {
    {"GPU", "name", VIEW_TEXT, 16, 0, NULL},
    {"TYPE", "type", VIEW_TEXT, 12, 0, NULL},
    {"STATE", "state", VIEW_TEXT, 8, 0, NULL},
    {"POWER", "watts", VIEW_WATTS, 9, 0, add_watts},
    {"CAP", "cap_watts", VIEW_WATTS, 8, 60, NULL},
    {"ENERGY", "joules", VIEW_JOULES, 10, 100, NULL},
    {"JOBS", "jobs", VIEW_TEXT, 0, 0, add_jobs},
    {0},
};

const struct top_column *const top_job_columns = job_columns;
const struct top_column *const top_device_columns = device_columns;

static void cell_text(struct str *out, const struct top_column *c,
                      const struct json_value *row)
{
    double number = is_number(c) ? view_number(row, c->key) : NAN;
    char a[VIEW_SIZE];

    if (c->add)
        c->add(out, row);
    else if (!is_number(c))
        str_add(out, view_text_or(row, c->key, "-"));
    else if (c->as == VIEW_RATE)
        str_add(out, view_rate(a, number));
    else if (c->as == VIEW_WATTS)
        str_add(out, view_watts(a, number));
    else if (c->as == VIEW_JOULES)
        str_add(out, view_joules(a, number));
    else
        str_add(out, view_count(a, number));
}

/* ---- rows -------------------------------------------------------------------------- */

static bool passes(const struct top_list *l, const struct json_value *row,
                   const char *filter)
{
    struct str text = {0};
    bool found = !*filter;

    for (const struct top_column *c = l->columns; c->title && !found; c++) {
        str_clear(&text);
        cell_text(&text, c, row);
        found = strcasestr(str_text(&text), filter) != NULL;
    }
    str_fini(&text);
    return found;
}

static int compare_rows(const void *a, const void *b)
{
    const struct top_row *x = a, *y = b;

    if (isnan(x->number) != isnan(y->number))
        return isnan(x->number) ? 1 : -1; /* what is not known comes last */
    if (x->number < y->number || x->number > y->number)
        return x->number < y->number ? -1 : 1;
    return strcmp(str_text(&x->sorted_by), str_text(&y->sorted_by));
}

static int compare_backwards(const void *a, const void *b)
{
    const struct top_row *x = a, *y = b;

    if (isnan(x->number) != isnan(y->number))
        return compare_rows(a, b);
    return compare_rows(b, a);
}

void top_list_clear(struct top_list *l)
{
    vec_each (struct top_row, row, &l->rows)
        str_fini(&row->sorted_by);
    vec_clear(&l->rows);
}

void top_list_fini(struct top_list *l)
{
    top_list_clear(l);
    vec_free(&l->rows);
}

void top_list_add(struct top_list *l, const struct json_value *value, const char *filter)
{
    const struct top_column *c = &l->columns[l->sort];
    struct top_row row = {.value = value};

    if (!passes(l, value, filter))
        return;
    if (is_number(c))
        row.number = view_number(value, c->key);
    else
        cell_text(&row.sorted_by, c, value);
    vec_push(&l->rows, row);
}

void top_list_sort(struct top_list *l)
{
    if (l->rows.count > 0)
        qsort(l->rows.items, l->rows.count, sizeof(*l->rows.items),
              l->backwards ? compare_backwards : compare_rows);
    top_list_move(l, 0);
}

void top_list_move(struct top_list *l, long by)
{
    long last = (long)l->rows.count - 1, at = (long)l->chosen + by;

    l->chosen = last < 0 || at < 0 ? 0 : (size_t)(at > last ? last : at);
}

void top_list_next_column(struct top_list *l, int wide)
{
    do
        l->sort = l->columns[l->sort + 1].title ? l->sort + 1 : 0;
    while (l->columns[l->sort].from > wide);
}

bool top_list_cell(const struct top_list *l, const struct json_value *row, int wide,
                   struct top_cell *cell)
{
    const struct top_column *c;

    cell->x += cell->width ? cell->width + 1 : 0;
    while (l->columns[cell->column].title && l->columns[cell->column].from > wide)
        cell->column++;
    c = &l->columns[cell->column];
    if (!c->title || cell->x >= wide)
        return false;
    cell->width = c->width ? c->width : wide - cell->x;
    cell->right = is_number(c);
    str_clear(&cell->text);
    if (row)
        cell_text(&cell->text, c, row);
    else
        str_addf(&cell->text, "%s%s", c->title,
                 cell->column != l->sort ? ""
                 : l->backwards          ? " v"
                                         : " ^");
    cell->column++;
    return true;
}
