/* state.h - the "hardware" of the fake: what outlives a process
 *
 * Limits, energy counters and the moment it all began, in the file named by
 * CORGI_FAKE_NVML_STATE so that processes share it, or in memory when there is none. */
#pragma once

#include "fake/script.h"

#include <sys/types.h>

struct fake_follower {
    pid_t pid;
    pid_t session;
};

#define FAKE_MAX_FOLLOWERS 64

/* Begin, or join what another process began. */
int fake_state_open(const struct fake_script *script);

void fake_state_reset(void); /* what is in memory; a file is the caller's to remove */

double fake_state_now(void);          /* seconds since it began */
void fake_state_set_now(double at_s); /* from then on time stands, for tests */

double fake_state_limit(int gpu);
void fake_state_set_limit(int gpu, double watts);

/* Of this moment; the draw never exceeds the limit. */
double fake_state_watts(int gpu);
double fake_state_joules(int gpu);
bool fake_state_capped(int gpu);

/* A person has pulled the card out: the file N is in the folder
 * CORGI_FAKE_NVML_UNPLUGGED, for tests that draw the moment while the daemon runs. */
bool fake_state_unplugged(int gpu);

/* Newest process of each session that has the UUID in CUDA_VISIBLE_DEVICES. */
int fake_state_followers(const char *uuid, struct fake_follower *followers);
