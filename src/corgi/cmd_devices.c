/* cmd_devices.c - corgi devices and corgi gpus: what the telemetry finds on this machine,
 * and the catalogue of cards */
#include "corgi/commands.h"

#include "base/clock.h"
#include "base/json_out.h"
#include "base/table.h"
#include "gpu/gpu_devices.h"
#include "gpu/gpu_meter.h"
#include "world/gpu_sheet.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

struct devices_args {
    bool json;
    bool watch;
    double interval_s;
    int count;
};

static const struct option_spec options[] = {
    OPT(struct devices_args, json, FLAG, "json", 'j', NULL,
        "print JSON instead of a table; with --watch, one object a line"),
    OPT(struct devices_args, watch, FLAG, "watch", 'w', NULL,
        "go on until interrupted, and count joules"),
    OPT(struct devices_args, interval_s, SECONDS, "interval", 'i', "TIME",
        "time between two readings of --watch", .min = 0.1, .max = 3600,
        .default_text = "1s"),
    OPT(struct devices_args, count, INT, "count", 'n', "N",
        "end --watch after so many readings; 0: never", .min = 0, .max = 1000000,
        .default_text = "0"),
    {0},
};

/* What is known of one device at one reading. */
struct device_row {
    const struct gpu_device *device;
    enum gpu_status status;
    struct err err;
    struct gpu_sample sample;
    struct gpu_limit limit;      /* NaN: none */
    double joules, joules_error; /* since the watch began; NaN: not counted */
    double gap_s;
};

static volatile sig_atomic_t interrupted;

static void interrupt(int signal_number)
{
    (void)signal_number;
    interrupted = 1;
}

static void read_rows(struct gpu *gpu, struct device_row *rows, int count,
                      struct gpu_meter *meters)
{
    for (int i = 0; i < count; i++) {
        struct device_row *row = &rows[i];
        struct gpu_interval interval;
        struct gpu_limit limit;
        struct err ignored;

        *row = (struct device_row){.device = gpu_device(gpu, i),
                                   .limit = {NAN, NAN, NAN, NAN},
                                   .joules = NAN,
                                   .joules_error = NAN};
        row->status = gpu_read(gpu, i, &row->sample, &row->err);
        if (row->status != GPU_OK)
            gpu_sample_clear(&row->sample);
        if (row->status == GPU_OK && row->device->has_limit &&
            gpu_limit(gpu, i, &limit, &ignored) == GPU_OK)
            row->limit = limit;
        if (!meters)
            continue;
        if (row->status == GPU_OK)
            gpu_meter_add(&meters[i], &row->sample, &interval);
        row->gap_s = meters[i].gap_s;
        if (meters[i].started && row->device->kind != GPU_KIND_MIG) {
            row->joules = meters[i].total_joules;
            row->joules_error = gpu_meter_error(&meters[i]);
        }
    }
}

static void json_processes(struct json_out *out, const struct gpu_sample *sample)
{
    json_out_key(out, "processes");
    if (!sample->processes_known) {
        json_out_null(out);
        return;
    }
    json_out_begin_array(out);
    for (int i = 0; i < sample->process_count; i++) {
        json_out_begin_object(out);
        json_out_key_int(out, "pid", sample->processes[i].pid);
        json_out_key_number(out, "utilisation", sample->processes[i].utilisation);
        json_out_key_number(out, "memory_bytes", sample->processes[i].memory_bytes);
        json_out_end(out);
    }
    json_out_end(out);
}

static void json_identity(struct json_out *out, const struct gpu_device *device)
{
    json_out_key_string(out, "uuid", device->uuid);
    json_out_key_string(out, "name", device->name);
    json_out_key_string(out, "kind", gpu_kind_names[device->kind]);
    json_out_key_string(out, "backend", device->backend);
    json_out_key_string(out, "driver", device->driver[0] ? device->driver : NULL);
    json_out_key_string(out, "pci", device->pci[0] ? device->pci : NULL);
    json_out_key_string(out, "catalogue", device->sheet ? device->sheet->name : NULL);
    json_out_key(out, "parent");
    if (device->parent >= 0)
        json_out_int(out, device->parent);
    else
        json_out_null(out);
    json_out_key_bool(out, "partitioned", device->partitioned);
    json_out_key_number(out, "memory_bytes",
                        device->memory_bytes > 0 ? device->memory_bytes : NAN);
    json_out_key_bool(out, "energy_counter", device->has_energy);
    json_out_key_string(out, "note", device->note[0] ? device->note : NULL);
}

