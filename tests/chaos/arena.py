"""arena.py - one daemon in a world of its own, the clients that use it, and their books

An arena knows what its daemon has acknowledged.  A request whose answer got lost is repeated
with its key until it is answered, so each key must end as one job.  Clients are threads; one
of them is a plain user where we may become one.
"""
import ctypes
import http.client
import os
import platform
import random
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from api import Connection, call  # noqa: E402
from world import World  # noqa: E402

BROKEN = (OSError, http.client.HTTPException)
ANSWER_S = 5.0  # the promise: every answer within this of a fault's end
QUEUE = 30      # clients wait while more than this wait
PLAIN_USER = 33
KINDS = ["plain"] * 10 + ["fails", "crashes", "stubborn", "leaves", "killer", "liar", "liar"]

LOCAL = """engine: local
state: %(disk)s/state
listen: {socket: %(folder)s/s}
planner: {gap: 0.2s, every: 1s, checkpoint: 20s}
local:
  gpus: true
  probe: %(probe)s
  window: 1s
  power_every: 1s
  output_mb: 1
  cpus:
    - {type: cpu-fast, cores: "0", quota: 0.2}
    - {type: cpu-slow, cores: "0", quota: 0.1}
    - {type: cpu-slow, cores: "0", quota: 0.1}
"""
SIM = """state: %(disk)s/state
listen: {socket: %(folder)s/s}
planner: {checkpoint: 20s}
sim: {speed: 600}
"""


