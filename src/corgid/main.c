/* main.c - corgid: options and wiring */
#include "base/command.h"
#include "service/service.h"

#include <signal.h>

struct corgid_args {
    const char *config;
    const char *socket;
    const char *state;
};

static const struct option_spec options[] = {
    OPT(struct corgid_args, config, STRING, "config", 'c', "FILE",
        "YAML; without it a simulated cluster of mixed GPUs"),
    OPT(struct corgid_args, socket, STRING, "socket", 's', "FILE",
        "Unix socket, over the config's"),
    OPT(struct corgid_args, state, STRING, "state", 0, "DIR",
        "folder of the store, over the config's"),
    {0},
};

static int run(struct command_call *call)
{
    const struct corgid_args *args = call->args;
    struct service_config config;
    struct service *service;
    struct err err = {0};
    int rc;

    if (service_config_load(&config, args->config, &err) < 0)
        return command_failed(call, &err);
    service_config_override(&config, args->socket, args->state);
    signal(SIGPIPE, SIG_IGN);
    service = service_create_take(&config, args->config, &err);
    if (!service)
        return command_failed(call, &err);
    rc = service_run(service, &err);
    service_destroy(service);
    return rc < 0 ? command_failed(call, &err) : 0;
}

static const struct command corgid = {
    .name = "corgid",
    .summary = "the daemon of Corgi: schedules jobs on mixed GPUs",
    .help = "Runs in the foreground and logs to standard error.  SIGHUP reads the config "
            "again, SIGTERM ends it; jobs that run go on.  `corgi config show --kind "
            "daemon` prints every key of the config with its default.",
    .options = options,
    .args_size = sizeof(struct corgid_args),
    .run = run,
};

int main(int argc, char **argv)
{
    return command_main(&corgid, argc, argv);
}