static void json_row(struct json_out *out, const struct device_row *row)
{
    const struct gpu_sample *s = &row->sample;
    char throttle[64];

    json_out_begin_object(out);
    json_identity(out, row->device);
    json_out_key_string(out, "status", gpu_status_names[row->status]);
    json_out_key_string(out, "error", row->status == GPU_OK ? NULL : row->err.text);
    json_out_key_number(out, "watts", s->watts);
    json_out_key_number(out, "watts_error", s->watts_error);
    json_out_key_string(out, "method", gpu_method_names[s->method]);
    json_out_key_number(out, "energy_joules", s->energy_joules);
    json_out_key_number(out, "utilisation", s->utilisation);
    json_out_key_number(out, "memory_used_bytes", s->memory_used_bytes);
    json_out_key_number(out, "temperature_c", s->temperature_c);
    json_out_key_string(out, "throttle",
                        s->throttle_known
                            ? gpu_throttle_text(s->throttle, throttle, sizeof(throttle))
                            : NULL);
    json_out_key_number(out, "limit_watts", row->limit.watts);
    json_out_key_number(out, "limit_min_watts", row->limit.min_watts);
    json_out_key_number(out, "limit_max_watts", row->limit.max_watts);
    json_out_key_number(out, "limit_default_watts", row->limit.default_watts);
    json_out_key_number(out, "joules", row->joules);
    json_out_key_number(out, "joules_error", row->joules_error);
    json_out_key_number(out, "gap_s", row->gap_s);
    json_processes(out, s);
    json_out_end(out);
}

static void print_json(const struct device_row *rows, int count, const char *remarks,
                       double elapsed_s, bool pretty)
{
    struct str text = {0};
    struct json_out out;

    json_out_init(&out, &text, pretty);
    json_out_begin_object(&out);
    json_out_key_number(&out, "elapsed_s", elapsed_s);
    json_out_key(&out, "devices");
    json_out_begin_array(&out);
    for (int i = 0; i < count; i++)
        json_row(&out, &rows[i]);
    json_out_end(&out);
    json_out_key_string(&out, "remarks", remarks);
    json_out_end(&out);
    if (!pretty)
        str_add(&text, "\n");
    fputs(str_text(&text), stdout);
    fflush(stdout);
    str_fini(&text);
}

static void number_cell(struct table *t, int decimals, double value, const char *unit)
{
    if (isnan(value))
        table_cell(t, "-");
    else
        table_cellf(t, "%.*f%s", decimals, value, unit);
}

static void memory_cell(struct table *t, const struct device_row *row)
{
    double total = row->device->memory_bytes, used = row->sample.memory_used_bytes;

    if (total <= 0)
        table_cell(t, "-");
    else if (isnan(used))
        table_cellf(t, "%.1f GB", total / 1e9);
    else
        table_cellf(t, "%.1f/%.1f GB", used / 1e9, total / 1e9);
}

static void table_line(struct table *t, int index, const struct device_row *row,
                       bool watching)
{
    const struct gpu_sample *s = &row->sample;
    char throttle[64];

    table_row(t);
    table_cellf(t, "%d", index);
    table_cell(t, row->device->name);
    table_cell(t, row->device->sheet ? row->device->sheet->name : "-");
    table_cell(t, row->device->driver[0] ? row->device->driver : "-");
    table_cell(t, gpu_status_names[row->status]);
    if (row->status != GPU_OK)
        table_mark(t, TABLE_BAD);
    number_cell(t, 1, s->watts, "");
    table_cell(t, gpu_method_names[s->method]);
    if (s->method == GPU_METHOD_MODEL)
        table_mark(t, TABLE_DIM);
    if (watching) {
        number_cell(t, 1, row->joules, "");
        number_cell(t, 1, row->joules_error, "");
    }
    if (!isnan(row->limit.watts))
        table_cellf(t, "%.0f (%.0f-%.0f)", row->limit.watts, row->limit.min_watts,
                    row->limit.max_watts);
    else
        table_cell(t, "-");
    number_cell(t, 0, s->utilisation * 100, " %");
    memory_cell(t, row);
    number_cell(t, 0, s->temperature_c, "");
    table_cell(t, s->throttle_known
                      ? gpu_throttle_text(s->throttle, throttle, sizeof(throttle))
                      : "-");
    if (s->processes_known)
        table_cellf(t, "%d%s", s->process_count, s->processes_cut ? "+" : "");
    else
        table_cell(t, "-");
    table_cell(t, row->device->uuid);
}

static int print_table(const struct device_row *rows, int count, const char *remarks,
                       bool watching, struct err *err)
{
    struct table *t = table_create(">#|device|type|driver|status|>W|by");
    int rc;

    if (watching)
        table_columns(t, ">J|>±");
    table_columns(t, ">limit W|>busy|>memory|>°C|throttled by|>processes|UUID");
    for (int i = 0; i < count; i++)
        table_line(t, i, &rows[i], watching);
    rc = table_finish(t, TABLE_ALIGNED, stdout, err);
    for (int i = 0; i < count && !watching; i++) {
        if (rows[i].status != GPU_OK)
            printf("%d: %s\n", i, rows[i].err.text);
        else if (rows[i].device->note[0])
            printf("%d: %s\n", i, rows[i].device->note);
    }
    if (remarks[0] && !watching)
        printf("%s\n", remarks);
    fflush(stdout);
    return rc;
}

