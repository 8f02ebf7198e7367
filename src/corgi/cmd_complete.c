/* cmd_complete.c - corgi complete: the words of one kind, for the shell
 *
 * The script of `corgi completion` runs it when somebody presses the tab key, with what
 * the option's value or the operand is called in the help. */
#include "corgi/commands.h"

#include "corgi/daemon.h"
#include "corgi/view.h"
#include "world/gpu_sheet.h"

#include <stdio.h>
#include <string.h>

static const struct option_spec options[] = {
    DAEMON_CONNECT_OPTIONS,
    {0},
};

static void print_names(const struct json_value *list, const char *inner)
{
    for (size_t i = 0; i < json_value_count(list); i++) {
        const struct json_value *item = json_value_item(list, i);

        if (json_member_string(item, "name"))
            printf("%s\n", json_member_string(item, "name"));
        if (inner)
            print_names(json_value_get(item, inner), NULL);
    }
}

static void print_jobs(const struct json_value *root)
{
    const struct json_value *list = json_value_get(root, "jobs");

    for (size_t i = 0; i < json_value_count(list); i++)
        printf("%.0f\n", view_number(json_value_item(list, i), "id"));
}

static void print_nodes(const struct json_value *root)
{
    print_names(json_value_get(root, "nodes"), NULL);
}

static void print_devices(const struct json_value *root)
{
    print_names(json_value_get(root, "nodes"), "devices");
}

static void print_users(const struct json_value *root)
{
    const struct json_value *list = json_value_get(root, "quotas");

    for (size_t i = 0; i < json_value_count(list); i++) {
        const char *user = view_text_or(json_value_item(list, i), "user", "");

        /* Whose jobs are reckoned to several accounts has as many rows. */
        if (i == 0 ||
            strcmp(user, view_text_or(json_value_item(list, i - 1), "user", "")) != 0)
            printf("%s\n", user);
    }
}

/* Once each: those of the cluster. */
static void print_types(const struct json_value *root)
{
    const struct json_value *list = json_value_get(root, "devices");

    for (size_t i = 0; i < json_value_count(list); i++) {
        const char *type = view_text_or(json_value_item(list, i), "type", "");
        size_t k = 0;

        while (k < i && strcmp(view_text_or(json_value_item(list, k), "type", ""), type))
            k++;
        if (k == i)
            printf("%s\n", type);
    }
}

static void print_keys(const struct json_value *root)
{
    struct json_iter it = {.object = root};

    while (json_iter_next(&it))
        if (strncmp(it.key, "changed", strlen("changed")) != 0)
            printf("%s=\n", strcmp(it.key, "power_limit_watts") ? it.key : "power_limit");
}

static const struct {
    const char *kind;
    const char *words; /* that are always the same; or */
    const char *path;  /* who knows them */
    void (*print)(const struct json_value *root);
} kinds[] = {
    {"JOB", NULL, "/v1/jobs?limit=200", print_jobs},
    {"WHOM", "none\nall", NULL, NULL},
    {"NODE", NULL, "/v1/nodes", print_nodes},
    {"DEVICE", NULL, "/v1/nodes", print_devices},
    {"TYPE", NULL, "/v1/devices", print_types},
    {"USER", NULL, "/v1/quotas", print_users},
    {"KEY", NULL, "/v1/policy", print_keys},
    {"STATE", "waiting\nheld\nrunning\nleaving\ndone\nfailed\ncancelled", NULL, NULL},
    {"EVENT", "job\ndecision\nguard\ndevice\nnode\nmeasurement\npower\npolicy", NULL,
     NULL},
    {"NAMES", "USUAL\nALL\nNONE", NULL, NULL},
};

/* Without a daemon: the types there are data sheets of. */
static void print_catalogue(void)
{
    size_t count;
    const struct gpu_sheet *sheets = gpu_catalogue(&count);

    for (size_t i = 0; i < count; i++)
        printf("%s\n", sheets[i].name);
}

/* Nothing is said of what goes wrong: there is half a command line on the screen. */
static int ask(const struct command_call *call, const char *path,
               void (*print)(const struct json_value *root))
{
    struct client_request request = {.method = HTTP_GET, .path = path};
    struct client_answer answer = {0};
    struct client *client = NULL;
    struct err err = {0};
    bool heard = daemon_open(&client, call->args, &err) == 0 &&
                 daemon_ask(client, &request, &answer, &err) == 0;

    if (heard)
        print(daemon_root(&answer));
    else if (print == print_types)
        print_catalogue();
    client_answer_fini(&answer);
    client_destroy(client);
    return heard ? 0 : 1;
}

static int run(struct command_call *call)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(kinds[i].kind, call->operands[0]) != 0)
            continue;
        if (kinds[i].path)
            return ask(call, kinds[i].path, kinds[i].print);
        printf("%s\n", kinds[i].words);
    }
    return 0;
}

const struct command cmd_complete = {
    .name = "complete",
    .summary = "print the words of a kind, for the completion of shells",
    .operands = "KIND",
    .options = options,
    .args_size = sizeof(struct daemon_args),
    .hidden = true,
    .run = run,
};
