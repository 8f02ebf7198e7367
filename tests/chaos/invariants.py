"""invariants.py - what must hold whatever goes wrong

While faults come and go: nobody runs where somebody is, no attempt starts twice, what was
acknowledged is there, energy never falls.  At the end, with all faults lifted: each key is
one job, each job ended as its own books say, sums of energy agree, the store is sound, no
process is left.
"""
import os
import subprocess
import time

from api import call

FINAL = ("done", "failed", "cancelled")


class Ledger:
    """What the jobs wrote themselves, read on from where the last look ended."""

    def __init__(self, arena):
        self.arena, self.at = arena, 0
        self.starts = {}   # job -> attempts in order
        self.ends = {}     # job -> attempts that did all their steps
        self.steps = {}    # (job, attempt) -> steps
        self.again = []    # (job, attempt) that started after an end
        self.told = 0      # ends of whom nobody can say whether they stopped or were done
        self.done = set()  # jobs that did all their steps and were never told to stop

    def look(self):
        with open(self.arena.ledger, encoding="ascii") as file:
            file.seek(self.at)
            lines = file.read()
        whole = lines.rfind("\n") + 1
        self.at += whole
        for line in lines[:whole].splitlines():
            self.take(line.split())

    def take(self, words):
        job, attempt = int(words[1]), int(words[2])
        if words[0] == "CONFLICT":
            self.arena.chaos.violation(self.arena, "nobody runs where somebody is",
                                       "job %d attempt %d found %s %s taken"
                                       % (job, attempt, words[3], words[4]))
        elif words[0] == "start":
            if attempt in self.starts.get(job, []):
                self.arena.chaos.violation(self.arena, "no attempt twice",
                                           "job %d attempt %d" % (job, attempt))
            if job in self.done:
                self.again.append((job, attempt))
            self.starts.setdefault(job, []).append(attempt)
        else:
            self.steps[(job, attempt)] = int(words[3])
            if words[0] in ("end", "told"):
                self.ends.setdefault(job, []).append(attempt)
            if words[0] == "end":
                self.done.add(job)
            elif words[0] == "told":
                self.told += 1


def check_some(arena, count):
    """A few acknowledged jobs, while the daemon is well."""
    with arena.lock:
        jobs = arena.random.sample(sorted(arena.known), min(count, len(arena.known)))
        known = {number: dict(arena.known[number]) for number in jobs}
    connection = arena.connect(30)
    for number, job in known.items():
        check_job(arena, connection, number, job)


def check_job(arena, connection, number, job):
    status, answer = call(connection, "GET", "/v1/jobs/%d" % number)
    arena.counts["answers"] += 1
    if status != 200:
        arena.chaos.violation(arena, "nothing acknowledged lost",
                              "job %d (%s): %s" % (number, job["key"], status))
        return None
    if answer["name"] != job["key"]:
        arena.chaos.violation(arena, "numbers", "job %d is %s, not %s"
                              % (number, answer["name"], job["key"]))
    if job.get("cancelled") and answer["state"] not in ("cancelled", "leaving"):
        arena.chaos.violation(arena, "nothing acknowledged lost",
                              "job %d was cancelled and is %s" % (number, answer["state"]))
    return answer


def energy(arena, by):
    """Joules of all rows, or None where the daemon did not answer."""
    answer = arena.ask("/v1/energy?by=%s&limit=1000" % by, 20)
    if answer is None:
        return None
    return answer["joules"], sum(row["joules"] for row in answer["rows"])


def check_energy(arena):
    """Each table has the sum of the total, which never falls."""
    before = energy(arena, "total")
    tables = {by: energy(arena, by) for by in ("user", "device", "node", "type")}
    after = energy(arena, "total")
    if before is None or after is None or None in tables.values():
        arena.chaos.violation(arena, "books balance", "no answer to what was used")
        return
    slack = 1e-6 * after[0] + 1e-3
    if before[0] < arena.joules - slack:
        arena.chaos.violation(arena, "books balance", "energy fell from %.3f to %.3f J"
                              % (arena.joules, before[0]))
    arena.joules = after[0]
    for by, sums in tables.items():
        for value in sums:
            if not before[0] - slack <= value <= after[0] + slack:
                arena.chaos.violation(arena, "books balance", "by %s: %.3f J, in all %.3f to "
                                      "%.3f J" % (by, value, before[0], after[0]))


def check_store(arena):
    """`corgi store check`, which reads beside the daemon."""
    result = subprocess.run(
        ["nice", "-n", "10", os.path.join(arena.build, "bin/corgi"), "store", "check",
         os.path.join(arena.state, "corgi.db")],
        capture_output=True, text=True, timeout=120, check=False)
    if result.returncode != 0:
        arena.chaos.violation(arena, "books balance", "store check: %s"
                              % (result.stdout + result.stderr)[-600:])


