/* config_places.c - where socket and state are unless told; see config.h */
#include "service/service_config.h"

#include "base/file.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *environment(const char *name)
{
    const char *value = getenv(name);

    return value && value[0] == '/' ? value : NULL;
}

char *service_default_socket(void)
{
    const char *runtime = environment("XDG_RUNTIME_DIR");
    char folder[64];

    if (environment("CORGI_SOCKET"))
        return mem_strdup(environment("CORGI_SOCKET"));
    if (geteuid() == 0)
        return mem_strdup("/run/corgi/corgid.sock");
    if (runtime)
        return file_join(runtime, "corgi/corgid.sock");
    snprintf(folder, sizeof(folder), "/tmp/corgi-%u", (unsigned)geteuid());
    return file_join(folder, "corgid.sock");
}

char *service_default_state(void)
{
    const char *state = environment("XDG_STATE_HOME");
    const char *home = environment("HOME");

    if (geteuid() == 0)
        return mem_strdup("/var/lib/corgi");
    if (state)
        return file_join(state, "corgi");
    return home ? file_join(home, ".local/state/corgi") : mem_strdup("/tmp/corgi-state");
}