def become(uid):
    """This thread alone: the C library's own would take all threads along."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(119, uid, uid, 0) != 0 or libc.syscall(117, uid, uid, 0) != 0:
        raise OSError(ctypes.get_errno(), "cannot become user %d" % uid)


def may_become():
    return os.geteuid() == 0 and platform.machine() == "x86_64"


class Arena:
    def __init__(self, engine, folder, build, seed, chaos):
        self.engine, self.folder, self.build, self.chaos = engine, folder, build, chaos
        os.makedirs(folder)
        os.makedirs(os.path.join(folder, "locks"))
        os.chmod(os.path.join(folder, "locks"), 0o777)
        self.ledger = os.path.join(folder, "ledger")
        with open(self.ledger, "w", encoding="ascii"):
            pass
        os.chmod(self.ledger, 0o666)
        self.world = World(folder, build)
        self.state = os.path.join(self.world.disk, "state")
        self.socket = os.path.join(folder, "s")
        self.log = os.path.join(folder, "log")
        self.config = os.path.join(folder, "c.yaml")
        with open(self.config, "w", encoding="ascii") as file:
            file.write((LOCAL if engine == "local" else SIM) % {
                "disk": self.world.disk, "folder": folder, "probe": self.world.probe()})
        self.random = random.Random("%s %s" % (seed, engine))
        self.lock = threading.Lock()  # guards what is below
        self.known = {}     # job number -> what was acknowledged
        self.unknown = []   # submissions whose answer got lost, to be repeated
        self.excused = {}   # job number -> which of our faults hit it
        self.counts = {"submitted": 0, "repeated": 0, "cancelled": 0, "refused": 0, "starts": 0,
                       "answers": 0}
        self.process = None
        self.expected_end = False
        self.closing = False  # only what got no answer is asked again
        self.over = False
        self.calm = 0       # counts up whenever a fault begins; even: no fault
        self.clients = []
        self.full = False       # the disk, by our doing
        self.strangers = set()  # pids of those who pretend to be probes
        self.joules = 0.0       # the largest sum told

    # ---- the daemon

    def launch(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [os.path.join(self.build, "bin/corgid"), "--config", self.config],
                env=self.world.environment(), stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=log)
        self.counts["starts"] += 1

    def end(self, number):
        """Ends the daemon by a signal and waits for it."""
        self.expected_end = True
        self.process.send_signal(number)
        status = self.process.wait(60)
        self.expected_end = False
        return status

    def connect(self, timeout=ANSWER_S):
        return Connection(self.socket, timeout)

    def ask(self, path, timeout=ANSWER_S):
        """The answer, or None where there was none."""
        try:
            status, answer = call(self.connect(timeout), "GET", path)
        except BROKEN:
            return None
        return answer if status == 200 else None

    def await_ready(self, limit_s):
        """Seconds until it reads and writes again; None: not within the limit."""
        begin = time.monotonic()
        while time.monotonic() - begin < limit_s:
            self.keep_alive()
            ready = self.ask("/readyz")
            if ready and ready.get("status") == "ready" and self.ask("/v1/summary"):
                if self.submit(self.connect(), self.draw_job(), wait=False):
                    return time.monotonic() - begin
            time.sleep(0.05)
        return None

    def keep_alive(self):
        """As systemd does: what ended with a failure is started again."""
        if self.process.poll() is not None and not self.over:
            time.sleep(0.5)
            self.launch()

    # ---- clients

    def draw_job(self):
        with self.lock:
            number = self.counts["submitted"] + len(self.unknown) + 1
            key = "%s-%d-%08x" % (self.engine, number, self.random.getrandbits(32))
            if self.engine == "sim":
                body = {"name": key, "total_steps": self.random.choice([2e3, 2e4, 2e5]),
                        "descriptor": {"family": "f%d" % self.random.randrange(6),
                                       "batch": 32}}
                return {"key": key, "body": body, "kind": "plain", "steps": 0}
            kind = self.random.choice(KINDS)
            steps = self.random.randrange(3, 30)
            shared = self.random.random() < 0.4
            body = {"name": key, "on_counter": "accept", "directory": "/tmp",
                    "share": shared, "total_steps": steps,
                    "stop_grace_s": self.random.choice([1, 2, 4]),
                    "descriptor": {"family": "chaos-%s" % kind, "batch": 1},
                    "command": [os.path.join(self.build, "tests/chaos_job"), self.folder,
                                kind, str(steps), str(self.random.choice([100, 300])),
                                "shared" if shared else "alone"]}
            return {"key": key, "body": body, "kind": kind, "steps": steps}

    def submit(self, connection, job, wait=True):
        """True when acknowledged.  Without an answer it is kept and repeated."""
        repeated = job.get("tries", 0) > 0
        job["tries"] = job.get("tries", 0) + 1
        job["uid"] = getattr(threading.current_thread(), "uid", 0)
        try:
            status, answer = call(connection, "POST", "/v1/jobs", job["body"],
                                  {"Idempotency-Key": job["key"]})
        except BROKEN:
            with self.lock:
                self.unknown.append(job)
            if wait:
                raise
            return False
        if status not in (200, 201):
            if status == 503 or status == 429:
                with self.lock:
                    self.counts["refused"] += 1
                    self.unknown.append(job)
                return False
            self.chaos.violation(self, "submission", "answered %s: %s" % (status, answer))
            return False
        number = answer["job"]["id"]
        with self.lock:
            other = self.known.get(number)
            if other and other["key"] != job["key"]:
                self.chaos.violation(self, "numbers", "job %d is %s and %s"
                                     % (number, other["key"], job["key"]))
            if not repeated and status == 200:
                self.chaos.violation(self, "numbers", "%s was there before" % job["key"])
            self.known[number] = job
            self.counts["submitted"] += 1
            self.counts["repeated"] += repeated
        return True

    def cancel(self, connection, number):
        status, _ = call(connection, "POST", "/v1/jobs/%d/cancel" % number, {})
        if status == 200:
            with self.lock:
                self.known[number]["cancelled"] = True
                self.counts["cancelled"] += 1

    def start_clients(self):
        uids = [0, 0]
        if may_become():
            uids.append(PLAIN_USER)
        for number, uid in enumerate(uids):
            self.clients.append(Client(self, number, uid))
        for client in self.clients:
            client.start()

    def processes(self):
        """Of its jobs: (pid, job, comm), of the attempts that run now."""
        mark = b"CORGI_ENGINE=%s/engine" % self.state.encode()
        found = []
        for name in os.listdir("/proc"):
            if not name.isdigit() or int(name) in self.strangers:
                continue
            try:
                with open("/proc/%s/environ" % name, "rb") as file:
                    words = file.read().split(b"\0")
                if mark not in words:
                    continue
                with open("/proc/%s/comm" % name, encoding="ascii") as file:
                    comm = file.read().strip()
                job = [w for w in words if w.startswith(b"CORGI_JOB_ID=")]
                found.append((int(name), int(job[0].split(b"=")[1]), comm))
            except (OSError, IndexError, ValueError):
                continue
        return found


class Client(threading.Thread):
    """Submits, cancels and looks until the run is over, whatever the daemon does."""

    def __init__(self, arena, number, uid):
        super().__init__(daemon=True)
        self.arena, self.uid = arena, uid
        self.random = random.Random("%s %d" % (arena.random.random(), number))

    def run(self):
        if self.uid:
            become(self.uid)
        while not self.arena.over:
            try:
                self.work(self.arena.connect(30))
            except BROKEN:
                time.sleep(0.2)

    def own(self, job):
        return job.get("uid", self.uid) == self.uid

    def work(self, connection):
        arena = self.arena
        while not arena.over:
            time.sleep(self.random.uniform(0.5, 2.5))
            status, summary = call(connection, "GET", "/v1/summary")
            if status != 200:
                continue
            arena.counts["answers"] += 1
            with arena.lock:
                again = next((j for j in arena.unknown if self.own(j)), None)
                if again:
                    arena.unknown.remove(again)
            if again:
                arena.submit(connection, again)
            elif summary["jobs"]["waiting"] < QUEUE and not arena.closing:
                arena.submit(connection, arena.draw_job())
            if self.random.random() < 0.12 and not arena.closing:
                with arena.lock:
                    mine = [n for n in list(arena.known)[-20:] if self.own(arena.known[n])]
                if mine:
                    arena.cancel(connection, self.random.choice(mine))


def wait_gone(process, seconds):
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait(10)
