/* audit_log.h - who changed what, or tried to */
#ifndef CORGI_SERVICE_AUDIT_LOG_H
#define CORGI_SERVICE_AUDIT_LOG_H

#include "service/service_private.h"

/* For server_config.audit and .answered. */
void audit_note(void *service, const struct server_audit *entry);
void audit_answered(void *service, const struct server_audit *entry);

/* Write what has gathered; every tick. */
void audit_flush(struct service *s);
void audit_fini(struct service *s);

#endif
