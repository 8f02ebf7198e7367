#!/usr/bin/env python3
"""daemon_load.py - how many submissions a second, and how fast, with every answer on disk

Usage: bench/daemon_load.py BIN [--jobs N] [--clients K] [--rate R] [--speed X] [--dir DIR]
                            [--sbatch]

Starts BIN/corgid with a simulated cluster in a folder of its own and lets K clients submit
N jobs at R a second together (0: as fast as they can), each waiting for its answer; a
reader looks at jobs, devices, nodes, energy and the summary all the while, with plans and
training going on.  Then counts: no submission may be lost or doubled.  Prints JSON; with --sbatch the rate of sbatch
on the same machine stands beside it, or "skipped" where no Slurm answers.

Times are those of the clients, which are programs of this machine too: when it is busy with
other things they wait for a core as well.  "control" is what a route takes that touches
nothing, asked in between in the same way: the part of "read" that is not the daemon's work.
"server" has what the daemon measured, and the processor time its one thread for the state
works at a stretch and at what, which other load does not change.
"""
import argparse
import json
import multiprocessing
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tests", "support"))
from api import Connection, call  # noqa: E402


# What people and programs look at: jobs by page, from the store and from memory, one job,
# the cluster, its energy.
READS = (("summary", "/v1/summary"), ("job", "/v1/jobs/1"), ("devices", "/v1/devices"),
         ("nodes", "/v1/nodes"), ("jobs", "/v1/jobs?limit=50"),
         ("jobs_page", "/v1/jobs?limit=50&after=%d"),
         ("queue", "/v1/jobs?state=active&order=queue&limit=50"),
         ("energy", "/v1/energy?by=user"))
CONTROL = "/healthz"


def quantiles(seconds):
    ordered = sorted(seconds)
    if not ordered:
        return {}
    at = lambda q: round(1000 * ordered[min(len(ordered) - 1, int(q * len(ordered)))], 2)
    return {"count": len(ordered), "p50_ms": at(0.5), "p99_ms": at(0.99), "max_ms": at(1)}


def start(program, folder, speed):
    config = os.path.join(folder, "c.yaml")
    with open(config, "w", encoding="ascii") as out:
        out.write("state: %s/state\nlisten: {socket: %s/s}\nsim: {speed: %g}\n"
                  "limits: {requests_per_second: 0}\nplanner: {adapt_every: 10}\n" % (folder, folder, speed))
    log = open(os.path.join(folder, "log"), "wb")
    process = subprocess.Popen([program, "--config", config], stderr=log,
                               start_new_session=True)
    for _ in range(400):
        try:
            if call(Connection(folder + "/s"), "GET", "/readyz")[0] == 200:
                return process
        except OSError:
            pass
        time.sleep(0.05)
    sys.exit("the daemon did not come up")


class Reader:
    """Asks as cheaply as this language can, so that what is measured is the daemon: the
    request is made before the clock starts, the answer is taken as bytes, not parsed."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(30)
        self.socket.connect(path)
        self.buffer = bytearray(1 << 20)

    def ask(self, path):
        request = ("GET %s HTTP/1.1\r\nHost: corgi\r\n\r\n" % path).encode()
        view, have, whole = memoryview(self.buffer), 0, None
        asked = time.perf_counter()
        self.socket.sendall(request)
        while whole is None or have < whole:
            got = self.socket.recv_into(view[have:])
            if got == 0:
                sys.exit("the daemon closed the connection of a reader")
            have += got
            end = self.buffer.find(b"\r\n\r\n", 0, have) if whole is None else -1
            if end >= 0:
                at = self.buffer.find(b"Content-Length: ", 0, end) + 16
                whole = end + 4 + int(self.buffer[at:self.buffer.find(b"\r", at)])
        took = time.perf_counter() - asked
        return took, self.buffer[9:12] == b"200"


def read(path, ended, seconds):
    """In a process of its own, before the clients where a core is given away: they would
    hold it up.  Every read has a control next to it, a route that touches nothing: what
    that takes is the machine's, and the others' requests."""
    try:
        os.nice(-10)
    except OSError:
        pass
    reader, took, after = Reader(path), {name: [] for name, _ in READS}, 0
    took[CONTROL] = []
    while not ended.is_set():
        for name, target in READS:
            for which, where in ((name, target % after if "%d" in target else target),
                                 (CONTROL, CONTROL)):
                seconds_taken, well = reader.ask(where)
                if well:
                    took[which].append(seconds_taken)
                time.sleep(0.005)
        after += 97
    seconds.put(took)


class Load:
    def __init__(self, path, args):
        self.path, self.args = path, args
        self.lock = threading.Lock()
        self.submitted, self.reads, self.ids, self.statuses = [], {}, [], {}

    def client(self, k):
        connection = Connection(self.path)
        for i in range(k, self.args.jobs, self.args.clients):
            due = self.began + i / self.args.rate if self.args.rate else 0
            if due > time.time():
                time.sleep(due - time.time())
            body = {"name": "job-%d" % (i % 50), "total_steps": 1e4 + 1e3 * (i % 9),
                    "descriptor": {"family": "family-%d" % (i % 12), "batch": 8 << i % 4},
                    "need": {"kind": "rate", "rate": 0.001}}
            asked = time.time()
            status, answer = call(connection, "POST", "/v1/jobs", body,
                                  {"Idempotency-Key": "load-%d" % i})
            took = time.time() - asked
            with self.lock:
                self.submitted.append(took)
                self.statuses[status] = self.statuses.get(status, 0) + 1
                if status == 201:
                    self.ids.append(answer["job"]["id"])

    def run(self):
        self.began = time.time()
        clients = [threading.Thread(target=self.client, args=(k,))
                   for k in range(self.args.clients)]
        ended, seconds = multiprocessing.Event(), multiprocessing.Queue()
        reader = multiprocessing.Process(target=read, args=(self.path, ended, seconds))
        reader.start()
        for thread in clients:
            thread.start()
        for thread in clients:
            thread.join()
        self.took = time.time() - self.began
        ended.set()
        self.reads = seconds.get()
        reader.join()


def raise_priority():
    """Clients are other machines, as a rule; here they compete with all that runs.  Where
    sessions are scheduled as groups a priority counts only with one of their own."""
    try:
        os.nice(-10)
        if os.getpid() != os.getsid(0):
            os.setsid()
        with open("/proc/self/autogroup", "w", encoding="ascii") as group:
            group.write("-10")
    except OSError:
        pass


def count_stored(path):
    connection, after, ids = Connection(path), None, []
    while True:
        where = "/v1/jobs?limit=1000" + ("&after=" + after if after else "")
        _, page = call(connection, "GET", where)
        ids += [job["id"] for job in page["jobs"]]
        after = page["next"]
        if not after:
            return ids


def metric(text, name):
    values = [line.split()[-1] for line in text.splitlines() if line.startswith(name + " ")]
    return float(values[0]) if values else None


def histogram(text, name, label=""):
    """Upper bounds of the median, the 99th percentile and the largest, in ms."""
    buckets = []
    for line in text.splitlines():
        if line.startswith(name + "_bucket{") and label in line:
            bound = line.split('le="')[1].split('"')[0]
            buckets.append((float(bound.replace("+Inf", "inf")), float(line.split()[-1])))
    total = buckets[-1][1] if buckets else 0
    at = lambda q: next((1000 * b for b, n in buckets if n >= q * total), None)
    return {"count": total, "p50_below_ms": at(0.5), "p99_below_ms": at(0.99),
            "max_below_ms": str(at(1))} if total else {}


def works(text):
    """What the state's thread was busy with: seconds, times and the longest."""
    name, found = "corgi_loop_work_seconds", {}
    for line in text.splitlines():
        if line.startswith(name + "_sum{"):
            work = line.split('work="')[1].split('"')[0]
            label = 'work="%s"' % work
            found[work] = {"seconds": round(float(line.split()[-1]), 3),
                           **histogram(text, name, label)}
    return dict(sorted(found.items(), key=lambda item: -item[1]["seconds"]))


