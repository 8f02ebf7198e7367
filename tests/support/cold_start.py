#!/usr/bin/env python3
"""Jobs for cold_start.bats, on a daemon with a stepped clock.

cold_start.py SOCKET advance SECONDS
cold_start.py SOCKET twenty SEED         twenty jobs nobody knows; do promises hold?
"""
import random
import sys

from api import Connection, call

START_S = 1000000
MODELS = ["conv", "attention", "rnn", "embedding"]


def advance(daemon, to_s):
    there = False
    while not there:
        status, answer = call(daemon, "POST", "/v1/sim/advance", {"to_s": to_s})
        if status != 200:
            sys.exit(f"advance: {status} {answer}")
        there = answer["there"]


def make(rng, number):
    """Half of them tell what they are, all ask for a rate out of the blue."""
    job = {"name": f"job-{number}", "need": {"kind": "rate", "rate": 10 ** rng.uniform(-3, 2)}}
    if number % 2:
        job["command"] = ["python", "train.py", "--model", f"model-{number}"]
    else:
        job["descriptor"] = {
            "family": f"family-{number}",
            "model": rng.choice(MODELS),
            "batch": rng.choice([16, 64, 256]),
            "gmac_per_sample": round(rng.uniform(0.5, 20), 2),
            "params_millions": round(rng.uniform(5, 200), 1),
        }
    return job


def windows_after(daemon, job, since_s):
    _, answer = call(daemon, "GET", f"/v1/jobs/{job}/measurements?limit=1000&from_s={since_s}")
    return [p["rate"] for p in answer["points"] if p["at_s"] > since_s]


def promised_at(daemon, job):
    _, answer = call(daemon, "GET", f"/v1/jobs/{job}/history?limit=1000")
    return max([e["at_s"] for e in answer["events"] if e["kind"] in ("promised", "submitted")])


def twenty(daemon, seed):
    rng = random.Random(seed)
    jobs = []
    for number in range(20):
        status, answer = call(daemon, "POST", "/v1/jobs", make(rng, number))
        if status != 201:
            sys.exit(f"job {number} was not taken: {status} {answer}")
        if answer["quote"]["verdict"] not in ("unpromised", "accepted", "queued"):
            sys.exit(f"job {number}: {answer['quote']}")
        jobs.append(answer["job"]["id"])
        advance(daemon, START_S + 60 * (number + 1))
    advance(daemon, START_S + 4 * 3600)
    given = kept = 0
    states = {}
    for job in jobs:
        _, answer = call(daemon, "GET", f"/v1/jobs/{job}")
        states[answer["promise"]] = states.get(answer["promise"], 0) + 1
        if answer["promise"] != "given":
            continue
        rates = windows_after(daemon, job, promised_at(daemon, job))
        holds = [r >= 0.97 * answer["promised_rate"] for r in rates]
        given += 1
        kept += bool(holds) and sum(holds) >= 0.9 * len(holds)
        print(job, answer["promised_rate"], answer["rate"], f"{sum(holds)} of {len(holds)} windows")
    print(states, f"{kept} of {given} promises held")
    if given < 5 or kept < 0.9 * given:
        sys.exit("promises did not hold")


if __name__ == "__main__":
    connection = Connection(sys.argv[1], 120)
    if sys.argv[2] == "advance":
        advance(connection, float(sys.argv[3]))
    else:
        twenty(connection, int(sys.argv[3]))
