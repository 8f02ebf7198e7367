/* intern.h - names to small numbers and back
 *
 * Job families, GPU types and users are compared in inner loops; interned once at the
 * edge they are ints there.  Ids count from 0 in order of first sight. */
#pragma once

struct intern;

struct intern *intern_create(void);
void intern_destroy(struct intern *names); /* NULL is fine */

int intern_id(struct intern *names, const char *name);         /* adds it when new */
int intern_find(const struct intern *names, const char *name); /* -1 when unknown */
const char *intern_name(const struct intern *names, int id);   /* borrowed */
int intern_count(const struct intern *names);
