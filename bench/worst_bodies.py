#!/usr/bin/env python3
"""worst_bodies.py - what others wait while one user sends the worst bodies there are

Usage: bench/worst_bodies.py BIN [--seconds S] [--rounds N] [--connections K] [--kind KIND]
                             [--kb N]

Starts BIN/corgid with a simulated cluster in a folder of its own.  A reader of another user
looks at jobs, devices and the summary all the while.  For each kind of body, S seconds
without and S seconds with a plain user who sends it over K connections as fast as the daemon
takes it, N times in turn, so that both are measured in the same minute of the same machine.
Prints a line a kind: the reader's p50, p99 and longest wait without and with, and p99 over
p99.

The attacker's requests that were refused for their rate cost them a pause, as Retry-After
says, but never more than a tenth of a second: they ask again early.
"""
import argparse
import json
import multiprocessing
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tests", "support"))
from api import Connection, call  # noqa: E402

READS = ("/v1/summary", "/v1/jobs/1", "/v1/devices", "/v1/jobs?limit=50")


def many_keys(size):
    return "{" + ",".join('"k%d":1' % i for i in range(size // 11)) + "}"


def one_string(size):
    return json.dumps({"hold": True, "environment": {"A": "x" * min(size - 60, 65000)}})


def full_environment(size):
    each = max(1, (size - 2000) // 1000 - 16)
    return json.dumps({"hold": True, "environment": {"NAME%d" % i: "y" * each for i in range(1000)}})


def escapes(size):
    return json.dumps({"hold": True, "name": "\u00e4" * (size // 6 - 20)})


def samples(_):
    one = {"at_s": 1, "window_s": 1, "rate": 1, "latency_s": 1, "median_s": 1, "busy": 1,
           "held": 1, "steps": 1, "device_watts": 1, "source": "log", "confidence": 1}
    return json.dumps({"job": 1, "samples": [one] * 1000})


def nested(size):
    return '{"a":' + "[" * (size // 2) + "]" * (size // 2) + "}"


def numbers(size):
    return '{"types":[' + ",".join(["1"] * (size // 2 - 20)) + "]}"


def questions(_):
    change = {"need": {"kind": "rate", "rate": 1}, "gpus": 2}
    return json.dumps({"job": {"total_steps": 1000}, "what_if": [change] * 8})


KINDS = {"keys": (many_keys, "/v1/jobs"), "numbers": (numbers, "/v1/jobs"),
         "nested": (nested, "/v1/jobs"), "escapes": (escapes, "/v1/jobs"),
         "string": (one_string, "/v1/jobs"), "environment": (full_environment, "/v1/jobs"),
         "too_large": (lambda size: " " * (size + 1000), "/v1/jobs"),
         "samples": (samples, "/v1/measurements"), "questions": (questions, "/v1/quotes")}


def quantile(seconds, q):
    ordered = sorted(seconds)
    return 1000 * ordered[min(len(ordered) - 1, int(q * len(ordered)))]


def start(program, folder):
    with open(folder + "/c.yaml", "w", encoding="ascii") as out:
        out.write("state: %s/state\nlisten: {socket: %s/s, tcp: '127.0.0.1:0'}\n"
                  "sim: {speed: 60}\n" % (folder, folder))
    log = open(folder + "/log", "wb")
    process = subprocess.Popen([program, "--config", folder + "/c.yaml"], stderr=log,
                               start_new_session=True)
    for _ in range(400):
        try:
            if call(Connection(folder + "/s"), "GET", "/readyz")[0] == 200:
                break
        except OSError:
            pass
        time.sleep(0.05)
    else:
        sys.exit("the daemon did not come up")
    with open(folder + "/log", encoding="utf-8") as text:
        return process, int(re.search(r"port=(\d+)", text.read()).group(1))


class Raw:
    """A connection that says prepared bytes and hears the status and the pause asked for."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, request):
        try:
            self.socket.sendall(request)
        except OSError:
            pass  # refused before it was read: the answer tells
        have = b""
        while b"\r\n\r\n" not in have:
            got = self.socket.recv(65536)
            if not got:
                return None, 0
            have += got
        head, rest = have.split(b"\r\n\r\n", 1)
        length = int(re.search(rb"Content-Length: (\d+)", head).group(1))
        while len(rest) < length:
            got = self.socket.recv(65536)
            if not got:
                return None, 0
            rest += got
        pause = re.search(rb"Retry-After: (\d+)", head)
        if b"Connection: close" in head:
            return int(head[9:12]), -1
        return int(head[9:12]), int(pause.group(1)) if pause else 0


def attack(port, request, ended, counts):
    answered = {}
    while not ended.is_set():
        try:
            raw = Raw(port)
            while not ended.is_set():
                status, pause = raw.ask(request)
                answered[status] = answered.get(status, 0) + 1
                if status is None or pause < 0:
                    if status == 429:
                        time.sleep(0.1)
                    break
                if pause:
                    time.sleep(min(pause, 0.1))
            raw.socket.close()
        except OSError:
            time.sleep(0.01)
    counts.put(answered)


def read(port, token, seconds):
    """Waits of a reader that asks every few milliseconds."""
    raw, took, until, at = Raw(port), [], time.time() + seconds, 0
    requests = [("GET %s HTTP/1.1\r\nHost: corgi\r\nAuthorization: Bearer %s\r\n\r\n"
                 % (path, token)).encode() for path in READS]
    while time.time() < until:
        asked = time.perf_counter()
        status, _ = raw.ask(requests[at % len(requests)])
        took.append(time.perf_counter() - asked)
        assert status == 200, status
        at += 1
        time.sleep(0.002)
    return took


def measure(kind, port, tokens, size, args):
    make, path = KINDS[kind]
    body = make(size)
    request = ("POST %s HTTP/1.1\r\nHost: corgi\r\nAuthorization: Bearer %s\r\nContent-Type: "
               "application/json\r\nContent-Length: %d\r\n\r\n%s"
               % (path, tokens["attacker"], len(body), body)).encode()
    without, beside, answered = [], [], {}
    for _ in range(args.rounds):
        without += read(port, tokens["reader"], args.seconds)
        ended, counts = multiprocessing.Event(), multiprocessing.Queue()
        attackers = [multiprocessing.Process(target=attack, args=(port, request, ended, counts))
                     for _ in range(args.connections)]
        for process in attackers:
            process.start()
        time.sleep(0.5)  # they have begun
        beside += read(port, tokens["reader"], args.seconds)
        ended.set()
        for process in attackers:
            for status, count in counts.get(timeout=60).items():
                answered[str(status)] = answered.get(str(status), 0) + count
        for process in attackers:
            process.join(timeout=60)
    figures = {"kind": kind, "bytes": len(body), "answers": answered}
    for name, took in (("without", without), ("with", beside)):
        figures[name] = {"reads": len(took), "p50_ms": round(quantile(took, 0.5), 2),
                         "p99_ms": round(quantile(took, 0.99), 2),
                         "max_ms": round(quantile(took, 1), 2)}
    figures["p99_ratio"] = round(figures["with"]["p99_ms"] / figures["without"]["p99_ms"], 2)
    print(json.dumps(figures), flush=True)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("bin")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--kind", choices=sorted(KINDS))
    parser.add_argument("--kb", type=int, default=256, help="of a body: the daemon's most")
    args = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="corgi-bodies-")
    process, port = start(os.path.join(args.bin, "corgid"), folder)
    try:
        local = Connection(folder + "/s")
        tokens = {name: call(local, "POST", "/v1/tokens", {"user": user, "role": "user"})[1]["token"]
                  for name, user in (("attacker", "games"), ("reader", "daemon"))}
        call(local, "POST", "/v1/jobs", {"total_steps": 1e12},
             {"Authorization": "Bearer " + tokens["reader"]})
        size = args.kb * 1024 - 100
        for kind in [args.kind] if args.kind else KINDS:
            measure(kind, port, tokens, size, args)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
