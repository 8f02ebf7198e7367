#!/usr/bin/env python3
"""streams.py - a thousand clients follow a daemon's events, some of them stalled

Usage: streams.py SOCKET PID CLIENTS STALLED JOBS

STALLED of the CLIENTS want to hear of everything and never read after they have asked, the
others follow jobs.  Meanwhile JOBS jobs are submitted.  All others must hear of every one of them, in order; submitting must not get
slow; the daemon's memory must not grow with what the stalled do not read.  Prints one line
and ends with status 1 when something of this does not hold.
"""
import json
import os
import selectors
import socket
import sys
import time

sys.path.insert(0, os.path.dirname(__file__))
from api import Connection, call  # noqa: E402

# Of memory for each client that keeps up, and for each that does not (docs/http.md: 256 kB
# and what the kernel and libevent hold beside).
GROWTH_CLIENT, GROWTH_STALLED, GROWTH_BASE = 40e3, 400e3, 30e6


class Client:
    def __init__(self, path, stalled):
        self.sock = socket.socket(socket.AF_UNIX)
        if stalled:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        self.sock.settimeout(30)
        self.sock.connect(path)
        what = b"" if stalled else b"?types=job"
        self.sock.sendall(b"GET /v1/events" + what + b" HTTP/1.1\r\nHost: corgi\r\n\r\n")
        self.sock.setblocking(False)
        self.rest, self.heard, self.last, self.disorder, self.closed = b"", set(), -1, 0, False

    def take(self):
        try:
            data = self.sock.recv(65536)
        except BlockingIOError:
            return
        if not data:
            self.closed = True
            return
        lines = (self.rest + data).split(b"\n")
        self.rest = lines.pop()
        for line in lines:
            if line.startswith(b"id:"):
                number = int(line[3:])
                self.disorder += number <= self.last
                self.last = number
            elif line.startswith(b"data:") and b'"what":"submitted"' in line:
                self.heard.add(json.loads(line[5:])["id"])


def rss_bytes(pid):
    with open("/proc/%d/statm" % pid, encoding="ascii") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main():
    path, pid, count, stalled, jobs = sys.argv[1], *map(int, sys.argv[2:6])
    before = rss_bytes(pid)
    clients = [Client(path, i < stalled) for i in range(count)]
    readers = clients[stalled:]
    wait = selectors.DefaultSelector()
    for client in readers:
        wait.register(client.sock, selectors.EVENT_READ, client)

    def listen(seconds):
        until = time.time() + seconds
        while True:
            for key, _ in wait.select(max(0, until - time.time())):
                key.data.take()
                if key.data.closed:
                    wait.unregister(key.data.sock)
            if time.time() >= until:
                return

    listen(1)
    connection, ids, took, peak = Connection(path), [], [], before
    # Long words make events that a stalled client's buffers cannot swallow.
    name = "n" * 79
    for i in range(jobs):
        asked = time.time()
        status, answer = call(connection, "POST", "/v1/jobs",
                              {"name": name, "total_steps": 1e9, "hold": i % 2 == 0})
        took.append(time.time() - asked)
        if status != 201:
            sys.exit("a submission was answered with %d: %s" % (status, answer))
        ids.append(answer["job"]["id"])
        if i % 2 == 0:
            call(connection, "POST", "/v1/jobs/%d/release" % ids[-1])
        listen(0)
        peak = max(peak, rss_bytes(pid))
    until = time.time() + 30
    while any(not c.closed and not set(ids) <= c.heard for c in readers) and time.time() < until:
        listen(0.2)
    peak = max(peak, rss_bytes(pid))
    text = call(connection, "GET", "/metrics")[1]
    held = {line.split()[0]: float(line.split()[1]) for line in text.splitlines()
            if line.startswith("corgi_event_")}
    missing = sum(not set(ids) <= c.heard for c in readers)
    closed = sum(c.closed for c in readers)
    disorder = sum(c.disorder for c in readers)
    allowed = GROWTH_BASE + GROWTH_CLIENT * count + GROWTH_STALLED * stalled + 3e4 * jobs
    took.sort()
    print("clients=%d stalled=%d jobs=%d missing=%d closed=%d disorder=%d rss_before_mb=%.1f "
          "rss_peak_mb=%.1f allowed_mb=%.1f streams=%d buffered_mb=%.1f submit_p50_ms=%.1f "
          "submit_max_ms=%.1f" %
          (count, stalled, jobs, missing, closed, disorder, before / 1e6, peak / 1e6,
           (before + allowed) / 1e6, held["corgi_event_streams"],
           held["corgi_event_buffered_bytes"] / 1e6, 1000 * took[len(took) // 2], 1000 * took[-1]))
    sys.exit(bool(missing or closed or disorder or peak > before + allowed))


if __name__ == "__main__":
    main()
