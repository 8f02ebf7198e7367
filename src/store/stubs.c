/* stubs.c - stands for what is not written yet: accepts all rows, finds none */
#include "store/store.h"
#include "store/reader.h"
#include "store/jobs.h"
#include "store/history.h"
#include "store/events.h"
#include "store/telemetry.h"
#include "store/energy.h"
#include "store/access.h"
#include "store/settings.h"
#include "store/models.h"
#include "store/admin.h"
#include "base/mem.h"
#include <stdlib.h>
#include <string.h>
void store_retention_defaults(struct store_retention *retention)
{
    (void)retention;
}

int store_retain(struct store *store, const struct store_retention *retention,
                 double now_s, store_done done, void *ctx, struct err *err)
{
    (void)retention;
    (void)now_s;
    return store_commit(store, store_batch_create(), STORE_RELAXED, done, ctx, err);
}

int store_check(const char *path, bool quick, store_finding finding, void *ctx,
                struct store_check_result *result, struct err *err)
{
    (void)path;
    (void)quick;
    (void)finding;
    (void)ctx;
    (void)result;
    (void)err;
    return 0;
}

int store_backup(const char *path, const char *to, bool replace, struct err *err)
{
    (void)path;
    (void)to;
    (void)replace;
    (void)err;
    return 0;
}

const char *const *store_tables(void)
{
    return NULL;
}

int store_export(const char *path, const struct store_export_options *options, FILE *out,
                 uint64_t *rows, struct err *err)
{
    (void)path;
    (void)options;
    (void)out;
    (void)rows;
    (void)err;
    return 0;
}
