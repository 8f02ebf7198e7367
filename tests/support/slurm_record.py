#!/usr/bin/env python3
"""slurm_record.py - does the daemon's store say of every job what Slurm says of it?

    slurm_record.py STORE JOBCOMP [RAN]

STORE is corgi.db, JOBCOMP what jobcomp/filetxt wrote, RAN a file with a line "ID NUMBER NODE
GPUS" that each run of a job wrote; the number of an array's element is not its id.  Jobs named
cpu have no GPU and are passed over, as are the entries of those that were queued again.  A job is an id and a time of submission: a slurmctld that was
killed may have given an id twice, and may have run a job again whose end it had forgotten;
then any of its ends will do.  Prints what differs and how many jobs were compared.
"""
import collections
import datetime
import json
import re
import sqlite3
import sys

STATES = {"COMPLETED": "done", "FAILED": "failed", "CANCELLED": "cancelled",
          "TIMEOUT": "failed", "NODE_FAIL": "failed", "OUT_OF_MEMORY": "failed"}


def seconds(text):
    try:
        return datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%S").astimezone().timestamp()
    except ValueError:
        return None


def hosts(text):
    """node[1-2,4] and node3, one by one"""
    match = re.fullmatch(r"(.*)\[(.*)\]", text)
    if not match:
        return [] if text in ("", "(null)", "None assigned") else text.split(",")
    names = []
    for part in match.group(2).split(","):
        first, _, last = part.partition("-")
        names += [match.group(1) + str(n) for n in range(int(first), int(last or first) + 1)]
    return names


def slurm_says(path, ids):
    ends = collections.defaultdict(list)
    for line in open(path):
        word = dict(re.findall(r"(\w+)=(\S*)", line))
        if word["Name"] == "cpu" or word["JobState"] in ("PENDING", "REQUEUED"):
            continue
        start = seconds(word["StartTime"])
        names = hosts(word["NodeList"])
        ends[ids.get(word["JobId"], word["JobId"]), seconds(word["SubmitTime"])].append(
            (STATES.get(word["JobState"], word["JobState"]), start if names else None,
             seconds(word["EndTime"]), names))
    return ends


def store_says(path):
    jobs = {}
    store = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    store.row_factory = sqlite3.Row
    for row in store.execute("select * from jobs"):
        extra = json.loads(row["progress_extra"] or "{}")
        name, _, rest = extra["ref"].partition("@")
        submitted = float(rest.partition("+")[0])
        key = (name, submitted)
        if key in jobs:
            print(f"job {name} of {submitted} is in the store twice")
        jobs[key] = row, extra
    return jobs


def main():
    ran, ids = collections.defaultdict(set), {}
    if len(sys.argv) > 3:
        for line in open(sys.argv[3]):
            name, number, node, gpus = (line.split() + [""])[:4]
            ran[name].add((node, gpus))
            ids[number] = name
    ends, jobs = slurm_says(sys.argv[2], ids), store_says(sys.argv[1])
    wrong = 0

    def differs(key, what):
        nonlocal wrong
        wrong += 1
        print(f"job {key[0]}: {what}")

    for key, said in ends.items():
        # of an array that was cancelled while it waited there is one entry for all of it
        if key not in jobs and said[0][0] == "cancelled" and not said[0][3] and any(
                name.startswith(key[0] + "_") for name, _ in jobs):
            continue
        if key not in jobs:
            differs(key, f"Slurm says {said}, the store does not have it")
            continue
        row, extra = jobs[key]
        if "does not know" in (row["reason"] or ""):
            continue  # slurmctld forgot the end it had written down: nobody could see it
        ours = (row["state"], row["placed_s"], row["ended_s"],
                [h for h in extra["hosts"].split(",") if h] if row["placed_s"] else [])
        # slurmctld may have forgotten that it began, and have queued it again
        forgot = [(state, end) for state, start, end, _ in said if start is None]
        if ours not in said and (ours[0], ours[2]) not in forgot:
            differs(key, f"Slurm says {said}, the store {ours}")
        devices = {}
        for device in filter(None, row["devices"].split(",")):
            node, _, index = device.rpartition(":")
            devices.setdefault(node, []).append(index)
        places = {(node, ",".join(sorted(gpus))) for node, gpus in devices.items()}
        if key[0] in ran and not ran[key[0]] & places:
            differs(key, f"it ran on {ran[key[0]]}, the store says {places}")
    for key, (row, extra) in jobs.items():
        # of elements that were cancelled while they waited Slurm keeps nothing
        lone = row["state"] == "cancelled" and "_" in key[0] and row["started_s"] is None
        if key not in ends and not lone and "does not know" not in (row["reason"] or ""):
            differs(key, f"the store says {row['state']}, Slurm nothing")
    transitions = sqlite3.connect(sys.argv[1]).execute(
        "select count(*) from transitions where what in ('done', 'failed', 'cancelled')").fetchone()[0]
    finished = sum(row["ended_s"] is not None for row, _ in jobs.values())
    if transitions != finished:
        differs(("all", 0), f"{finished} jobs have ended {transitions} times")
    print(f"{len(ends)} jobs compared, {len(ran)} of them by what they saw themselves, "
          f"{wrong} differ")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
