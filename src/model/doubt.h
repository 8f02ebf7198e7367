/* doubt.h - may this window be wrong?
 *
 * Some windows are wrong by a multiple: a counter that wrapped, a clock that was set, two
 * jobs taken for one.  How many is learned by user, from windows far off that the next
 * ones did not repeat.  The more there are, the more windows must say the same before a
 * place is believed to have changed, and the less a first window may contradict what is
 * believed without a second one. */
#pragma once

#include "model/codec.h"

/* Windows of one user, fading, and those of them that nothing repeated. */
struct doubt {
    double wrong, windows;
};

/* As if this share of so many windows were wrong. */
struct doubt doubt_start(double share, double windows);

/* What windows start with, and as how many that counts. */
#define DOUBT_SHARE   0.05
#define DOUBT_WINDOWS 20.0

double doubt_share(const struct doubt *doubt);

/* A window has come; so many of those before it turn out wrong. */
void doubt_note(struct doubt *doubt, int wrong);

/* The chance that so many windows that agree are wrong, which lie so far (of the log)
 * from what is expected with this variance, where this share of all windows is. */
double doubt_of(double share, double off, double var, int count);

/* How likely it is to lie there if it is right, as a log. */
double doubt_density(double off, double var);

/* So many windows in a row that agree are a change, however far off they are. */
int doubt_run(double share);

/* What one window more says for it than for another, as a log of odds. */
double doubt_weight(double share);

void doubt_code(struct doubt *doubt, struct codec *c);
