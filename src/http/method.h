/* method.h - methods of HTTP and what the answers' numbers are called */
#ifndef CORGI_HTTP_METHOD_H
#define CORGI_HTTP_METHOD_H

#include <stdbool.h>
#include <stddef.h>

enum http_method {
    HTTP_GET,
    HTTP_HEAD,
    HTTP_POST,
    HTTP_PUT,
    HTTP_PATCH,
    HTTP_DELETE,
    HTTP_OPTIONS,
    HTTP_METHOD_COUNT
};

const char *http_method_name(enum http_method method);
bool http_method_named(const char *name, size_t length, enum http_method *method);

const char *http_status_name(int status); /* "Not Found"; "Status" when unknown */

#endif
