/* fuzz_json.c - whatever is read can be written, and what was written can be read */
#include "fuzz/fuzz.h"

#include "base/json.h"
#include "base/json_out.h"

#include <stdlib.h>

static void copy(struct json_out *out, const struct json_value *value)
{
    struct json_iter it = {.object = value};
    double number = 0;
    bool flag = false;

    switch (json_value_kind(value)) {
    case JSON_KIND_OBJECT:
        json_out_begin_object(out);
        while (json_iter_next(&it)) {
            json_out_key(out, it.key);
            copy(out, it.value);
        }
        json_out_end(out);
        break;
    case JSON_KIND_ARRAY:
        json_out_begin_array(out);
        for (size_t i = 0; i < json_value_count(value); i++)
            copy(out, json_value_item(value, i));
        json_out_end(out);
        break;
    case JSON_KIND_NUMBER:
        json_value_number(value, &number);
        json_out_number(out, number);
        break;
    case JSON_KIND_STRING:
        json_out_string(out, json_value_string(value));
        break;
    case JSON_KIND_BOOL:
        json_value_bool(value, &flag);
        json_out_bool(out, flag);
        break;
    case JSON_KIND_NULL:
        json_out_null(out);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct json_doc *doc = NULL, *again = NULL;
    struct json_out out;
    struct str text = {0};
    struct err err = {0};

    if (json_doc_parse(&doc, (const char *)data, size, "fuzz", &err) < 0)
        return 0;
    json_out_init(&out, &text, true);
    copy(&out, json_doc_root(doc));
    if (json_doc_parse(&again, text.text, text.length, "again", &err) < 0)
        abort();
    json_doc_destroy(again);
    json_doc_destroy(doc);
    str_fini(&text);
    return 0;
}
