#!/usr/bin/env python3
"""slurm_record.py - does the daemon's store say of every job what Slurm says of it?

    slurm_record.py [--table TABLE --seen SEEN --times TIMES] STORE JOBCOMP [RAN]

STORE is corgi.db, JOBCOMP what jobcomp/filetxt wrote, RAN a file with a line "ID NUMBER NODE
GPUS" that each run of a job wrote; the number of an array's element is not its id.  Jobs named
cpu have no GPU and are passed over, as are the entries of those that were queued again.  A job
is an id and a time of submission: a slurmctld that was killed may have given an id twice, and
may have run a job again whose end it had forgotten; then any of its ends will do.

Of a job that slurmctld forgot altogether the end may be unknown, and it may be missing if
nobody could see it.  TABLE (scontrol -o show jobs) has those it has not forgotten: nothing of
them may be unknown or missing.  SEEN has lines "ID SUBMITTED SEEN-AT" of squeue: a job that was
seen while the daemon was up (TIMES, lines "AT up|down") is not missing either.
Without TABLE nothing was forgotten.  Prints what differs and how many jobs were compared.
"""
import argparse
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
    ends, failures = collections.defaultdict(list), set()
    for line in open(path):
        word = dict(re.findall(r"(\w+)=(\S*)", line))
        if word["Name"] == "cpu" or word["JobState"] in ("PENDING", "REQUEUED"):
            continue
        start = seconds(word["StartTime"])
        names = hosts(word["NodeList"])
        if word["JobState"] == "NODE_FAIL":
            failures.add((ids.get(word["JobId"], word["JobId"]), seconds(word["SubmitTime"]),
                          seconds(word["EndTime"])))
        ends[ids.get(word["JobId"], word["JobId"]), seconds(word["SubmitTime"])].append(
            (STATES.get(word["JobState"], word["JobState"]), start if names else None,
             seconds(word["EndTime"]), names))
    # a node failed and Slurm queued the job again: the same one, submitted anew in that second
    again = [(name, first, later) for name, first, later in failures if (name, later) in ends]
    return ends, again


def store_says(path):
    jobs, twice = {}, []
    store = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    store.row_factory = sqlite3.Row
    for row in store.execute("select * from jobs"):
        extra = json.loads(row["progress_extra"] or "{}")
        name, _, rest = extra["ref"].partition("@")
        submitted = float(rest.partition("+")[0])
        key = (name, submitted)
        if key in jobs:
            twice.append(key)
        jobs[key] = row, extra
    return jobs, twice


def remembered(path):
    """(id, submitted) of the jobs in slurmctld's own table"""
    words = (dict(re.findall(r"(\w+)=(\S*)", line)) for line in open(path))
    return {(word["JobId"], seconds(word["SubmitTime"])) for word in words if "JobId" in word}


UP_FOR_S = 4.0  # a daemon that has been up for so long has had a look


def could_be_seen(seen, times):
    """(id, submitted) of the jobs that squeue showed while the daemon was up"""
    changes = [(0.0, "up")] + [(float(at), what) for at, what in
                               (line.split() for line in open(times))]
    shown = set()
    for line in open(seen):
        name, submitted, at = line.split()
        since, what = max(c for c in changes if c[0] <= float(at))
        if what == "up" and float(at) - since > UP_FOR_S:
            shown.add((name, seconds(submitted)))
    return shown


def main():
    parser = argparse.ArgumentParser()
    for name in ("--table", "--seen", "--times"):
        parser.add_argument(name)
    parser.add_argument("store")
    parser.add_argument("jobcomp")
    parser.add_argument("ran", nargs="?")
    args = parser.parse_args()
    known = remembered(args.table) if args.table else None
    visible = could_be_seen(args.seen, args.times) if args.seen else set()
    ran, ids = collections.defaultdict(set), {}
    if args.ran:
        for line in open(args.ran):
            name, number, node, gpus = (line.split() + [""])[:4]
            ran[name].add((node, gpus))
            ids[number] = name
    (ends, again), (jobs, twice) = slurm_says(args.jobcomp, ids), store_says(args.store)
    for name, first, later in sorted(again, key=lambda a: a[2]):
        if (name, first) in jobs:  # it was known to have ended: what came then is another run
            continue
        ends[name, later] += [end for end in ends.pop((name, first))
                              if end[0] != "failed" or end[2] != later]
    wrong = forgotten = unseen = 0

    def differs(key, what):
        nonlocal wrong
        wrong += 1
        print(f"job {key[0]}: {what}")

    for key in twice:
        differs(key, f"submitted at {key[1]}: it is in the store twice")
    for key, said in ends.items():
        # of an array that was cancelled while it waited there is one entry for all of it
        if key not in jobs and said[0][0] == "cancelled" and not said[0][3] and any(
                name.startswith(key[0] + "_") for name, _ in jobs):
            continue
        lost = known is not None and key not in known  # by slurmctld
        if key not in jobs and lost and key not in visible:
            unseen += 1
            continue
        if key not in jobs:
            differs(key, f"Slurm says {said}, the store does not have it")
            continue
        row, extra = jobs[key]
        if "does not know" in (row["reason"] or ""):
            forgotten += 1
            if not lost:
                differs(key, f"Slurm says {said}, the store that nobody knows")
            continue  # slurmctld forgot the end it had written down
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
        unknown = "does not know" in (row["reason"] or "")
        if unknown and known is not None and key in known and key not in ends:
            differs(key, "the store says that nobody knows, slurmctld has it in its table")
        if key not in ends and not lone and not unknown:
            differs(key, f"the store says {row['state']}, Slurm nothing")
    transitions = sqlite3.connect(args.store).execute(
        "select count(*) from transitions where what in ('done', 'failed', 'cancelled')").fetchone()[0]
    finished = sum(row["ended_s"] is not None for row, _ in jobs.values())
    if transitions != finished:
        differs(("all", 0), f"{finished} jobs have ended {transitions} times")
    print(f"{len(ends)} jobs compared, {len(ran)} of them by what they saw themselves, "
          f"{forgotten} forgotten by slurmctld, {unseen} of these seen by nobody, {wrong} differ")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
