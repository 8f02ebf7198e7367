/* cmd_config.c - corgi config: the files an operator writes, documented and checked */
#include "corgi/commands.h"

#include "base/str.h"
#include "loop/cluster.h"
#include "loop/loop_settings.h"
#include "service/service_config.h"
#include "engine/sim/cluster_file.h"

#include <stdio.h>
#include <string.h>

enum kind { KIND_SETTINGS, KIND_CLUSTER, KIND_DAEMON };

static const char *const kinds[] = {"settings", "cluster", "daemon", NULL};

struct config_args {
    int kind;
};

static const struct option_spec options[] = {
    OPT(struct config_args, kind, CHOICE, "kind", 'k', "KIND",
        "which file: settings of the loop, a cluster of nodes and GPUs, or the daemon's",
        .choices = kinds, .default_text = "settings"),
    {0},
};

static int run_show(struct command_call *call)
{
    const struct config_args *args = call->args;
    struct str text = {0};

    if (args->kind == KIND_CLUSTER)
        cluster_file_document(&text);
    else if (args->kind == KIND_DAEMON)
        config_document(service_config_keys, &text);
    else
        config_document(settings_keys, &text);
    fputs(str_text(&text), stdout);
    str_fini(&text);
    return 0;
}

static int check_cluster(const char *path, struct err *err)
{
    struct cluster *cluster;

    if (cluster_file_load(&cluster, path, err) < 0)
        return -1;
    printf("%s: fine; nodes: %d, GPUs: %d, types: %d\n", path, cluster->node_count,
           cluster->device_count, cluster->type_count);
    cluster_destroy(cluster);
    return 0;
}

static int check_settings(const char *path, struct err *err)
{
    struct optimize_settings settings;

    if (config_read(settings_keys, &settings, sizeof(settings), path, err) < 0)
        return -1;
    config_fini(settings_keys, &settings);
    printf("%s: fine\n", path);
    return 0;
}

static int check_daemon(const char *path, struct err *err)
{
    struct service_config config;

    if (service_config_load(&config, path, err) < 0)
        return -1;
    service_config_fini(&config);
    printf("%s: fine\n", path);
    return 0;
}

static int run_check(struct command_call *call)
{
    const struct config_args *args = call->args;
    const char *path = call->operands[0];
    struct err err = {0};
    int rc = args->kind == KIND_CLUSTER  ? check_cluster(path, &err)
             : args->kind == KIND_DAEMON ? check_daemon(path, &err)
                                         : check_settings(path, &err);

    return rc < 0 ? command_failed(call, &err) : 0;
}

static const struct command config_show = {
    .name = "show",
    .summary = "print every key with its default and what it is for",
    .help = "The output is a file that can be edited and used.",
    .options = options,
    .args_size = sizeof(struct config_args),
    .run = run_show,
};

static const struct command config_check = {
    .name = "check",
    .summary = "read a file and say what is wrong with it",
    .help = "Every mistake is named with file, line and column; nothing is changed.",
    .operands = "FILE",
    .examples = "corgi config check corgi.yaml\n"
                "corgi config check --kind cluster mine.yaml\n"
                "corgi config check --kind daemon /etc/corgi/corgid.yaml",
    .options = options,
    .args_size = sizeof(struct config_args),
    .run = run_check,
};

static const struct command *const children[] = {&config_check, &config_show, NULL};

const struct command cmd_config = {
    .name = "config",
    .summary = "document and check config files",
    .children = children,
};
