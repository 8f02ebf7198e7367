#!/usr/bin/env python3
"""slurm_books.py - has every job completed once, and does the daemon's record say so?

    slurm_books.py STORE FOLDER

STORE is corgi.db.  FOLDER has `acked` ("NAME sbatch|corgi SECONDS": a user was told that the job
is taken), `ran` ("begin|end ID NODE GPUS SECONDS NAME RUN", as the job's own processes saw it), `alive/RUN`
(touched while it ran) and `times` ("SECONDS slurmctld|NODE|... down|up").

A slurmctld that is killed forgets what it has not saved ("SECONDS slurmctld saved"): a job of sbatch's
may be lost then, as it would be without us.  Runs of a job may overlap while a node was cut off, and
RETURN_S longer.  Prints what is wrong, and counts.
"""
import collections
import os
import sqlite3
import sys

SAVED_S = 1.0     # slurmctld gathers what it saves, and a user hears of a job, so much earlier or later
RETURN_S = 10.0   # a copy on a node that was cut off ends so long after the node's return
CLOCK_S = 0.6     # signs of life come four times a second

store, folder = sys.argv[1:]
acked, times = {}, []
for line in open(os.path.join(folder, "acked")):
    name, way, at = line.split()
    acked[name] = (way, float(at))
for line in open(os.path.join(folder, "times")):
    at, what, how = line.split()
    times.append((float(at), what, how))
runs = collections.defaultdict(dict)  # name -> run -> [node, begin, last sign of life, ended]
for line in open(os.path.join(folder, "ran")):
    what, _, node, _, at, name, run = line.split()
    if what == "begin":
        runs[name][run] = [node, float(at), float(at), False]
    else:
        runs[name][run][2:] = [float(at), True]
for of_job in runs.values():
    for run, facts in of_job.items():
        sign = os.path.join(folder, "alive", run)
        if not facts[3] and os.path.exists(sign):
            facts[2] = os.stat(sign).st_mtime
stored = collections.defaultdict(list)
for name, state, reason in sqlite3.connect(store).execute("select name, state, reason from jobs"):
    stored[name].append((state, reason))

saves = [at for at, what, how in times if (what, how) == ("slurmctld", "saved")]
kills = [at for at, what, how in times if (what, how) == ("slurmctld", "down")]
cut = []  # (node, from, until)
for at, what, how in times:
    if what.startswith("node") and how == "down":
        back = [t for t, w, h in times if w == what and h == "up" and t > at]
        cut.append((what, at, back[0] if back else float("inf")))


def excused(first, second):
    """Did the earlier of two runs that overlap live on a node that was cut off?"""
    until = min(first[2], second[2])
    return any(node == first[0] and down < until + CLOCK_S and until <= back + RETURN_S + CLOCK_S
               for node, down, back in cut)


wrong, forgotten, overlaps, doubled, again, longest = [], 0, 0, 0, 0, 0.0
for name, (way, at) in acked.items():
    of_job = sorted(runs[name].values(), key=lambda run: run[1])
    ends = sum(run[3] for run in of_job)
    states = [state for state, _ in stored[name]]
    again += len(of_job) > 1
    for a, first in enumerate(of_job):
        for second in of_job[a + 1:]:
            if second[1] < first[2] - CLOCK_S:
                overlaps += 1
                if not excused(first, second):
                    wrong.append(f"{name}: runs overlap {first} {second}")
                longest = max([longest] + [min(first[2], second[2]) - back for node, down, back in cut
                                           if node == first[0] and down < first[2]])
    if ends == 0 and way == "sbatch" and any(saved - SAVED_S <= at <= kill + SAVED_S for saved, kill in zip(saves, kills)):
        forgotten += 1
        if "done" in states:
            wrong.append(f"{name}: {states}, and nobody saw its end")
        continue
    if ends == 0:
        wrong.append(f"{name}: acknowledged by {way}, never completed: {stored[name]} {of_job}")
    if ends > 1:
        doubled += 1
        if not any(excused(a, b) for a in of_job for b in of_job if a is not b and a[1] <= b[1]):
            wrong.append(f"{name}: completed {ends} times: {of_job}")
    if ends > 0 and states != ["done"]:
        wrong.append(f"{name}: completed, and the record says {stored[name]} {of_job}")
for name, rows in stored.items():
    if len(rows) > 1:
        wrong.append(f"{name}: {len(rows)} jobs in the record")
print("\n".join(wrong))
print(f"{len(acked)} jobs acknowledged, {sum(len(r) for r in runs.values())} runs, {again} jobs ran more "
      f"than once, {forgotten} forgotten by slurmctld, {overlaps} overlaps (longest {longest:.1f} s after "
      f"the node's return), {doubled} completed twice on a node that was cut off, {len(wrong)} wrong")
sys.exit(bool(wrong) or not acked)