def sbatch_rate(count=400, clients=16):
    """Submissions a second of as many clients to the Slurm that sbatch reaches here."""
    if not shutil.which("sbatch"):
        return "skipped: no sbatch here"
    if subprocess.run(["sinfo", "-h"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                      check=False).returncode:
        return "skipped: sbatch is here, but no Slurm answers"
    took, failed = [], []

    def client(k):
        for _ in range(k, count, clients):
            asked = time.time()
            done = subprocess.run(["sbatch", "-H", "--output=/dev/null", "--wrap", "true"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  check=False)
            took.append(time.time() - asked)
            failed.append(done.returncode != 0)

    began = time.time()
    threads = [threading.Thread(target=client, args=(k,)) for k in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rate = count / (time.time() - began)
    subprocess.run(["scancel", "--state=PENDING", "--me"], stderr=subprocess.DEVNULL,
                   check=False)
    return {"clients": clients, "per_s": round(rate, 1), "failed": sum(failed),
            **quantiles(took)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin")
    parser.add_argument("--jobs", type=int, default=10000)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--rate", type=float, default=200)
    parser.add_argument("--speed", type=float, default=60)
    parser.add_argument("--dir")
    parser.add_argument("--sbatch", action="store_true",
                        help="the rate of sbatch beside it, where Slurm runs")
    args = parser.parse_args()
    raise_priority()
    # A session of its own does not hear the terminal: an end from outside ends the daemon too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
    folder = tempfile.mkdtemp(prefix="corgi-load.", dir=args.dir)
    process = start(os.path.join(args.bin, "corgid"), folder, args.speed)
    try:
        load = Load(folder + "/s", args)
        load.run()
        stored = count_stored(folder + "/s")
        _, text = call(Connection(folder + "/s"), "GET", "/metrics")
        rounds = metric(text, "corgi_decision_duration_seconds_count")
        result = {
            "jobs": args.jobs, "clients": args.clients, "rate_asked": args.rate,
            "rate": round(args.jobs / load.took, 1), "statuses": load.statuses,
            "submit": quantiles(load.submitted),
            "read": quantiles([t for name, _ in READS for t in load.reads[name]]),
            "control": quantiles(load.reads[CONTROL]),
            "read_each": {name: quantiles(load.reads[name]) for name, _ in READS},
            "lost": len(set(load.ids) - set(stored)),
            "doubled": len(stored) - len(set(stored)) + len(load.ids) - len(set(load.ids)),
            "stored": len(stored), "rounds": rounds,
            "round_mean_ms": round(1000 * (metric(
                text, "corgi_decision_duration_seconds_sum") or 0) / max(rounds or 1, 1), 1),
            "adaptations": metric(text, "corgi_model_adaptations_total"),
            "server": {
                "submit": histogram(text, "corgi_submission_duration_seconds"),
                "read": histogram(text, "corgi_http_request_duration_seconds",
                                  'method="GET"'),
                "loop_turn_cpu": histogram(text, "corgi_loop_turn_seconds"),
                "loop_work": works(text),
            },
            "cores": os.cpu_count(), "client_nice": os.nice(0), "load_average": os.getloadavg()[0],
        }
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        shutil.rmtree(folder)
    result["sbatch"] = sbatch_rate() if args.sbatch else "not asked for: --sbatch"
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
