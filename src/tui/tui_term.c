/* SPDX-License-Identifier: MIT */
#include "tui/tui_term.h"

#include <curses.h>
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/core/sl_base.h"
#include "tui/app/tui_keys.h"

/* Cursor positions are sent as ANSI sequences, which every current terminal understands. */
#define ANSI_POSITION "\x1b[%i%p1%d;%p2%dH"
/* How long the rest of a key's sequence may take after its Esc: it can come in two packets. */
#define ESC_MS        100
#define CLEAR         "\x1b[H\x1b[J"
#define MOUSE_OFF     "\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l"

static SCREEN *screen;
static WINDOW *input; /* a pad: reading from it draws nothing */
static struct termios before;
static char restore[128]; /* bytes that restore the terminal, for a signal handler */
static size_t restore_len;
static volatile sig_atomic_t is_stale, stop_signal;
static bool is_gone;
/* What was drawn is erased on every way out: GNU screen ignores the alternate screen unless "altscreen on" is set,
 * mosh always does, and the console has none. There the cursor goes to the top, too. */
static bool has_other_screen;

static const int stop_numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
static const int crash_numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS};
static struct sigaction stop_before[SL_COUNT_OF(stop_numbers)];
static struct sigaction crash_before[SL_COUNT_OF(crash_numbers)];

static void on_stop(int number) {
    stop_signal = number;
}

static void on_change(int number) {
    SL_UNUSED(number);
    is_stale = 1;
}

/* Calls only async-signal-safe functions. The signal is raised again with its default effect. */
static void on_crash(int number) {
    ssize_t ignored = write(STDOUT_FILENO, restore, restore_len);
    SL_UNUSED(ignored);
    tcsetattr(STDIN_FILENO, TCSANOW, &before);
    raise(number);
}

static void hold_signals(void) {
    struct sigaction stop = {.sa_handler = on_stop}, change = {.sa_handler = on_change};
    struct sigaction crash = {.sa_handler = on_crash, .sa_flags = (int)(SA_RESETHAND | SA_NODEFER)};
    for (size_t i = 0; i < SL_COUNT_OF(stop_numbers); i++) {
        sigaction(stop_numbers[i], NULL, &stop_before[i]);
        sigaction(stop_numbers[i], &stop, NULL);
    }
    for (size_t i = 0; i < SL_COUNT_OF(crash_numbers); i++)
        sigaction(crash_numbers[i], &crash, &crash_before[i]);
    sigaction(SIGWINCH, &change, NULL);
    sigaction(SIGCONT, &change, NULL);
}

static void release_signals(void) {
    for (size_t i = 0; i < SL_COUNT_OF(stop_numbers); i++)
        sigaction(stop_numbers[i], &stop_before[i], NULL);
    for (size_t i = 0; i < SL_COUNT_OF(crash_numbers); i++)
        sigaction(crash_numbers[i], &crash_before[i], NULL);
    signal(SIGWINCH, SIG_DFL);
    signal(SIGCONT, SIG_DFL);
}

static void add_text(const char *text) {
    if (restore_len + strlen(text) < sizeof restore)
        restore_len +=
            (size_t)snprintf(restore + restore_len, sizeof restore - restore_len, "%s", text);
}

/* False when the terminal does not have it. */
static bool add_restore(const char *capability) {
    const char *text = tigetstr(capability);
    bool is_there = text && text != (const char *)-1;
    if (is_there)
        add_text(text);
    return is_there;
}

static sl_status check_terminal(sl_error *err) {
    const char *term = getenv("TERM");
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return sl_fail(err, SL_E_UNSUPPORTED,
                       "the full-screen program needs a terminal; 'stormlog top --once' and "
                       "'stormlog analyze' print text");
    if (!term || !*term || strcmp(term, "dumb") == 0)
        return sl_fail(
            err, SL_E_UNSUPPORTED,
            "TERM is %s; set it to what this terminal is, or use 'stormlog top --once' and "
            "'stormlog analyze', which print text",
            term && *term ? term : "not set");
    return SL_OK;
}

static void begin_input(void) {
    input = newpad(1, 1);
    keypad(input, TRUE);
    nodelay(input, TRUE);
    mouseinterval(0);
    mousemask(BUTTON1_PRESSED | BUTTON1_CLICKED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
    set_escdelay(ESC_MS);
}

/* A read never waits. ncurses checks for input before it asks for a key, but inside a mouse sequence it reads on
 * without checking: after a button is released, the whole screen would stop until the next key. */
static void read_without_waiting(void) {
    struct termios now;
    if (tcgetattr(STDIN_FILENO, &now) != 0)
        return;
    now.c_cc[VMIN] = 0, now.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSANOW, &now);
    def_prog_mode(); /* so after Ctrl-Z, too */
}

static bool is_utf8_terminal(void) {
    const char *term = getenv("TERM");
    /* The console of Linux has UTF-8, but its fonts have no braille. */
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0 && strcmp(term, "linux") != 0;
}

