#!/usr/bin/env python3
"""other_worlds.py - the estimator on tables drawn by a generator it was not trained on

Usage: bench/other_worlds.py CORGI [--worlds N] [--first SEED] [--protocol lofo|lojo] [--keep DIR]

P1, P2 and the core's start come from Corgi's own generator (a roofline model, widened).  This
one shares no formula with it: jobs divide their time over four resources, two jobs share each
of these in proportion to what they ask of it, some suffer in addition from who fills the caches,
and how a job gains from a newer card follows its resources.  Each world is written as a table
and given to `corgi eval` with one seed.  Prints, for own speed and effect and each number of
measurements: the geometric mean of the blend's error and of the best single baseline's in each
world, in how many worlds the blend is worse by more than 0.3 points, and its coverage.
"""
import argparse
import json
import math
import os
import random
import subprocess
import sys
import tempfile

# Capacity of each card for arithmetic, memory, host and latency-bound work, against a k80.
CARDS = {"k80": (1, 1, 1, 1), "p100": (2.2, 3.0, 1.1, 1.4), "v100": (3.4, 3.8, 1.2, 1.7),
         "t4": (1.9, 1.3, 1.1, 1.5), "a100": (4.6, 6.4, 1.3, 2.1)}
RESOURCES = 4
MISSING = 0.04
NOISE = 0.03


def draw_job(rng, family, batch):
    """A job's time by resource, how much of the card it asks for, and what it suffers."""
    grown = batch ** 0.25
    times = [family["times"][0] * grown, family["times"][1] * grown,
             family["times"][2] / grown, family["times"][3]]
    times = [t * math.exp(rng.gauss(0, 0.08)) for t in times]
    whole = sum(times)
    return {"name": "%s-%d" % (family["name"], batch), "family": family["name"],
            "batch": batch, "shares": [t / whole for t in times],
            "asks": min(1.0, family["asks"] * batch ** family["slope"]),
            "suffers": family["suffers"] * math.exp(rng.gauss(0, 0.15)),
            "fills": family["fills"] * math.exp(rng.gauss(0, 0.15)),
            "rate": family["rate"] / whole / batch ** 0.5}


def draw_jobs(rng):
    jobs = []
    for number in range(rng.randint(5, 9)):
        family = {"name": "family%d" % number,
                  "times": [rng.gammavariate(0.7, 1) + 0.02 for _ in range(RESOURCES)],
                  "asks": rng.uniform(0.25, 1), "slope": rng.uniform(0, 0.15),
                  "suffers": rng.expovariate(8), "fills": rng.uniform(0, 1),
                  "rate": math.exp(rng.gauss(1.5, 1))}
        first = rng.choice((4, 8, 16))
        for step in range(rng.randint(1, 5)):
            jobs.append(draw_job(rng, family, first * 2 ** step))
    return jobs


def alone(job, card):
    """Time of each resource on a card, and the rate."""
    times = [s / c for s, c in zip(job["shares"], CARDS[card])]
    return [t / sum(times) for t in times], job["rate"] / sum(times)


def together(a, b, card, crowding):
    """Relative speeds of two jobs that share each resource by what they ask of it."""
    busy = [[s * job["asks"] for s in alone(job, card)[0]] for job in (a, b)]
    speed = [1.0, 1.0]
    for _ in range(60):
        stretched = [0.0, 0.0]
        for r in range(RESOURCES):
            load = sum(speed[i] * busy[i][r] ** crowding for i in (0, 1))
            for i, job in enumerate((a, b)):
                stretched[i] += alone(job, card)[0][r] * max(1.0, load)
        speed = [0.5 * speed[i] + 0.5 / stretched[i] for i in (0, 1)]
    return (speed[0] * math.exp(-a["suffers"] * b["fills"]),
            speed[1] * math.exp(-b["suffers"] * a["fills"]))


def write_world(path, seed):
    rng = random.Random(seed)
    cards = rng.sample(sorted(CARDS), rng.randint(1, 4))
    jobs = draw_jobs(rng)
    crowding = rng.uniform(0.05, 0.5)  # how soon a resource is asked for more than it has
    with open(path, "w", encoding="utf-8") as out:
        out.write("gpu,job,family,batch,rate,corunner,corunner_rate\n")

        def row(card, job, rate, other="", other_rate=""):
            out.write("%s,%s,%s,%d,%.6g,%s,%s\n" % (
                card, job["name"], job["family"], job["batch"], rate, other,
                other_rate and "%.6g" % other_rate))

        for card in cards:
            rates = [alone(job, card)[1] * math.exp(rng.gauss(0, NOISE)) for job in jobs]
            for job, rate in zip(jobs, rates):
                row(card, job, rate)
            for i, a in enumerate(jobs):
                for k in range(i + 1):
                    if rng.random() < MISSING:
                        continue
                    one, other = (min(1.0, s * math.exp(rng.gauss(0, NOISE)))
                                  for s in together(a, jobs[k], card, crowding))
                    row(card, a, rates[i] * one, jobs[k]["name"],
                        rates[k] * (one if i == k else other))


def evaluate(corgi, path, protocol):
    """{(target, measurements): (blend, coverage, best baseline)}"""
    answer = subprocess.run([corgi, "eval", "-t", path, "-p", protocol, "-a", "blend", "--seeds",
                             "1", "--json"], check=True, stdout=subprocess.PIPE)
    table = {}
    for line in json.loads(answer.stdout)["results"]:
        if line.get("target") not in ("own", "effect"):
            continue
        at = table.setdefault((line["target"], line["observations"]), [None, None, math.inf])
        if line["method"] == "blend":
            at[0], at[1] = line["mare"], line["coverage90"]
        elif line["method"].startswith("baseline:"):
            at[2] = min(at[2], line["mare"])
    return table


def geometric(values):
    return math.exp(sum(math.log(v) for v in values) / len(values))


def main():
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("corgi")
    args.add_argument("--worlds", type=int, default=20)
    args.add_argument("--first", type=int, default=1)
    args.add_argument("--protocol", default="lofo", choices=("lofo", "lojo"))
    args.add_argument("--keep", help="leave the tables in this folder")
    args = args.parse_args()
    seen = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.keep or scratch
        os.makedirs(folder, exist_ok=True)
        for seed in range(args.first, args.first + args.worlds):
            path = os.path.join(folder, "world-%d.csv" % seed)
            write_world(path, seed)
            for key, line in evaluate(args.corgi, path, args.protocol).items():
                seen.setdefault(key, []).append(line)
            print("world %d done" % seed, file=sys.stderr)
    print("%-7s %3s %6s %8s %8s %6s %7s" % ("target", "n", "worlds", "blend %", "best %", "worse",
                                            "cover %"))
    for target, count in sorted(seen, key=lambda key: (key[0] != "own", key[1])):
        lines = seen[target, count]
        worse = sum(line[0] > line[2] + 0.3 for line in lines)
        print("%-7s %3d %6d %8.2f %8.2f %6d %7.1f" % (
            target, count, len(lines), geometric([line[0] for line in lines]),
            geometric([line[2] for line in lines]), worse,
            100 * sum(line[1] for line in lines) / len(lines)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
