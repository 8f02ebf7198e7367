/* exporter_scrape.c - slurm_power.c starts it and takes what it has read */
#include "engine/slurm/exporter_scrape.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "probe/fetch.h"

#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define URLS_MOST 4
#define AT_ONCE   32 /* exchanges */
#define NAME_SIZE 256
#define WAIT_MS   200

struct exporter_target {
    char name[NAME_SIZE], address[NAME_SIZE]; /* "": no such node */
    bool read;
    struct exporter_reading reading;
};

struct exporter_scrape {
    char *urls[URLS_MOST]; /* the thread's too, never changed */
    int url_count;
    double every_s;
    pthread_t thread;
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t changed;
    bool ending;
    vec_of(struct exporter_target) targets;
};

/* ---- URLs ---------------------------------------------------------------------------
 */

static void fill_in(const char *url, const char *name, const char *address,
                    struct str *out)
{
    while (*url) {
        if (str_starts(url, "{node}")) {
            str_add(out, name);
            url += 6;
        } else if (str_starts(url, "{address}")) {
            str_add(out, address);
            url += 9;
        } else {
            str_addf(out, "%c", *url++);
        }
    }
}

/* The same URL with its host as an address: fetch.c looks up no names.  Blocks. */
static bool look_up(const char *url, struct str *out)
{
    const char *host = url + strlen("http://"), *end = host + strcspn(host, ":/");
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found;
    char name[NAME_SIZE], number[64];
    bool known;

    if (*host == '[' || (size_t)(end - host) >= sizeof(name)) {
        str_add(out, url);
        return *host == '[';
    }
    memcpy(name, host, (size_t)(end - host));
    name[end - host] = '\0';
    if (getaddrinfo(name, NULL, &hints, &found) != 0)
        return false;
    known = getnameinfo(found->ai_addr, found->ai_addrlen, number, sizeof(number), NULL,
                        0, NI_NUMERICHOST) == 0;
    freeaddrinfo(found);
    str_addf(out, "http://%s%s", number, end);
    return known;
}

int exporter_scrape_check(const char *urls, struct err *err)
{
    char url[FETCH_MAX_URL];
    int count = 0;

    while (str_next_word(&urls, url, sizeof(url))) {
        if (!str_starts(url, "http://") || ++count > URLS_MOST)
            return err_set(err, ERR_INVALID,
                           "'%s': up to %d addresses as http://{node}:9400/metrics, with "
                           "commas between",
                           url, URLS_MOST);
    }
    return 0;
}

/* ---- the thread ---------------------------------------------------------------------
 */

/* One exchange of a round. */
struct exporter_exchange {
    struct fetch fetch;
    size_t target; /* in the round's copy */
    bool open;
};

static bool begin(struct exporter_exchange *x, const char *url, size_t target)
{
    struct str full = {0};
    bool good = look_up(url, &full) && fetch_init(&x->fetch, str_text(&full), NULL) == 0;

    str_fini(&full);
    x->target = target;
    x->open = good && fetch_start(&x->fetch, clock_wall_s()) == FETCH_RUNNING;
    if (good && !x->open)
        fetch_fini(&x->fetch);
    return x->open;
}

static void finish(struct exporter_exchange *x, struct exporter_target *targets,
                   enum fetch_state state)
{
    struct exporter_target *t = &targets[x->target];

    if (state == FETCH_DONE) {
        exporter_page_read(&t->reading.page, str_text(&x->fetch.body),
                           x->fetch.body.length);
        t->reading.at_s = clock_epoch_s();
        t->read = true;
    }
    fetch_fini(&x->fetch);
    x->open = false;
}

/* Those under way until all have answered or their time is over. */
static void finish_all(struct exporter_exchange *open, int count,
                       struct exporter_target *targets)
{
    int left = count;

