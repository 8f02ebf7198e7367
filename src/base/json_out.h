/* json_out.h - JSON written piece by piece into a string
 *
 *     struct json_out out;
 *     json_out_init(&out, &text, true);
 *     json_out_begin_object(&out);
 *     json_out_key_number(&out, "jobs", 3);
 *     json_out_end(&out);
 *
 * The same calls give the same bytes: members keep the order of the calls and numbers
 * have the shortest digits that read back as the same double.  Misuse (a value without a
 * key, an end too many) is our own mistake and asserted. */
#pragma once

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

#define JSON_OUT_MAX_NESTING 64

struct json_out {
    struct str *to;
    bool pretty; /* two blanks a level; else no blanks at all */
    int depth;
    bool after_key;
    char closers[JSON_OUT_MAX_NESTING]; /* (depth) '}' or ']' */
    bool filled[JSON_OUT_MAX_NESTING];  /* (depth) something was written at this level */
};

void json_out_init(struct json_out *out, struct str *to, bool pretty);

void json_out_begin_object(struct json_out *out);
void json_out_begin_array(struct json_out *out);
void json_out_end(
    struct json_out *out); /* whichever is open; pretty ends with a newline */
void json_out_key(struct json_out *out, const char *key);

void json_out_string(struct json_out *out, const char *text); /* NULL: null */
void json_out_number(struct json_out *out, double number);    /* not finite: null */
void json_out_int(struct json_out *out, int64_t number);
void json_out_u64(struct json_out *out, uint64_t number);
/* A value that is JSON already. */
void json_out_raw(struct json_out *out, const char *json);
#define json_out_bool(out, flag) json_out_raw(out, (flag) ? "true" : "false")
#define json_out_null(out)       json_out_raw(out, "null")

/* A key and its value at once; the value is worked out when the key is written. */
#define json_out_key_string(out, key, text)                                              \
    (json_out_key(out, key), json_out_string(out, text))
#define json_out_key_number(out, key, number)                                            \
    (json_out_key(out, key), json_out_number(out, number))
#define json_out_key_int(out, key, number)                                               \
    (json_out_key(out, key), json_out_int(out, number))
#define json_out_key_bool(out, key, flag)                                                \
    (json_out_key(out, key), json_out_bool(out, flag))
#define json_out_key_object(out, key) (json_out_key(out, key), json_out_begin_object(out))
#define json_out_key_array(out, key)  (json_out_key(out, key), json_out_begin_array(out))
