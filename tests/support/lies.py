"""lies.py - ten users report over HTTP what their jobs do, one of them lies

Usage: lies.py SOCKET PORT SEED ROW

The daemon simulates a cluster with a stepped clock whose engine measures nothing, so all it
knows is what users tell it.  ROW is what the liar tells: "none" (the truth), or WHERE:HOW with
WHERE "own" (a family of its own) or "victim" (that of another user) and HOW a factor, "nan" or "mixed".
Printed is what the victim is then told: verdicts and estimates.
"""
import http.client
import json
import os
import random
import sys

sys.path.insert(0, os.path.dirname(__file__))
from api import Connection, call  # noqa: E402

TRUTH = {"k80": 0.55, "p100-16": 1.1, "v100-16": 1.74}
USERS = ["games", "bin", "sys", "daemon", "lp", "mail", "news", "uucp", "proxy", "man"]
VICTIM, LIAR = USERS[0], USERS[-1]
FAMILY = "games:train.py"


class Cluster:
    """Everybody's connections to one daemon."""

    def __init__(self, socket, port):
        self.root = Connection(socket)
        self.users = {}
        for user in USERS:
            status, made = call(self.root, "POST", "/v1/tokens", {"user": user, "role": "user"})
            assert status == 201, made
            self.users[user] = (http.client.HTTPConnection("127.0.0.1", port, timeout=30),
                                {"Authorization": "Bearer " + made["token"]})
        self.now_s = call(self.root, "GET", "/v1/version")[1]["now_s"]

    def call(self, user, method, path, body=None):
        connection, headers = self.users[user]
        return call(connection, method, path, body, headers)

    def advance(self, seconds):
        self.now_s += seconds
        while True:
            status, answer = call(self.root, "POST", "/v1/sim/advance", {"to_s": self.now_s})
            assert status == 200, answer
            if answer["there"]:
                return

    def submit(self, user, family, kind):
        status, answer = self.call(user, "POST", "/v1/jobs", {
            "name": family, "descriptor": {"family": family, "batch": 32}, "total_steps": 1e9,
            "types": [kind], "share": False, "move": False, "command": ["true"]})
        assert status == 201, answer
        return answer["job"]["id"]

    def tell(self, user, job, samples):
        self.call(user, "POST", "/v1/measurements", {"job": job, "samples": samples})


def lie(how, rate, turn, now_s, rng):
    """What the liar tells in place of a rate."""
    sample = {"at_s": now_s, "window_s": 20, "rate": rate}
    if how == "mixed":
        sample["rate"] = 1e9 if turn % 2 else 1e-9
        return [dict(sample, at_s=now_s + rng.choice([-500, 0, 0, 1000])) for _ in range(20)]
    sample["rate"] = rate * float(how)
    return [sample] * 5 + [dict(sample, at_s=now_s - 7)]


def verdict(cluster, family, rate):
    _, answer = cluster.call(VICTIM, "POST", "/v1/quotes", {"job": {
        "name": family, "descriptor": {"family": family, "batch": 32}, "total_steps": 1e6,
        "need": {"kind": "rate", "rate": rate}}})
    return answer["quote"]["verdict"]


def main():
    cluster = Cluster(sys.argv[1], int(sys.argv[2]))
    rng = random.Random(int(sys.argv[3]))
    where, _, how = sys.argv[4].partition(":")
    jobs = []
    for kind in ("k80", "v100-16"):
        jobs.append((VICTIM, cluster.submit(VICTIM, FAMILY, kind), kind))
    for user in USERS[1:-1]:
        kind = rng.choice(sorted(TRUTH))
        jobs.append((user, cluster.submit(user, user + ":job.py", kind), kind))
    for i in range(8):
        kind = sorted(TRUTH)[i % 3]
        family = FAMILY if where == "victim" else "man:own.py"
        jobs.append((LIAR, cluster.submit(LIAR, family, kind), kind))
    cluster.advance(120)
    for turn in range(10):
        cluster.advance(30)
        for user, job, kind in jobs:
            rate = TRUTH[kind] * rng.lognormvariate(0, 0.03)
            if user == LIAR and where != "none" and turn > 1:
                cluster.tell(user, job, lie(how, rate, turn, cluster.now_s, rng))
            else:
                cluster.tell(user, job, [{"at_s": cluster.now_s, "window_s": 20, "rate": rate}])
    cluster.advance(5)
    estimates = {}
    for user, job, kind in jobs[:2]:
        _, answer = cluster.call(VICTIM, "GET", f"/v1/estimates?job={job}&beside=none")
        for cell in answer["cells"]:
            estimates["%s of the job on %s" % (cell["type"], kind)] = cell["rate"]["value"]
    print(json.dumps({"once": verdict(cluster, FAMILY, 0.95 * TRUTH["k80"]),
                      "four times": verdict(cluster, FAMILY, 4 * TRUTH["v100-16"]),
                      "new program": verdict(cluster, "games:new.py", 0.5 * TRUTH["k80"]),
                      "estimates": estimates}))


main()
