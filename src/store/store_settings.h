/* store_settings.h - what operators set while the daemon runs and expect to stay */
#ifndef CORGI_STORE_STORE_SETTINGS_H
#define CORGI_STORE_STORE_SETTINGS_H

#include "store/reader.h"
#include "store/store.h"

/* Any name and text; NULL removes it. */
void store_put_setting(struct store_batch *batch, const char *name, const char *text);

typedef int (*store_setting_row)(void *ctx, const char *name, const char *text);
int store_read_settings(struct store_reader *reader, store_setting_row row, void *ctx,
                        struct err *err);
/* The caller frees *text; ERR_NOT_FOUND. */
int store_read_setting(struct store_reader *reader, const char *name, char **text,
                       struct err *err);

enum store_scope { STORE_NODE, STORE_DEVICE };
enum store_power_wish { STORE_POWER_AUTO, STORE_POWER_ON, STORE_POWER_OFF };

/* An operator's word on a node or a device, by name. */
struct store_operator {
    enum store_scope scope;
    const char *name;
    bool drained;
    enum store_power_wish power; /* AUTO: the scheduler decides */
    double cap_watts;            /* 0: the scheduler decides */
    const char *reason;          /* NULL: none */
    const char *user;            /* who said so */
    double at_s;
};

void store_put_operator(struct store_batch *batch, const struct store_operator *word);

typedef int (*store_operator_row)(void *ctx, const struct store_operator *word);
int store_read_operators(struct store_reader *reader, store_operator_row row, void *ctx,
                         struct err *err);

#endif