/* Old terminals want a pause after it ("$<5>"), which they do not need over a network. */
static bool is_ansi(void) {
    const char *position = tigetstr("cup");
    size_t len = strlen(ANSI_POSITION);
    return position && position != (const char *)-1 && strncmp(position, ANSI_POSITION, len) == 0 &&
           (!position[len] || position[len] == '$');
}

sl_status sl_tty_begin(sl_tty *tty, sl_error *err) {
    SL_TRY(check_terminal(err));
    setlocale(LC_CTYPE, "");
    tcgetattr(STDIN_FILENO, &before);
    screen = newterm(NULL, stdout, stdin);
    if (!screen)
        return sl_fail(err, SL_E_UNSUPPORTED, "terminfo does not know TERM=%s", getenv("TERM"));
    set_term(screen);
    if (!is_ansi()) {
        sl_tty_end();
        return sl_fail(err, SL_E_UNSUPPORTED, "TERM=%s is not an ANSI terminal", getenv("TERM"));
    }
    tty->depth = sl_color_depth_of(tigetnum("colors"), getenv("COLORTERM"), getenv("NO_COLOR"));
    tty->is_ascii = !is_utf8_terminal();
    restore_len = 0;
    add_restore("sgr0");
    add_text(CLEAR);
    has_other_screen = add_restore("rmcup");
    add_restore("cnorm");
    add_text(MOUSE_OFF);
    cbreak();
    noecho();
    nonl();
    read_without_waiting();
    curs_set(0);
    refresh(); /* the alternate screen, cleared */
    begin_input();
    hold_signals();
    is_stale = 1;
    return SL_OK;
}

void sl_tty_end(void) {
    if (!screen)
        return;
    if (input)
        delwin(input);
    if (restore_len)
        sl_tty_write(CLEAR, strlen(CLEAR));
    endwin();
    delscreen(screen);
    screen = NULL, input = NULL;
    if (restore_len && !has_other_screen)
        sl_tty_write(CLEAR, strlen(CLEAR));
    if (restore_len)
        release_signals();
}

void sl_tty_size(int *w, int *h) {
    struct winsize size;
    *w = 80, *h = 24;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col && size.ws_row)
        *w = size.ws_col, *h = size.ws_row;
}

bool sl_tty_write(const char *bytes, size_t len) {
    while (len > 0) {
        ssize_t done = write(STDOUT_FILENO, bytes, len);
        if (done < 0 && errno != EINTR)
            return false;
        if (done > 0)
            bytes += done, len -= (size_t)done;
        if (stop_signal)
            return true;
    }
    return true;
}

void sl_tty_wait(int fd, int timeout_ms) {
    struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
    if (stop_signal || is_stale)
        return;
    if (poll(fds, fd >= 0 ? 2 : 1, timeout_ms) > 0 && (fds[0].revents & (POLLHUP | POLLERR)))
        is_gone = true;
}

static uint32_t mouse_key(int *x, int *y) {
    MEVENT event;
    if (getmouse(&event) != OK)
        return SL_KEY_NONE;
    *x = event.x, *y = event.y;
    if (event.bstate & BUTTON4_PRESSED)
        return SL_KEY_WHEEL_UP;
    if (event.bstate & BUTTON5_PRESSED)
        return SL_KEY_WHEEL_DOWN;
    return SL_KEY_CLICK;
}

static uint32_t special_key(wint_t code) {
    static const struct {
        wint_t code;
        uint32_t key;
    } rows[] = {
        {KEY_UP, SL_KEY_UP},
        {KEY_DOWN, SL_KEY_DOWN},
        {KEY_LEFT, SL_KEY_LEFT},
        {KEY_RIGHT, SL_KEY_RIGHT},
        {KEY_PPAGE, SL_KEY_PAGE_UP},
        {KEY_NPAGE, SL_KEY_PAGE_DOWN},
        {KEY_HOME, SL_KEY_HOME},
        {KEY_END, SL_KEY_END},
        {KEY_BTAB, SL_KEY_BACK_TAB},
        {KEY_ENTER, SL_KEY_ENTER},
        {KEY_BACKSPACE, SL_KEY_BACKSPACE},
        {KEY_DC, SL_KEY_BACKSPACE},
    };
    for (size_t i = 0; i < SL_COUNT_OF(rows); i++)
        if (rows[i].code == code)
            return rows[i].key;
    return SL_KEY_NONE;
}

uint32_t sl_tty_key(int *x, int *y) {
    wint_t code = 0;
    int kind = wget_wch(input, &code);
    if (kind == KEY_CODE_YES && code == KEY_MOUSE)
        return mouse_key(x, y);
    if (kind == KEY_CODE_YES)
        return special_key(code);
    if (kind != OK)
        return SL_KEY_NONE;
    if (code == '\t')
        return SL_KEY_TAB;
    if (code == '\n')
        return SL_KEY_ENTER;
    return code == 8 ? SL_KEY_BACKSPACE : (uint32_t)code;
}

bool sl_tty_is_stale(void) {
    bool was = is_stale;
    is_stale = 0;
    return was;
}

int sl_tty_stop_signal(void) {
    return stop_signal;
}

bool sl_tty_is_gone(void) {
    return is_gone;
}
