"""crash.py - kill -9 at random moments under load, and look for what was promised

Usage: crash.py CORGID FOLDER KILLS SEED

Starts the daemon, lets clients submit, cancel and look, kills it, starts it again; then
every submission that was acknowledged must be there with its id, its name and a history
that begins with its submission, and every acknowledged cancel must have held.  The world
behind the simulated engine keeps a journal of its own: no attempt began twice, and no job
began again after it was done.
"""
import http.client
import os
import random
import signal
import subprocess
import sys
import threading
import time
import uuid

sys.path.insert(0, os.path.dirname(__file__))
from api import Connection, call  # noqa: E402

CLIENTS = 4
BROKEN = (OSError, http.client.HTTPException)


class Daemon:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.socket = os.path.join(folder, "s")
        self.process = None

    def start(self):
        with open(os.path.join(self.folder, "log"), "ab") as log:
            self.process = subprocess.Popen(
                [self.program, "--config", os.path.join(self.folder, "c.yaml")],
                stderr=log, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        for _ in range(1200):
            try:
                if call(Connection(self.socket), "GET", "/readyz")[0] == 200:
                    return
            except BROKEN:
                pass
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        sys.exit("the daemon did not come up, see " + self.folder)

    def end(self, number):
        self.process.send_signal(number)
        return self.process.wait(60)


class Client(threading.Thread):
    """Submits until the daemon is gone; remembers what was acknowledged."""

    def __init__(self, daemon, seed, known):
        super().__init__(daemon=True)
        self.server, self.known = daemon, known
        self.random = random.Random(seed)
        self.trouble = None

    def submit(self, connection):
        key, name = uuid.uuid4().hex, "job-%d" % self.random.randrange(1000)
        body = {"name": name, "total_steps": self.random.choice([2e3, 2e5, 1e7]),
                "descriptor": {"family": "f%d" % self.random.randrange(6), "batch": 32}}
        status, answer = call(connection, "POST", "/v1/jobs", body, {"Idempotency-Key": key})
        if status != 201:
            self.trouble = "a submission was answered %s: %s" % (status, answer)
            return
        self.known[answer["job"]["id"]] = {"name": name, "key": key, "body": body}

    def cancel(self, connection):
        if not self.known:
            return
        job = self.random.choice(list(self.known))
        status, _ = call(connection, "POST", "/v1/jobs/%d/cancel" % job, {})
        if status == 200:
            self.known[job]["cancelled"] = True

    def run(self):
        try:
            connection = Connection(self.server.socket)
            while not self.trouble:
                self.submit(connection)
                if self.random.random() < 0.1:
                    self.cancel(connection)
        except BROKEN:
            pass  # killed


def history_with(connection, job, state):
    """The history; a state that was seen must be in it as soon as it is stored."""
    for _ in range(100):
        status, history = call(connection, "GET", "/v1/jobs/%d/history" % job)
        assert status == 200, history
        if ("waiting" if state == "held" else state) in [e["to"] for e in history["events"]]:
            return history
        time.sleep(0.02)
    raise AssertionError("job %d is %s and its history does not say so: %s"
                         % (job, state, history))


def check(daemon, known, sample):
    connection = Connection(daemon.socket)
    for job in sample:
        status, answer = call(connection, "GET", "/v1/jobs/%d" % job)
        assert status == 200, "job %d is lost: %s" % (job, answer)
        assert answer["name"] == known[job]["name"], answer
        if known[job].get("cancelled"):
            assert answer["state"] == "cancelled", answer
        history = history_with(connection, job, answer["state"])
        kinds = [event["kind"] for event in history["events"]]
        assert kinds[0] == "submitted" and kinds.count("submitted") == 1, kinds
        assert kinds.count("done") <= 1, kinds
        status, again = call(connection, "POST", "/v1/jobs", known[job]["body"],
                             {"Idempotency-Key": known[job]["key"]})
        assert status == 200 and again["job"]["id"] == job, (status, again)


def check_world(folder):
    """The simulated world's own journal: who really ran."""
    begun, done = {}, set()
    with open(os.path.join(folder, "state", "sim-world.log"), encoding="ascii") as journal:
        for line in journal:
            words = line.split()
            if words[:1] == ["start"]:
                job, attempt = int(words[1]), int(words[2])
                assert job not in done, "job %d began again after it was done" % job
                assert attempt > begun.get(job, 0), "attempt %d of %d twice" % (attempt, job)
                begun[job] = attempt
            elif words[:1] == ["end"] and words[3] == "ended" and words[4] == "0":
                done.add(int(words[1]))
    return len(begun), len(done)


def main():
    program, folder, kills, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    draw = random.Random(seed)
    daemon, known = Daemon(program, folder), {}
    try:
        play(daemon, known, draw, kills, seed)
        check(daemon, known, known)
        assert daemon.end(signal.SIGTERM) == 0
    finally:
        if daemon.process.poll() is None:
            daemon.end(signal.SIGKILL)
    begun, done = check_world(folder)
    print("%d kills, %d acknowledged, %d ran, %d done: none lost, none twice"
          % (kills, len(known), begun, done))


def play(daemon, known, draw, kills, seed):
    daemon.start()
    for kill in range(kills):
        clients = [Client(daemon, seed + 100 * kill + i, known) for i in range(CLIENTS)]
        for client in clients:
            client.start()
        time.sleep(draw.uniform(0.02, 0.6))
        daemon.end(signal.SIGKILL)
        for client in clients:
            client.join(60)
            assert not client.trouble, client.trouble
        daemon.start()
        recent = sorted(known)[-30:]
        check(daemon, known, set(recent + draw.sample(sorted(known), min(10, len(known)))))


if __name__ == "__main__":
    main()