def all_jobs(arena):
    """Every job the daemon has."""
    jobs, after = [], None
    connection = arena.connect(30)
    while True:
        path = "/v1/jobs?limit=500"
        if after is not None:
            path += "&after=%s" % after
        status, page = call(connection, "GET", path)
        assert status == 200, page
        jobs += page["jobs"]
        after = page.get("next")
        if after is None or not page["jobs"]:
            return jobs


def drain(arena, seconds):
    """Lets the queue run empty; cancels what is left."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        summary = arena.ask("/v1/summary", 30)
        if summary and summary["jobs"]["waiting"] + summary["jobs"]["running"] == 0:
            return
        time.sleep(0.3)
    for job in all_jobs(arena):
        if job["state"] not in FINAL and job["id"] in arena.known:
            arena.cancel(arena.connect(30), job["id"])


def check_end(arena, ledger):
    """All of it, when the faults are over.  The daemon still runs."""
    drain(arena, 40)
    arena.left_behind = await_no_process(arena, 45)
    for pid, job, comm in arena.left_behind:
        arena.chaos.violation(arena, "no process left", "%s (%d) of job %d" % (comm, pid, job))
    ledger.look()
    names = {}
    for job in all_jobs(arena):
        names.setdefault(job["name"], []).append(job["id"])
    for name, numbers in names.items():
        if len(numbers) > 1:
            arena.chaos.violation(arena, "nothing doubled", "%s is jobs %s" % (name, numbers))
    connection = arena.connect(60)
    for number, job in sorted(arena.known.items()):
        answer = check_job(arena, connection, number, job)
        if answer and arena.engine == "local":
            check_outcome(arena, ledger, number, job, answer)
    check_energy(arena)
    if arena.engine == "local":
        check_runs(arena, ledger)
    else:
        check_sim_journal(arena)


def check_outcome(arena, ledger, number, job, answer):
    """What the daemon says of a job's end against the job's own books."""
    excused = arena.excused.get(number)
    ended = ledger.ends.get(number, [])
    if answer["state"] == "done" and not ended:
        arena.chaos.violation(arena, "outcomes", "job %d is done and never ended" % number)
    if answer["state"] == "failed" and job["kind"] in ("plain", "liar") and not excused:
        arena.chaos.violation(arena, "outcomes", "job %d failed: %s"
                              % (number, answer.get("reason")))
    if answer["state"] in ("done", "failed") and answer["attempt"] == 1 and job["kind"] != "liar":
        own = ledger.steps.get((number, 1))
        if own is not None and answer["steps_done"] > own + 1e-6:
            arena.chaos.violation(arena, "outcomes", "job %d did %d steps, %s are told"
                                  % (number, own, answer["steps_done"]))


def check_runs(arena, ledger):
    """Nothing is done a second time, unless we killed the one who knew that it was done.  Nobody can
    tell a job that stopped as it was told, with status 0, from one that was done at that moment."""
    arena.counts["done when told to stop"] = ledger.told
    for job, attempt in ledger.again:
        kind = arena.known[job]["kind"] if job in arena.known else "?"
        if job not in arena.excused and kind != "killer":
            arena.chaos.violation(arena, "nothing doubled", "job %d (%s) was done and attempt "
                                  "%d began" % (job, kind, attempt))
    for job, attempts in ledger.starts.items():
        if attempts != sorted(attempts):
            arena.chaos.violation(arena, "no attempt twice", "job %d: %s" % (job, attempts))
        if job not in arena.known:
            arena.chaos.violation(arena, "nothing doubled", "job %d ran, nobody has it" % job)


def check_sim_journal(arena):
    """The simulated world's own journal: who really ran."""
    begun, done = {}, set()
    with open(os.path.join(arena.state, "sim-world.log"), encoding="ascii") as journal:
        for line in journal:
            words = line.split()
            if words[:1] not in (["start"], ["end"]) or not all(
                    word.isdigit() for word in words[1:3]) or len(words) < 5:
                continue  # or cut short by a full disk, which the world passes over too
            if words[0] == "start":
                job, attempt = int(words[1]), int(words[2])
                if job in done or attempt <= begun.get(job, 0):
                    arena.chaos.violation(arena, "nothing doubled", line.strip())
                begun[job] = attempt
            elif words[3] == "ended" and words[4] == "0":
                done.add(int(words[1]))
    arena.counts["begun"], arena.counts["done"] = len(begun), len(done)


def await_no_process(arena, seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        left = arena.processes()
        if not left:
            return []
        time.sleep(0.3)
    return left
