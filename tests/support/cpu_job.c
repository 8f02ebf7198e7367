/* cpu_job.c - small real jobs for the end-to-end tests, each telling its rate another way
 *
 * Usage: cpu_job KIND STEPS OWN [SECONDS]
 *
 *   dense    arithmetic in the cache; heartbeats
 *   stream   passes over memory; "step N/STEPS" lines
 *   learn    a small network learns a function; a tqdm bar
 *   sort     sorts numbers, full of branches; a progress file in JOB_PROGRESS
 *   hash     integer chains; lines with a count and a rate
 *   serve    answers pretended requests at STEPS a second for SECONDS seconds; a page of
 *            Prometheus counters on the port JOB_PORT
 *
 * OWN gets the job's own count: a line "time steps" a moment, which the test compares
 * with what Corgi measured. */
#include <arpa/inet.h>
#include <math.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define SIDE       96      /* of the matrices */
#define STREAM     2000000 /* doubles: 16 MB, more than a cache */
#define NUMBERS    20000
#define CHAIN      1500000
#define BEAT_S     0.1 /* between two lines */
#define SERVE_PART 0.002

static double *room;
static volatile double sink;

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void step_dense(void)
{
    double *a = room, *b = room + SIDE * SIDE, *c = room + 2 * SIDE * SIDE;

    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) {
            double sum = 0;

            for (int k = 0; k < SIDE; k++)
                sum += a[i * SIDE + k] * b[k * SIDE + j];
            c[i * SIDE + j] = sum / SIDE;
        }
    sink = c[7];
}

static void step_stream(void)
{
    double sum = 0;

    for (int i = 0; i < STREAM; i++) {
        room[i] = room[i] * 0.999 + 0.001;
        sum += room[i];
    }
    sink = sum;
}

