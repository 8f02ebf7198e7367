/* screen.c - the one file that knows ncurses; cmd_top.c draws through it */
#define _XOPEN_SOURCE_EXTENDED 1
#include "corgi/screen.h"

#include <curses.h>
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>
#include <wctype.h>

/* Keys that begin with an escape are told apart from the escape key by this. */
#define ESCAPE_MS 25

static bool begun, colours;

static void take_colours(void)
{
    colours = !getenv("NO_COLOR") && has_colors() && start_color() == OK;
    if (!colours)
        return;
    use_default_colors();
    init_pair(SCREEN_TITLE, COLOR_BLACK, COLOR_GREEN);
    init_pair(SCREEN_CHOSEN, COLOR_BLACK, COLOR_CYAN);
    init_pair(SCREEN_GOOD, COLOR_GREEN, -1);
    init_pair(SCREEN_BAD, COLOR_RED, -1);
}

int screen_begin(struct err *err)
{
    setlocale(LC_CTYPE, "");
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return err_set(err, ERR_UNSUPPORTED,
                       "this needs a terminal; corgi queue and corgi watch do without");
    set_escdelay(ESCAPE_MS);
    if (!newterm(NULL, stdout, stdin))
        return err_set(err, ERR_UNSUPPORTED,
                       "nothing is known of the terminal that $TERM names ('%s')",
                       getenv("TERM") ? getenv("TERM") : "");
    begun = true;
    cbreak();
    noecho();
    keypad(stdscr, TRUE);
    curs_set(0);
    take_colours();
    return 0;
}

void screen_end(void)
{
    if (begun)
        endwin();
    begun = false;
}

int screen_rows(void)
{
    return getmaxy(stdscr);
}

int screen_columns(void)
{
    return getmaxx(stdscr);
}

void screen_clear(void)
{
    erase();
}

static attr_t attributes_of(enum screen_style style)
{
    static const attr_t plain[] = {
        [SCREEN_PLAIN] = A_NORMAL,  [SCREEN_BOLD] = A_BOLD,      [SCREEN_DIM] = A_DIM,
        [SCREEN_TITLE] = A_REVERSE, [SCREEN_CHOSEN] = A_REVERSE, [SCREEN_GOOD] = A_NORMAL,
        [SCREEN_BAD] = A_BOLD,
    };

    return colours && style >= SCREEN_TITLE ? (attr_t)COLOR_PAIR(style) : plain[style];
}

/* The next character of the text and how many columns it takes; false at the end. */
static bool next_character(const char **text, wchar_t *character, int *columns)
{
    mbstate_t state = {0};
    size_t length = mbrtowc(character, *text, MB_CUR_MAX, &state);

    if (length == 0)
        return false;
    if (length >= (size_t)-2) { /* not of this encoding */
        *character = L'?';
        length = 1;
    }
    *text += length;
    *columns = wcwidth(*character);
    if (*columns < 0 || !iswprint((wint_t)*character)) {
        *character = L'?';
        *columns = 1;
    }
    return true;
}

void screen_text(int row, int column, int width, enum screen_style style,
                 const char *text)
{
    attr_t attributes = attributes_of(style);
    wchar_t character;
    int columns, used = 0;

    if (row < 0 || row >= screen_rows() || column >= screen_columns())
        return;
    if (width > screen_columns() - column)
        width = screen_columns() - column;
    attron(attributes);
    move(row, column);
    while (next_character(&text, &character, &columns) && used + columns <= width) {
        addnwstr(&character, 1);
        used += columns;
    }
    for (; used < width; used++)
        addch(' ');
    attroff(attributes);
}

void screen_show(void)
{
    refresh();
}

static int key_of(int code)
{
    static const struct {
        int code, key;
    } keys[] = {
        {ERR, SCREEN_NO_KEY},
        {KEY_RESIZE, SCREEN_RESIZED},
        {KEY_UP, SCREEN_UP},
        {KEY_DOWN, SCREEN_DOWN},
        {KEY_PPAGE, SCREEN_PAGE_UP},
        {KEY_NPAGE, SCREEN_PAGE_DOWN},
        {KEY_HOME, SCREEN_HOME},
        {KEY_END, SCREEN_END},
        {KEY_ENTER, SCREEN_ENTER},
        {'\n', SCREEN_ENTER},
        {'\r', SCREEN_ENTER},
        {0x1b, SCREEN_ESCAPE},
        {KEY_BACKSPACE, SCREEN_BACKSPACE},
        {0x7f, SCREEN_BACKSPACE},
        {'\b', SCREEN_BACKSPACE},
    };

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (keys[i].code == code)
            return keys[i].key;
    if (code >= KEY_F(1) && code <= KEY_F(10))
        return SCREEN_F1 + (code - KEY_F(1));
    return code;
}

int screen_key(double wait_s)
{
    timeout(wait_s > 0 ? (int)(wait_s * 1000) : 0);
    return key_of(getch());
}
