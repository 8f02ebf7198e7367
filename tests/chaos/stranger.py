"""stranger.py - a plain user who means harm, for tests/chaos/run

stranger.py probe ENGINE JOB SECONDS   claims to be the probe of a job
stranger.py flood SOCKET ENGINE SECONDS SEED   sends all that hurts

ENGINE is the engine's folder: it tries every socket there.

As root it becomes the user `games` first.  It never reads slower or faster than it can; it
ends by itself.
"""
import ctypes
import glob
import json
import os
import random
import socket
import sys
import threading
import time

GAMES = 5


def drop():
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(60)
        os.setuid(GAMES)


def datagrams(engine, lines, until, pause_s):
    sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    sender.setblocking(False)
    while time.monotonic() < until:
        for path in glob.glob(os.path.join(engine, "*.sock")):
            for line in lines:
                try:
                    sender.sendto(line, path)
                except OSError:
                    break  # full, or not for us
        time.sleep(pause_s)


def probe(engine, job, seconds):
    ctypes.CDLL(None).prctl(15, b"corgi-probe", 0, 0, 0)  # PR_SET_NAME
    report = ("corgi=1 kind=%s job=%d attempt=1 at=%f window=1 rate=123456 steps=1e9 "
              "source=heartbeat confidence=1")
    lines = [(report % (kind, job, time.time())).encode() for kind in ("started", "rate")]
    lines.append(b"corgi=1 kind=ended job=%d attempt=1 exit=0 signal=0" % job)
    datagrams(engine, lines, time.monotonic() + seconds, 0.1)


def requests(draw):
    deep = "[" * 2000 + "]" * 2000
    keys = "{" + ",".join('"k%d":%d' % (i, i) for i in range(20000)) + "}"
    while True:
        kind = draw.randrange(7)
        if kind == 0:
            yield "POST", "/v1/jobs", keys
        elif kind == 1:
            yield "POST", "/v1/quotes", deep
        elif kind == 2:
            yield "GET", "/v1/jobs?limit=500", ""
        elif kind == 3:
            yield "POST", "/v1/jobs/%d/cancel" % draw.randrange(1, 500), "{}"
        elif kind == 4:
            yield "POST", "/v1/measurements", json.dumps({"samples": [
                {"job": draw.randrange(1, 500), "at_s": time.time(), "window_s": 1,
                 "rate": draw.choice([1e9, 1e-9])} for _ in range(100)]})
        elif kind == 5:
            yield "GET", "/v1/energy?by=job", ""
        else:
            yield "PATCH", "/v1/jobs/%d" % draw.randrange(1, 500), '{"priority": 1000000}'


def flood(path, until, seed):
    draw = random.Random(seed)
    for method, target, body in requests(draw):
        if time.monotonic() > until:
            return
        try:
            connection = socket.socket(socket.AF_UNIX)
            connection.settimeout(2)
            connection.connect(path)
            head = ("%s %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                    "Content-Length: %d\r\n\r\n" % (method, target, len(body)))
            connection.sendall((head + body).encode())
            if draw.random() < 0.8:
                connection.recv(65536)
            if draw.random() < 0.3:
                connection.sendall(bytes(draw.randrange(256) for _ in range(200)))
            connection.close()
        except OSError:
            time.sleep(0.02)
        time.sleep(0.01)


def main():
    what, seconds = sys.argv[1], float(sys.argv[4])
    drop()
    until = time.monotonic() + seconds
    if what == "probe":
        probe(sys.argv[2], int(sys.argv[3]), seconds)
        return
    for number in range(4):
        threading.Thread(target=flood, daemon=True,
                         args=(sys.argv[2], until, int(sys.argv[5]) + number)).start()
    datagrams(sys.argv[3], [b"\x00\xff junk %d" % n for n in range(50)], until, 0.05)


if __name__ == "__main__":
    main()
