/* method.c - see method.h */
#include "http/method.h"

#include <string.h>

static const char *const names[HTTP_METHOD_COUNT] = {
    [HTTP_GET] = "GET",         [HTTP_HEAD] = "HEAD",   [HTTP_POST] = "POST",
    [HTTP_PUT] = "PUT",         [HTTP_PATCH] = "PATCH", [HTTP_DELETE] = "DELETE",
    [HTTP_OPTIONS] = "OPTIONS",
};

const char *http_method_name(enum http_method method)
{
    return names[method];
}

bool http_method_named(const char *name, size_t length, enum http_method *method)
{
    for (int m = 0; m < HTTP_METHOD_COUNT; m++) {
        if (strlen(names[m]) == length && !memcmp(names[m], name, length)) {
            *method = (enum http_method)m;
            return true;
        }
    }
    return false;
}

const char *http_status_name(int status)
{
    static const struct {
        int status;
        const char *name;
    } known[] = {
        {100, "Continue"},
        {200, "OK"},
        {201, "Created"},
        {202, "Accepted"},
        {204, "No Content"},
        {304, "Not Modified"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {411, "Length Required"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {415, "Unsupported Media Type"},
        {417, "Expectation Failed"},
        {422, "Unprocessable Content"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {503, "Service Unavailable"},
        {505, "HTTP Version Not Supported"},
    };

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (known[i].status == status)
            return known[i].name;
    return "Status";
}
