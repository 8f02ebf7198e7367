/* screen.h - a whole terminal to draw on, by ncurses
 *
 *     if (screen_begin(&err) < 0) ...
 *     screen_clear();
 *     screen_text(0, 0, 40, SCREEN_BOLD, "corgi top");
 *     screen_show();
 *     key = screen_key(2.0);
 *     screen_end();
 *
 * One screen a process.  Text is in the locale's encoding; what cannot be printed is
 * shown as '?', so that a name from outside cannot move the cursor.  Without colours
 * (NO_COLOR, or a terminal that has none) styles are bold, dim and reverse. */
#pragma once

#include "base/err.h"

enum screen_style {
    SCREEN_PLAIN,
    SCREEN_BOLD,
    SCREEN_DIM,
    SCREEN_TITLE,  /* of a list */
    SCREEN_CHOSEN, /* the row the keys are on */
    SCREEN_GOOD,
    SCREEN_BAD,
};

/* Keys that are no character; characters are themselves. */
enum screen_key {
    SCREEN_NO_KEY = -1, /* the time is over */
    SCREEN_RESIZED = 0x1000,
    SCREEN_UP,
    SCREEN_DOWN,
    SCREEN_PAGE_UP,
    SCREEN_PAGE_DOWN,
    SCREEN_HOME,
    SCREEN_END,
    SCREEN_ENTER,
    SCREEN_ESCAPE,
    SCREEN_BACKSPACE,
    SCREEN_F1, /* and the next nine */
    SCREEN_F10 = SCREEN_F1 + 9,
};

/* ERR_UNSUPPORTED when there is no terminal, or one that nothing is known of. */
int screen_begin(struct err *err);
void screen_end(void); /* as it was before; may be called when it was not begun */

int screen_rows(void);
int screen_columns(void);

void screen_clear(void);
/* At most so many columns, cut at whole characters; padded with blanks up to them. */
void screen_text(int row, int column, int width, enum screen_style style,
                 const char *text);
void screen_show(void);

int screen_key(double wait_s);
