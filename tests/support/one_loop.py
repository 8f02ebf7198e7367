#!/usr/bin/env python3
"""Requests for one_loop.bats, and how they are played on a daemon with a stepped clock.

one_loop.py make SEED COUNT START        prints requests, a line of JSON each
one_loop.py play SOCKET REQUESTS END     asks the daemon for them, at their times
one_loop.py quotes SOCKET                prints what its /metrics say of quotes, as the simulator does
"""
import http.client
import json
import random
import socket
import sys


def need_of(rng, kind):
    if kind == "inference":
        return {"kind": "service", "rate": round(rng.uniform(0.05, 6), 3)}
    if rng.random() < 0.2:
        return {"kind": "best_effort"}
    if rng.random() < 0.15:
        return {"kind": "rate", "rate": 1e7}  # nothing is that fast: a counter-offer
    return {"kind": "rate", "rate": round(rng.uniform(0.02, 3), 3)}


def make(seed, count, start):
    rng = random.Random(seed)
    at_s = start
    for number in range(count):
        at_s += round(rng.expovariate(1 / 240), 3) + 0.001
        kind = "inference" if rng.random() < 0.3 else "training"
        job = {
            "name": f"job-{number}",
            "kind": kind,
            "descriptor": {
                "family": f"family-{rng.randrange(7)}",
                "batch": rng.choice([8, 16, 64, 256]),
                "gmac_per_sample": round(rng.uniform(0.5, 30), 2),
            },
            "need": need_of(rng, kind),
            "priority": rng.choice([0, 0, 0, 5]),
        }
        if kind == "training":
            job["total_steps"] = round(rng.lognormvariate(9.5, 1.2), 1)
            job["gpus"] = rng.choice([1, 1, 1, 1, 2, 4])
            if rng.random() < 0.1:
                job["need"] = {"kind": "deadline", "within_s": 7200}
        else:
            job["duration_s"] = round(rng.uniform(1800, 14400), 1)
        if rng.random() < 0.06:
            job["memory_gb"] = 500  # fits nowhere
        print(json.dumps({"at_s": round(at_s, 3), "job": job}))


class Daemon(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=120)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(120)
        self.sock.connect(self.path)

    def ask(self, path, body):
        self.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        answer = self.getresponse()
        return answer.status, json.loads(answer.read())

    def advance(self, to_s):
        there = False
        while not there:
            status, answer = self.ask("/v1/sim/advance", {"to_s": to_s})
            if status != 200:
                sys.exit(f"advance: {status} {answer}")
            there = answer["there"]


def play(path, requests, end_s):
    daemon = Daemon(path)
    answers = {}
    for line in open(requests, encoding="utf-8"):
        request = json.loads(line)
        daemon.advance(request["at_s"])
        status, _ = daemon.ask("/v1/jobs", request["job"])
        answers[status] = answers.get(status, 0) + 1
    daemon.advance(end_s)
    print(answers)


def quotes(path):
    daemon = Daemon(path)
    daemon.request("GET", "/metrics")
    series = {}
    for line in daemon.getresponse().read().decode().splitlines():
        if line.startswith("corgi_quoted_"):
            name, value = line.rsplit(" ", 1)
            series[name] = int(float(value))

    def total(name, label=""):
        return sum(v for k, v in series.items() if k.split("{")[0] == name and label in k)

    kept = [
        f"kept at {level}: " + str(total("corgi_quoted_windows_kept_total", f'"{level}"'))
        for level in ("0.5", "0.8", "0.95")
    ]
    print("first windows at the quoted place:", total("corgi_quoted_windows_total"), end=", ")
    print(", ".join(kept))
    told = total("corgi_quoted_starts_total", '"yes"')
    print(f"starts told: {told}, well: {total('corgi_quoted_starts_good_total')}")


if __name__ == "__main__":
    if sys.argv[1] == "quotes":
        quotes(sys.argv[2])
    elif sys.argv[1] == "make":
        make(int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
    else:
        play(sys.argv[2], sys.argv[3], float(sys.argv[4]))
