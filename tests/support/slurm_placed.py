#!/usr/bin/env python3
"""slurm_placed.py - did every job of ours run once, where the plan and the record say?

    slurm_placed.py STORE RAN FOREIGN SINCE

STORE is corgi.db, RAN a file to which each run of a job wrote "begin|end ID NODE GPUS SECONDS", as
its own process saw it, FOREIGN a file with the ids of jobs that were not ours to place.  Jobs from
before SINCE (epoch) are passed over.  Prints what is wrong, and how many were compared.
"""
import collections
import json
import sqlite3
import sys

store, ran, foreign, since = sys.argv[1:]
begins, ends = collections.defaultdict(list), collections.defaultdict(list)
for line in open(ran):
    what, job, node, gpus, at = line.split()
    (begins if what == "begin" else ends)[job].append((node, gpus, float(at)))
others = set(open(foreign).read().split())
wrong = []

# No GPU had two jobs at once, whoever they belong to.
used = collections.defaultdict(list)
for job, runs in begins.items():
    for (node, gpus, at), (_, _, until) in zip(runs, ends[job]):
        for gpu in gpus.split(","):
            used[node, gpu].append((at, until, job))
for gpu, spans in used.items():
    spans.sort()
    wrong += [f"{a[2]} and {b[2]} had {gpu} at once" for a, b in zip(spans, spans[1:]) if b[0] < a[1]]

compared = 0
db = sqlite3.connect(store)
for number, extra, devices, state in db.execute(
        "select id, progress_extra, devices, state from jobs where submitted_s >= ?", (float(since),)):
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
    if watched and places:
        wrong.append(f"{job} is not ours, and was planned")
    if not watched and node not in {place.split(":")[0] for place in places}:
        wrong.append(f"{job} ran on {node}, it was to be on {places}")
print("\n".join(wrong))
print(compared)
sys.exit(bool(wrong))
