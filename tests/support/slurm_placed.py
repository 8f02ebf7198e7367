#!/usr/bin/env python3
"""slurm_placed.py - did every job of ours run once, where the plan and the record say?

    slurm_placed.py [--shares N] [--pinned] STORE RAN FOREIGN SINCE

STORE is corgi.db, RAN a file to which each run of a job wrote "begin|end ID NODE GPUS SECONDS ...",
as its own process saw it, FOREIGN a file with the ids of jobs that were not ours to place.  Jobs from
before SINCE (epoch) are passed over.  With --shares a GPU takes so many jobs at once, but jobs that
do not share or have several GPUs have theirs alone; with --pinned the GPU is to be the planned one,
too.  Prints what is wrong, the most jobs a GPU had at once, and how many jobs were compared.
"""
import argparse
import collections
import json
import sqlite3
import sys

args = argparse.ArgumentParser()
args.add_argument("--shares", type=int, default=1)
args.add_argument("--pinned", action="store_true")
for name in ("store", "ran", "foreign", "since"):
    args.add_argument(name)
args = args.parse_args()
store, ran, foreign, since = args.store, args.ran, args.foreign, args.since
begins, ends = collections.defaultdict(list), collections.defaultdict(list)
for line in open(ran):
    what, job, node, gpus, at = line.split()[:5]
    (begins if what == "begin" else ends)[job].append((node, gpus, float(at)))
others = set(open(foreign).read().split())
wrong = []

# No GPU had more jobs at once than it takes, whoever they belong to.
used = collections.defaultdict(list)
for job, runs in begins.items():
    for (node, gpus, at), (_, _, until) in zip(runs, ends[job]):
        for gpu in gpus.split(","):
            used[node, gpu].append((at, until, job))
most = 0
beside = set()
for gpu, spans in used.items():
    for at, _, _ in spans:
        now = [job for begin, end, job in spans if begin <= at < end]
        most = max(most, len(now))
        if len(now) > args.shares:
            wrong.append(f"{' and '.join(now)} had {gpu} at once")
        if len(now) > 1:
            beside.update(now)

compared = 0
db = sqlite3.connect(store)
for number, extra, devices, state, shares in db.execute(
        "select id, progress_extra, devices, state, may_share from jobs where submitted_s >= ?", (float(since),)):
    extra = json.loads(extra or "{}")
    watched = "ref" in extra
    job = (extra.get("ref") or extra.get("entered") or "?").split("@")[0].split("#")[0]
    places = {d for (d,) in db.execute("select devices from decisions where job = ? and what = 'start'",
                                       (number,))}
    compared += 1
    if watched != (job in others):
        wrong.append(f"{job} is {'watched' if watched else 'ours'}")
    if state != "done" or len(begins[job]) != 1:
        wrong.append(f"{job} is {state} and ran {len(begins[job])} times")
        continue
    node, gpus, _ = begins[job][0]
    if ",".join(sorted(f"{node}:{gpu}" for gpu in gpus.split(","))) != ",".join(sorted(devices.split(","))):
        wrong.append(f"{job} had {gpus} of {node}, the record says {devices}")
    if args.pinned and not watched and ",".join(f"{node}:{gpu}" for gpu in gpus.split(",")) not in places:
        wrong.append(f"{job} had {gpus} of {node}, the plan was {places}")
    if job in beside and (not shares or watched or "," in gpus):
        wrong.append(f"{job} had to be alone on {gpus} of {node}")
    if watched and places:
        wrong.append(f"{job} is not ours, and was planned")
    if not watched and node not in {place.split(":")[0] for place in places}:
        wrong.append(f"{job} ran on {node}, it was to be on {places}")
print("\n".join(wrong))
print("most at once:", most)
print(compared)
sys.exit(bool(wrong))
