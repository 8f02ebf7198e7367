/* slurm_hosts.c - lists of hosts as Slurm writes them, for slurm_access.c and for the
 * texts of sinfo and sacct that lab/traces/ reads */
#include "engine/slurm/slurm_hosts.h"

#include "base/parse.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

struct host_expansion {
    const char *list;
    size_t count, max;
    bool (*visit)(void *ctx, const char *host);
    void *ctx;
    bool stopped;
    struct err *err;
};

static int no_list(const struct host_expansion *e)
{
    return err_set(e->err, ERR_FORMAT, "\"%.60s\" is no list of hosts", e->list);
}

static int expand(struct host_expansion *e, const char *head, const char *rest);

/* Every number of "01-04,7" between the head and what is behind the bracket. */
static int expand_ranges(struct host_expansion *e, const char *head, const char *ranges,
                         const char *behind)
{
    char host[SLURM_HOST_SIZE];

    for (;;) {
        int width = (int)strspn(ranges, "0123456789"), last_width = width;
        const char *at = ranges;
        int first, last;

        if (width < 1 || width > 9 || !parse_digits(&at, width, &first))
            return no_list(e);
        last = first;
        if (*at == '-') {
            at++;
            last_width = (int)strspn(at, "0123456789");
            if (last_width < 1 || last_width > 9 || !parse_digits(&at, last_width, &last))
                return no_list(e);
        }
        if (last < first)
            return no_list(e);
        for (int n = first; n <= last && !e->stopped; n++) {
            if (snprintf(host, sizeof(host), "%s%0*d", head, width, n) >=
                (int)sizeof(host))
                return no_list(e);
            if (expand(e, host, behind) < 0)
                return -1;
        }
        if (*at == ']')
            return 0;
        if (*at != ',')
            return no_list(e);
        ranges = at + 1;
    }
}

/* One item of the list, whose beginning is decided. */
static int expand(struct host_expansion *e, const char *head, const char *rest)
{
    size_t plain = strcspn(rest, "[,"), used = strlen(head);
    char host[SLURM_HOST_SIZE];
    const char *close;

    for (size_t i = 0; i < plain; i++)
        if (!isalnum((unsigned char)rest[i]) && !strchr("._-", rest[i]))
            return no_list(e);
    if (used + plain >= sizeof(host))
        return no_list(e);
    memcpy(host, head, used);
    memcpy(host + used, rest, plain);
    host[used + plain] = '\0';
    if (rest[plain] != '[') {
        if (!host[0])
            return no_list(e);
        if (e->count++ == e->max)
            return err_set(e->err, ERR_LIMIT, "\"%.60s\" has more than %zu hosts",
                           e->list, e->max);
        e->stopped = !e->visit(e->ctx, host);
        return 0;
    }
    close = strchr(rest + plain, ']');
    return close ? expand_ranges(e, host, rest + plain + 1, close + 1) : no_list(e);
}

int slurm_hosts(const char *list, size_t max, bool (*visit)(void *ctx, const char *host),
                void *ctx, struct err *err)
{
    struct host_expansion e = {
        .list = list, .max = max, .visit = visit, .ctx = ctx, .err = err};
    int depth = 0;

    for (;;) {
        if (expand(&e, "", list) < 0)
            return -1;
        if (e.stopped)
            return 0;
        for (; *list && (depth > 0 || *list != ','); list++)
            depth += (*list == '[') - (*list == ']');
        if (!*list)
            return 0;
        list++;
    }
}
