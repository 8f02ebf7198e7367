/* quote_view.c - cmd_submit.c, cmd_quote.c and cmd_show.c print a quote here */
#include "corgi/quote_view.h"

#include "corgi/view.h"

#include <math.h>
#include <string.h>

static void print_rate(const struct json_value *quote, const char *unit, FILE *out)
{
    const struct json_value *rate = json_value_get(quote, "rate");
    char a[VIEW_SIZE], b[VIEW_SIZE], c[VIEW_SIZE];
    double promised = view_number(quote, "promised_rate");
    const char *verdict = view_text(quote, "verdict");
    bool kept = !verdict || !strcmp(verdict, "accepted") || !strcmp(verdict, "queued");

    if (isfinite(promised))
        fprintf(out, "  %-9s %s %s at %.0f %% confidence\n",
                kept ? "promised" : "possible", view_rate(a, promised), unit,
                100 * view_number(quote, "confidence"));
    if (json_value_kind(rate) == JSON_KIND_OBJECT)
        fprintf(out, "  expected  %s %s (%s to %s, %s)\n",
                view_rate(a, view_number(rate, "value")), unit,
                view_rate(b, view_number(rate, "low")),
                view_rate(c, view_number(rate, "high")),
                view_text(rate, "source") ? view_text(rate, "source") : "estimated");
}

static void print_place(const struct json_value *quote, FILE *out)
{
    const struct json_value *neighbour = json_value_get(quote, "neighbour");
    const char *type = view_text(quote, "type"), *node = view_text(quote, "node");

    if (!type)
        return;
    fprintf(out, "  where     %s%s%s", type, node ? " on " : "", node ? node : "");
    if (json_value_kind(neighbour) == JSON_KIND_OBJECT)
        fprintf(out, ", beside job %.0f%s%s", view_number(neighbour, "job"),
                view_text(neighbour, "name") ? " " : "",
                view_text(neighbour, "name") ? view_text(neighbour, "name") : "");
    fputc('\n', out);
}

static void print_cost(const struct json_value *quote, FILE *out)
{
    const struct json_value *joules = json_value_get(quote, "joules");
    const struct json_value *watts = json_value_get(quote, "watts");
    char a[VIEW_SIZE], b[VIEW_SIZE], c[VIEW_SIZE];

    if (json_value_kind(joules) == JSON_KIND_OBJECT)
        fprintf(out, "  energy    %s (%s to %s)\n",
                view_joules(a, view_number(joules, "value")),
                view_joules(b, view_number(joules, "low")),
                view_joules(c, view_number(joules, "high")));
    if (json_value_kind(watts) == JSON_KIND_OBJECT)
        fprintf(out, "  power     %s\n", view_watts(a, view_number(watts, "value")));
}

static void print_when(const struct json_value *quote, double now_s, FILE *out)
{
    double start_s = view_number(quote, "start_s"), end_s = view_number(quote, "end_s");
    char a[VIEW_SIZE];

    if (isfinite(start_s) && isfinite(now_s) && start_s - now_s < 1)
        fprintf(out, "  start     now\n");
    else if (isfinite(start_s))
        fprintf(out, "  start     %s\n", view_time(a, start_s));
    if (isfinite(end_s))
        fprintf(out, "  end       %s\n", view_time(a, end_s));
}

void quote_view_print(const struct json_value *quote, const char *unit, double now_s,
                      bool with_reason, FILE *out)
{
    const struct json_value *offers = json_value_get(quote, "counter_offers");
    const char *reason = view_text(quote, "reason");

    print_rate(quote, unit, out);
    if (view_number(quote, "replicas") > 1)
        fprintf(out, "  replicas  %.0f, each with an equal part\n",
                view_number(quote, "replicas"));
    print_place(quote, out);
    print_cost(quote, out);
    print_when(quote, now_s, out);
    if (with_reason && reason && *reason)
        fprintf(out, "  reason    %s\n", reason);
    for (size_t i = 0; i < json_value_count(offers); i++) {
        const char *text = view_text(json_value_item(offers, i), "text");

        fprintf(out, "  %-9s %s\n", i ? "" : "offers", text ? text : "-");
    }
}
