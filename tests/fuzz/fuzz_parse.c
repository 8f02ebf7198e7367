/* fuzz_parse.c - numbers, times, powers and lists of cores: what is taken keeps its rule
 */
#include "fuzz/fuzz.h"

#include "base/mem.h"
#include "base/parse.h"
#include "engine/local/cpus.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const words[] = {"one", "two", NULL};

static void check_number(enum value_type type, const char *text)
{
    struct value_rule rule = {.type = type, .min = -3, .max = 1e6};
    double value = NAN;

    if (value_parse(&rule, text, &value) && !(value >= rule.min && value <= rule.max))
        abort();
    value = NAN;
    rule.min = rule.max = 0;
    if (value_parse(&rule, text, &value) && !isfinite(value))
        abort();
}

static void check_whole(const char *text)
{
    struct value_rule rule = {.type = VALUE_INT, .min = -3, .max = 1000};
    uint64_t large = 7;
    int value = 0;
    bool flag = false;

    if (value_parse(&rule, text, &value) && (value < -3 || value > 1000))
        abort();
    if (!parse_u64(text, &large) && large != 7)
        abort();
    value_parse(&(struct value_rule){.type = VALUE_U64}, text, &large);
    value_parse(&(struct value_rule){.type = VALUE_BOOL}, text, &flag);
    value = -1;
    if (value_parse(&(struct value_rule){.type = VALUE_CHOICE, .choices = words}, text,
                    &value) &&
        (value < 0 || value > 1))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = mem_array(char, size + 1);
    const char *same = NULL;
    cpu_set_t cores;

    memcpy(text, data, size);
    check_number(VALUE_DOUBLE, text);
    check_number(VALUE_SECONDS, text);
    check_number(VALUE_WATTS, text);
    check_whole(text);
    if (value_parse(&(struct value_rule){.type = VALUE_TEXT}, text, &same) && !*same)
        abort();
    if (cpus_parse_cores(text, &cores) && CPU_COUNT(&cores) == 0)
        abort();
    free(text);
    return 0;
}
