/* terminal.c - see terminal.h */
#include "probe/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

static void on_keys(void *ctx, uint32_t events)
{
    struct terminal *terminal = ctx;
    char keys[512];
    ssize_t count = read(STDIN_FILENO, keys, sizeof(keys));

    (void)events;
    if (count > 0 && write(terminal->master, keys, (size_t)count) < 0 && errno != EAGAIN)
        count = 0;
    if (count <= 0 && errno != EINTR)
        poller_set(terminal->poller, &terminal->keys, -1, 0);
}

void terminal_init(struct terminal *terminal)
{
    *terminal = (struct terminal){
        .master = -1,
        .slave = -1,
        .keys = {.fd = -1, .ready = on_keys, .ctx = terminal},
    };
}

static int open_slave(int master)
{
    char name[64];

    if (grantpt(master) < 0 || unlockpt(master) < 0 ||
        ptsname_r(master, name, sizeof(name)) != 0)
        return -1;
    return open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
}

int terminal_open(struct terminal *terminal, int like, struct err *err)
{
    struct termios settings;
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), slave;

    if (master < 0)
        return err_sys(err, "cannot get a pseudo-terminal");
    slave = open_slave(master);
    if (slave < 0) {
        err_sys(err, "cannot open the pseudo-terminal");
        close(master);
        return -1;
    }
    if (tcgetattr(like, &settings) == 0) {
        settings.c_oflag &= ~(tcflag_t)OPOST; /* ours does that, once is enough */
        tcsetattr(slave, TCSANOW, &settings);
    }
    terminal->master = master;
    terminal->slave = slave;
    terminal_resize(terminal, like);
    return 0;
}

void terminal_forward_keys(struct terminal *terminal, int poller)
{
    struct termios raw;

    if (tcgetattr(STDIN_FILENO, &terminal->before) < 0)
        return;
    raw = terminal->before;
    raw.c_iflag &= ~(tcflag_t)(ICRNL | INLCR | IGNCR | IXON | ISTRIP);
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG | IEXTEN);
    if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) < 0)
        return;
    terminal->raw = true;
    terminal->poller = poller;
    poller_set(poller, &terminal->keys, STDIN_FILENO, EPOLLIN);
}

void terminal_resize(const struct terminal *terminal, int like)
{
    struct winsize size;

    if (terminal->master >= 0 && ioctl(like, TIOCGWINSZ, &size) == 0)
        ioctl(terminal->master, TIOCSWINSZ, &size);
}

void terminal_fini(struct terminal *terminal)
{
    if (terminal->raw) {
        poller_set(terminal->poller, &terminal->keys, -1, 0);
        tcsetattr(STDIN_FILENO, TCSADRAIN, &terminal->before);
    }
    terminal->raw = false;
    if (terminal->slave >= 0)
        close(terminal->slave);
    terminal->slave = -1;
}
