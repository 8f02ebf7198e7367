/* cmd_gpus.c - corgi gpus: the catalogue of cards */
#include "corgi/commands.h"

#include "base/json_out.h"
#include "base/table.h"
#include "world/gpu_sheet.h"

#include <stdio.h>

struct gpus_args {
    bool json;
};

static const struct option_spec options[] = {
    OPT(struct gpus_args, json, FLAG, "json", 'j', NULL, "print JSON instead of a table"),
    {0},
};

static void print_json(const struct gpu_sheet *gpus, size_t count)
{
    struct str text = {0};
    struct json_out out;

    json_out_init(&out, &text, true);
    json_out_begin_object(&out);
    json_out_key(&out, "gpus");
    json_out_begin_array(&out);
    for (const struct gpu_sheet *g = gpus; g < gpus + count; g++) {
        json_out_begin_object(&out);
        json_out_key_string(&out, "name", g->name);
        json_out_key_string(&out, "title", g->title);
        json_out_key_int(&out, "year", g->year);
        json_out_key_number(&out, "fp32_tflops", g->fp32_tflops);
        json_out_key_number(&out, "fp16_tflops", g->fp16_tflops);
        json_out_key_number(&out, "bandwidth_gbs", g->bandwidth_gbs);
        json_out_key_number(&out, "memory_gb", g->memory_gb);
        json_out_key_int(&out, "sms", g->sms);
        json_out_key_number(&out, "tdp_watts", g->tdp_watts);
        json_out_key_number(&out, "idle_watts", g->idle_watts);
        json_out_key_number(&out, "cap_min_watts", g->cap_min_watts);
        json_out_key_string(&out, "source", g->source);
        json_out_end(&out);
    }
    json_out_end(&out);
    json_out_end(&out);
    fputs(str_text(&text), stdout);
    str_fini(&text);
}

static int print_table(const struct gpu_sheet *gpus, size_t count, struct err *err)
{
    struct table *t =
        table_create("name|card|>year|>FP32 TF|>FP16 TF|>GB/s|>GB|>SMs or CUs|>TDP W|"
                     ">idle W|>cap W");

    for (const struct gpu_sheet *g = gpus; g < gpus + count; g++) {
        table_row(t);
        table_cell(t, g->name);
        table_cell(t, g->title);
        table_cellf(t, "%d", g->year);
        table_cellf(t, "%.1f", g->fp32_tflops);
        table_cellf(t, "%.1f", g->fp16_tflops);
        table_cellf(t, "%.0f", g->bandwidth_gbs);
        table_cellf(t, "%.0f", g->memory_gb);
        table_cellf(t, "%d", g->sms);
        table_cellf(t, "%.0f", g->tdp_watts);
        table_cellf(t, "%.0f", g->idle_watts);
        if (g->cap_min_watts > 0)
            table_cellf(t, "%.0f", g->cap_min_watts);
        else
            table_cell(t, "-");
    }
    return table_finish(t, TABLE_ALIGNED, stdout, err);
}

static int run(struct command_call *call)
{
    const struct gpus_args *args = call->args;
    struct err err = {0};
    size_t count;
    const struct gpu_sheet *gpus = gpu_catalogue(&count);

    if (args->json)
        print_json(gpus, count);
    else if (print_table(gpus, count, &err) < 0)
        return command_failed(call, &err);
    return 0;
}

const struct command cmd_gpus = {
    .name = "gpus",
    .summary = "list the GPU types Corgi knows from data sheets",
    .help = "The catalogue Corgi starts from.  A cluster file names its GPUs by these "
            "names or "
            "by common aliases.  Where each figure comes from is in the JSON.",
    .options = options,
    .args_size = sizeof(struct gpus_args),
    .run = run,
};