static int show(const struct devices_args *args, const struct device_row *rows, int count,
                const char *remarks, double elapsed_s, struct err *err)
{
    if (args->json) {
        print_json(rows, count, remarks, elapsed_s, !args->watch);
        return 0;
    }
    if (args->watch && isatty(STDOUT_FILENO))
        printf("\033[H\033[2J");
    return print_table(rows, count, remarks, args->watch, err);
}

static void wait_s(double seconds)
{
    struct timespec t = {.tv_sec = (time_t)seconds,
                         .tv_nsec = (long)((seconds - floor(seconds)) * 1e9)};

    nanosleep(&t, NULL); /* an interrupt ends it early, which is what is wanted */
}

/* Devices that come during a watch join it; those that go stay, as lost. */
static int watch(struct gpu *gpu, const struct devices_args *args,
                 struct device_row *rows, struct err *err)
{
    static struct gpu_meter meters[GPU_MAX_DEVICES];
    struct sigaction action = {.sa_handler = interrupt};
    double began = clock_wall_s();
    int known = 0, rc = 0;

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    for (int n = 0; rc == 0 && !interrupted && (args->count == 0 || n < args->count);
         n++) {
        int count = gpu_rescan(gpu);

        for (; known < count; known++)
            gpu_meter_init(&meters[known], gpu_device(gpu, known)->sheet);
        read_rows(gpu, rows, count, meters);
        rc = show(args, rows, count, gpu_remarks(gpu), clock_wall_s() - began, err);
        if (rc == 0 && (args->count == 0 || n + 1 < args->count) && !interrupted)
            wait_s(args->interval_s);
    }
    return rc;
}

static int run(struct command_call *call)
{
    static struct device_row rows[GPU_MAX_DEVICES];
    const struct devices_args *args = call->args;
    struct err err = {0};
    struct gpu *gpu;
    int rc;

    if (args->count > 0 && !args->watch)
        return command_wrong_use(call, "--count needs --watch");
    gpu = gpu_open(&(struct gpu_options){0}, &err);
    if (!gpu)
        return command_failed(call, &err);
    if (args->watch) {
        rc = watch(gpu, args, rows, &err);
    } else {
        read_rows(gpu, rows, gpu_count(gpu), NULL);
        rc = show(args, rows, gpu_count(gpu), gpu_remarks(gpu), 0, &err);
    }
    gpu_close(gpu);
    return rc < 0 ? command_failed(call, &err) : 0;
}

const struct command cmd_devices = {
    .name = "devices",
    .summary = "show what this machine's devices are and draw",
    .help =
        "Asks the drivers of this machine: NVIDIA's library, AMD's files and library, "
        "and the processor's energy counters.  Every figure in watts names its method: "
        "instant, average-1s, energy-difference, or model where there is no meter.\n\n"
        "With --watch the joules since the beginning are counted too, with one standard "
        "error.  Nothing is changed: power limits are only read.",
    .examples = "corgi devices\ncorgi devices --watch --interval 5s\n"
                "corgi devices --watch --count 10 --json",
    .options = options,
    .args_size = sizeof(struct devices_args),
    .run = run,
};

/* ---- gpus: the catalogue ----------------------------------------------------------- */

struct gpus_args {
    bool json;
};

static const struct option_spec gpus_options[] = {
    OPT(struct gpus_args, json, FLAG, "json", 'j', NULL, "print JSON instead of a table"),
    {0},
};

static void print_sheets_json(const struct gpu_sheet *gpus, size_t count)
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

static int print_sheets(const struct gpu_sheet *gpus, size_t count, struct err *err)
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

static int run_gpus(struct command_call *call)
{
    const struct gpus_args *args = call->args;
    struct err err = {0};
    size_t count;
    const struct gpu_sheet *gpus = gpu_catalogue(&count);

    if (args->json)
        print_sheets_json(gpus, count);
    else if (print_sheets(gpus, count, &err) < 0)
        return command_failed(call, &err);
    return 0;
}

const struct command cmd_gpus = {
    .name = "gpus",
    .summary = "list the GPU types Corgi knows from data sheets",
    .help = "The catalogue Corgi starts from.  A cluster file names its GPUs by these "
            "names or "
            "by common aliases.  Where each figure comes from is in the JSON.",
    .options = gpus_options,
    .args_size = sizeof(struct gpus_args),
    .run = run_gpus,
};