/* One hidden layer, one example, by hand. */
static void step_learn(void)
{
    enum { HIDDEN = 64, EXAMPLES = 200 };
    double *in = room, *out = room + HIDDEN;

    for (int e = 0; e < EXAMPLES; e++) {
        double x = e / (double)EXAMPLES, want = sin(6 * x), y = 0, error;
        double h[HIDDEN];

        for (int i = 0; i < HIDDEN; i++) {
            h[i] = tanh(in[i] * x + i * 0.1 - 3);
            y += out[i] * h[i];
        }
        error = (y - want) * 0.01;
        for (int i = 0; i < HIDDEN; i++) {
            in[i] -= error * out[i] * (1 - h[i] * h[i]) * x;
            out[i] -= error * h[i];
        }
        sink = y;
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void step_sort(void)
{
    uint32_t seed = 12345;

    for (int i = 0; i < NUMBERS; i++) {
        seed = seed * 1664525U + 1013904223U;
        room[i] = seed;
    }
    qsort(room, NUMBERS, sizeof(*room), by_value);
    sink = room[3];
}

static void step_hash(void)
{
    uint64_t x = 88172645463325252ULL;

    for (int i = 0; i < CHAIN; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    sink = (double)x;
}

/* ---- telling -------------------------------------------------------------------------
 */

static void tell_heartbeat(double steps)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    const char *path = getenv("CORGI_HEARTBEAT");
    static int fd = -1;
    char line[64];

    if (!path || strlen(path) >= sizeof(to.sun_path))
        return;
    if (fd < 0)
        fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    strcpy(to.sun_path, path);
    snprintf(line, sizeof(line), "steps=%.0f", steps);
    sendto(fd, line, strlen(line), 0, (struct sockaddr *)&to, sizeof(to));
}

static void tell_progress(double steps)
{
    const char *path = getenv("JOB_PROGRESS");
    char hidden[512];
    FILE *f;

    if (!path)
        return;
    snprintf(hidden, sizeof(hidden), "%s.new", path);
    f = fopen(hidden, "w");
    if (!f)
        return;
    fprintf(f, "%.0f\n", steps);
    fclose(f);
    rename(hidden, path);
}

static void tell(const char *kind, double steps, double all, double began)
{
    double now = now_s();

    if (!strcmp(kind, "dense"))
        tell_heartbeat(steps);
    else if (!strcmp(kind, "stream"))
        printf("step %.0f/%.0f loss=%.3f\n", steps, all, 1 / (1 + steps));
    else if (!strcmp(kind, "learn"))
        printf("\r%3.0f%%|%-10.*s| %.0f/%.0f [%02d:%02d<00:09, %.2fit/s]",
               100 * steps / all, (int)(10 * steps / all), "##########", steps, all,
               (int)(now - began) / 60, (int)(now - began) % 60, steps / (now - began));
    else if (!strcmp(kind, "sort"))
        tell_progress(steps);
    else if (!strcmp(kind, "hash"))
        printf("[%.1f s] step %.0f of %.0f, %.2f steps/s\n", now - began, steps, all,
               steps / (now - began));
    fflush(stdout);
}

static void train(const char *kind, void (*step)(void), double all, FILE *own)
{
    double began = now_s(), last = began;

    fprintf(own, "%.6f 0\n", began);
    for (double steps = 1; steps <= all; steps++) {
        double now;

        step();
        now = now_s();
        if (now - last < BEAT_S && steps < all)
            continue;
        fprintf(own, "%.6f %.0f\n", now, steps);
        tell(kind, steps, all, began);
        last = now;
    }
}

/* ---- a service -----------------------------------------------------------------------
 */

static int listen_on(int port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(fd, 8) < 0) {
        perror("cpu_job: cannot listen");
        exit(3);
    }
    return fd;
}

static void answer(int listener, double served)
{
    int fd = accept(listener, NULL, NULL);
    char request[2048], page[512], head[128];

    if (fd < 0)
        return;
    if (read(fd, request, sizeof(request)) > 0) {
        snprintf(page, sizeof(page),
                 "# TYPE answered_total counter\nanswered_total %.0f\n", served);
        snprintf(head, sizeof(head),
                 "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n"
                 "Content-Length: %zu\r\n\r\n",
                 strlen(page));
        if (write(fd, head, strlen(head)) < 0 || write(fd, page, strlen(page)) < 0)
            perror("cpu_job: cannot answer");
    }
    close(fd);
}

/* Requests come evenly; each is a step of dense work.  What cannot be done in time waits.
 */
static void serve(double asked, double seconds, FILE *own)
{
    int listener = listen_on(atoi(getenv("JOB_PORT") ? getenv("JOB_PORT") : "0"));
    double began = now_s(), last = began, served = 0;

    while (now_s() - began < seconds) {
        struct pollfd wait = {.fd = listener, .events = POLLIN};
        double due = (now_s() - began) * asked;

        if (poll(&wait, 1, served < due ? 0 : (int)(1000 * SERVE_PART)) > 0)
            answer(listener, served);
        if (served < due) {
            step_dense();
            served++;
        }
        if (now_s() - last > BEAT_S) {
            last = now_s();
            fprintf(own, "%.6f %.0f\n", last, served);
        }
    }
    close(listener);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*step)(void);
    } kinds[] = {{"dense", step_dense},
                 {"stream", step_stream},
                 {"learn", step_learn},
                 {"sort", step_sort},
                 {"hash", step_hash}};
    FILE *own = argc > 3 ? fopen(argv[3], "w") : NULL;

    if (!own) {
        fprintf(stderr, "usage: cpu_job KIND STEPS OWN [SECONDS]\n");
        return 2;
    }
    setvbuf(own, NULL, _IOLBF, 0);
    room = malloc(STREAM * sizeof(*room));
    if (!room)
        return 4;
    for (int i = 0; i < STREAM; i++)
        room[i] = (i % 17) * 0.01;
    if (!strcmp(argv[1], "serve"))
        serve(atof(argv[2]), argc > 4 ? atof(argv[4]) : 5, own);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (!strcmp(argv[1], kinds[i].name))
            train(argv[1], kinds[i].step, atof(argv[2]), own);
    fclose(own);
    free(room);
    return 0;
}