    while (left > 0) {
        struct pollfd fds[AT_ONCE];
        nfds_t used = 0;

        for (int i = 0; i < count; i++)
            if (open[i].open)
                fds[used++] = (struct pollfd){
                    .fd = open[i].fetch.fd,
                    .events = (short)(fetch_events(&open[i].fetch) & (POLLIN | POLLOUT))};
        poll(fds, used, WAIT_MS);
        for (int i = 0; i < count; i++) {
            enum fetch_state state;

            if (!open[i].open)
                continue;
            state = fetch_go(&open[i].fetch, clock_wall_s());
            if (state == FETCH_RUNNING)
                continue;
            finish(&open[i], targets, state);
            left--;
        }
    }
}

static void play_round(const struct exporter_scrape *s, struct exporter_target *targets,
                       size_t count)
{
    struct exporter_exchange open[AT_ONCE];
    int used = 0;

    for (size_t t = 0; t < count; t++) {
        exporter_page_init(&targets[t].reading.page);
        targets[t].read = false;
        for (int u = 0; u < s->url_count && targets[t].name[0]; u++) {
            struct str url = {0};

            fill_in(s->urls[u], targets[t].name, targets[t].address, &url);
            open[used] = (struct exporter_exchange){.open = false};
            used += begin(&open[used], str_text(&url), t);
            str_fini(&url);
            if (used == AT_ONCE) {
                finish_all(open, used, targets);
                used = 0;
            }
        }
    }
    finish_all(open, used, targets);
}

static void keep(struct exporter_scrape *s, const struct exporter_target *targets,
                 size_t count)
{
    for (size_t t = 0; t < count; t++)
        if (targets[t].read) {
            s->targets.items[t].reading = targets[t].reading;
            s->targets.items[t].read = true;
        }
}

static void *run(void *arg)
{
    struct exporter_scrape *s = arg;

    pthread_mutex_lock(&s->lock);
    while (!s->ending) {
        size_t count = s->targets.count;
        struct exporter_target *targets =
            mem_dup(s->targets.items, count, sizeof(*targets));
        struct timespec until;

        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += (time_t)s->every_s;
        until.tv_nsec += (long)((s->every_s - (double)(time_t)s->every_s) * 1e9);
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_mutex_unlock(&s->lock);
        play_round(s, targets, count);
        pthread_mutex_lock(&s->lock);
        keep(s, targets, count);
        free(targets);
        while (!s->ending && pthread_cond_timedwait(&s->changed, &s->lock, &until) == 0)
            ;
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* ---- outside ------------------------------------------------------------------------
 */

int exporter_scrape_create(struct exporter_scrape **scrape, const char *urls,
                           double every_s, struct err *err)
{
    struct exporter_scrape *s;
    char url[FETCH_MAX_URL];

    if (exporter_scrape_check(urls, err) < 0)
        return -1;
    s = mem_new(struct exporter_scrape);
    s->every_s = every_s;
    while (str_next_word(&urls, url, sizeof(url)))
        s->urls[s->url_count++] = mem_strdup(url);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
    if (pthread_create(&s->thread, NULL, run, s) != 0) {
        for (int u = 0; u < s->url_count; u++)
            free(s->urls[u]);
        free(s);
        return err_set(err, ERR_SYSTEM, "cannot start a thread");
    }
    *scrape = s;
    return 0;
}

void exporter_scrape_destroy(struct exporter_scrape *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    s->ending = true;
    pthread_cond_signal(&s->changed);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
    for (int u = 0; u < s->url_count; u++)
        free(s->urls[u]);
    vec_free(&s->targets);
    free(s);
}

void exporter_scrape_node(struct exporter_scrape *s, int n, const char *name,
                          const char *address)
{
    pthread_mutex_lock(&s->lock);
    while (s->targets.count <= (size_t)n)
        vec_push(&s->targets, (struct exporter_target){.read = false});
    str_copy(s->targets.items[n].name, NAME_SIZE, name);
    str_copy(s->targets.items[n].address, NAME_SIZE, address);
    pthread_mutex_unlock(&s->lock);
}

bool exporter_scrape_take(struct exporter_scrape *s, int n,
                          struct exporter_reading *reading)
{
    bool read = false;

    pthread_mutex_lock(&s->lock);
    if ((size_t)n < s->targets.count && s->targets.items[n].read) {
        *reading = s->targets.items[n].reading;
        read = true;
    }
    pthread_mutex_unlock(&s->lock);
    return read;
}
