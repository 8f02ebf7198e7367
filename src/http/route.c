/* route.c - request_checks.c finds the route of a path here; server.c checks the whole
 * table once */
#include "http/route.h"

#include "http/head.h"

#include <stdio.h>
#include <string.h>

/* A path as its segments, each of them decoded. */
struct segments {
    int count;
    char *text[ROUTE_MAX_SEGMENTS];
};

/* False when it is malformed; a path with more segments than any pattern has one count
 * too many and fits none. */
static bool split(char *path, struct segments *segments)
{
    segments->count = 0;
    if (*path != '/')
        return false;
    while (path) {
        char *text = path + 1;

        path = strchr(text, '/');
        if (path)
            *path = '\0';
        if (!uri_decode(text) || !strcmp(text, ".") || !strcmp(text, ".."))
            return false;
        if (segments->count < ROUTE_MAX_SEGMENTS)
            segments->text[segments->count] = text;
        segments->count++;
    }
    return true;
}

/* Compare with a pattern and note its parameters; words gets a bit for every segment that
 * is a word, the first the highest, so that larger is more to the point. */
static bool fits(const char *pattern, const struct segments *segments,
                 struct route_match *match, unsigned *words)
{
    int i;

    match->param_count = 0;
    *words = 0;
    for (i = 0; *pattern == '/'; i++) {
        const char *word = pattern + 1;
        size_t length = strcspn(word, "/");

        pattern = word + length;
        if (i >= segments->count || i >= ROUTE_MAX_SEGMENTS)
            return false;
        if (*word == '{') {
            if (!*segments->text[i])
                return false;
            match->names[match->param_count] = word + 1;
            match->values[match->param_count++] = segments->text[i];
        } else if (strlen(segments->text[i]) == length &&
                   !memcmp(segments->text[i], word, length)) {
            *words |= 1u << (ROUTE_MAX_SEGMENTS - i);
        } else {
            return false;
        }
    }
    return i == segments->count;
}

bool route_find(const struct route *routes, enum http_method method, char *path,
                struct route_match *match)
{
    enum http_method wanted = method == HTTP_HEAD ? HTTP_GET : method;
    struct segments segments;
    unsigned best = 0;

    *match = (struct route_match){0};
    if (!split(path, &segments))
        return false;
    for (const struct route *route = routes; route->operation; route++) {
        struct route_match found = {0};
        unsigned words;

        if (!fits(route->pattern, &segments, &found, &words))
            continue;
        if (words > best || !match->allow) {
            found.allow = 0;
            *match = found;
            best = words;
        } else if (words < best) {
            continue;
        }
        match->allow |= 1u << route->method;
        if (route->method == wanted) {
            found.allow = match->allow;
            found.route = route;
            *match = found;
        }
    }
    if (match->allow & 1u << HTTP_GET)
        match->allow |= 1u << HTTP_HEAD;
    if (match->allow)
        match->allow |= 1u << HTTP_OPTIONS;
    return true;
}

static int check_one(const struct route *route, struct err *err)
{
    int params = 0, segments = 0;

    for (const char *c = route->pattern; *c; c++) {
        params += *c == '{';
        segments += *c == '/';
    }
    if (route->pattern[0] != '/' || params > ROUTE_MAX_PARAMS ||
        segments > ROUTE_MAX_SEGMENTS)
        return err_set(err, ERR_INVALID, "route %s: pattern %s", route->operation,
                       route->pattern);
    if (!route->handle)
        return err_set(err, ERR_INVALID, "route %s has no handler", route->operation);
    if (route->body && (route->method == HTTP_GET || route->method == HTTP_DELETE))
        return err_set(err, ERR_INVALID, "route %s: %s has no body", route->operation,
                       http_method_name(route->method));
    return 0;
}

int route_check(const struct route *routes, struct err *err)
{
    for (const struct route *route = routes; route->operation; route++) {
        if (check_one(route, err) < 0)
            return -1;
        for (const struct route *other = routes; other < route; other++)
            if (!strcmp(other->operation, route->operation) ||
                (other->method == route->method &&
                 !strcmp(other->pattern, route->pattern)))
                return err_set(err, ERR_EXISTS, "route %s is there twice",
                               route->operation);
    }
    return 0;
}

void route_allow(unsigned allow, char *out, size_t size)
{
    size_t used = 0;

    *out = '\0';
    for (int m = 0; m < HTTP_METHOD_COUNT; m++)
        if (allow & 1u << m && used < size)
            used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "",
                                     http_method_name((enum http_method)m));
}
