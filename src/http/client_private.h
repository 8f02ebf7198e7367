/* client_private.h - what client.c and client_follow.c share */
#ifndef CORGI_HTTP_CLIENT_PRIVATE_H
#define CORGI_HTTP_CLIENT_PRIVATE_H

#include "base/str.h"
#include "http/client.h"
#include "http/reply.h"
#include "http/wire.h"

struct client {
    char *socket; /* or host, port and tls */
    char *host, *port;
    bool tls;
    char *ca_file, *token, *where;
    double connect_s, answer_s;
    size_t max_bytes;
    struct wire *wire; /* NULL: not connected */
    struct str in;     /* read and not yet used */
};

void client_hang_up(struct client *c);

/* Connect if need be and send; headers are whole lines, or "". */
int client_send(struct client *c, const struct client_request *q, const char *headers,
                struct err *err);
int client_read_head(struct client *c, struct reply *reply, bool head_only,
                     double until_s, struct err *err);
int client_read_answer(struct client *c, const struct reply *reply,
                       struct client_answer *answer, double until_s, struct err *err);

#endif
