"""malformed.py - requests that are wrong: 4xx, a JSON error that names the field, no change

Usage: malformed.py SOCKET
"""
import json
import os
import random
import socket as sockets
import sys

sys.path.insert(0, os.path.dirname(__file__))
from api import Connection, call  # noqa: E402

# body, field that must be named (None: any)
JOBS = [
    ({"gpus": 0}, "gpus"), ({"gpus": 1.5}, "gpus"), ({"gpus": "2"}, "gpus"),
    ({"gpus": 65}, "gpus"), ({"total_steps": -1}, "total_steps"),
    ({"total_steps": 1e300}, "total_steps"), ({"need": 3}, "need"), ({"need": {}}, "need.kind"),
    ({"need": {"kind": "rate"}}, "need.rate"),
    ({"need": {"kind": "rate", "rate": 0}}, "need.rate"),
    ({"need": {"kind": "service", "rate": 3}}, "need.kind"),
    ({"need": {"kind": "deadline", "within_s": 5}}, "total_steps"),
    ({"need": {"kind": "deadline"}, "total_steps": 5}, "need.deadline_s"),
    ({"need": {"kind": "deadline", "deadline_s": 5}, "total_steps": 5}, "need.deadline_s"),
    ({"need": {"kind": "rate", "rate": 1, "confidence": 1}}, "need.confidence"),
    ({"types": ["h100", "v100"]}, "types[0]"), ({"types": "v100"}, "types"),
    ({"types": ["v100"] * 65}, "types"), ({"name": ""}, "name"), ({"name": "x" * 80}, "name"),
    ({"name": "a\nb"}, "name"), ({"kind": "mining"}, "kind"), ({"unknown": 1}, "unknown"),
    ({"descriptor": {"batch": -1}}, "descriptor.batch"), ({"command": []}, "command"),
    ({"command": [""]}, "command[0]"), ({"directory": "relative"}, "directory"),
    ({"environment": {"A=B": "x"}}, "environment"), ({"environment": {"": "x"}}, "environment"),
    ({"priority": 1e9}, "priority"), ({"max_replicas": 0}, "max_replicas"),
    ({"max_replicas": 65}, "max_replicas"), ({"max_replicas": 2}, "max_replicas"),
    ({"scale_to_zero": True}, "scale_to_zero"), ({"scale_to_zero": 1}, "scale_to_zero"), ([], None), ("text", None), (None, None), (3, None),
]
TEXTS = ["{", "", "[" * 100000, '{"gpus": 1, "gpus": 2}', '{"gpus": NaN}', "\x00", "{}{}",
         '{"name": "\ud800"}'.encode("utf-8", "surrogatepass"), b'\xff\xfe{"gpus":1}']
QUERIES = ["state=sleeping", "state=", "limit=0", "limit=1001", "limit=x", "after=x", "after=0",
           "kind=3", "order=sideways", "order=queue", "from_s=-1", "from_s=nan", "what=ever",
           "limit=5&limit=6"]


def jobs(connection):
    return call(connection, "GET", "/v1/jobs?state=active")[1]["total"]


def refuse(connection, method, path, body, field):
    status, answer = call(connection, method, path, body)
    assert 400 <= status < 500, (method, path, str(body)[:80], status, answer)
    assert isinstance(answer, dict) and answer["error"]["message"], (body, answer)
    if field:
        assert answer["error"].get("field") == field, (str(body)[:80], answer)


def raw(path, text):
    """Bytes as they are; the status of the answer."""
    connection = sockets.socket(sockets.AF_UNIX)
    connection.settimeout(20)
    connection.connect(path)
    connection.sendall(text)
    answer = connection.recv(4096)
    connection.close()
    return int(answer.split()[1])


def wire(path):
    head = b"POST /v1/jobs HTTP/1.1\r\nContent-Type: application/json\r\n"
    for extra in [b"Host: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
                  b"Host: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
                  b"Content-Length: 2\r\n\r\n{}",
                  b"Host: x\r\nContent-Length: -1\r\n\r\n{}",
                  b"Host: x\r\nContent-Length: 99999999999\r\n\r\n",
                  b"Host: x\r\n" + b"A: b\r\n" * 10000 + b"\r\n"]:
        status = raw(path, head + extra)
        assert 400 <= status < 500, (extra[:60], status)


def mutate(draw, text):
    data = bytearray(text.encode())
    for _ in range(draw.randrange(1, 4)):
        at = draw.randrange(len(data))
        data[at:at + draw.randrange(2)] = bytes([draw.randrange(256)]) * draw.randrange(3)
    return bytes(data)


def million(path):
    """A million jobs in a list, a million samples: too large, or, where bodies may be that
    large, not a job, and not so many samples."""
    listed = "[" + ",".join(['{"gpus":1}'] * 10**6) + "]"
    samples = '{"job":1,"samples":[' + ",".join(['{"at_s":1,"window_s":1}'] * 10**6) + "]}"
    for route, text, field in (("/v1/jobs", listed, None), ("/v1/measurements", samples, "samples")):
        head = ("POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                "Content-Length: %d\r\n\r\n" % (route, len(text))).encode()
        connection = sockets.socket(sockets.AF_UNIX)
        connection.settimeout(60)
        connection.connect(path)
        try:
            connection.sendall(head + text.encode())
        except (BrokenPipeError, ConnectionResetError):
            pass  # refused by its length, before it was sent
        answer = connection.recv(65536).decode()
        connection.close()
        status, body = int(answer.split()[1]), json.loads(answer.split("\r\n\r\n", 1)[1])
        assert status in (400, 413), (status, body)
        assert body["error"]["message"]
        assert status == 413 or not field or body["error"]["field"] == field, body
    refuse(Connection(path), "POST", "/v1/measurements",
           {"job": 1, "samples": [{"at_s": 1, "window_s": 1}] * 1001}, "samples")


def main():
    path = sys.argv[1]
    connection = Connection(path)
    before = jobs(connection)
    for body, field in JOBS:
        refuse(connection, "POST", "/v1/jobs", json.dumps(body), field)
        quote = "job" + ("." + field if field else "")
        refuse(connection, "POST", "/v1/quotes", json.dumps({"job": body}),
               quote if field else None)
    for text in TEXTS:
        refuse(Connection(path), "POST", "/v1/jobs", text, None)
    refuse(Connection(path), "POST", "/v1/jobs", '{"name":"%s"}' % ("x" * (2 << 20)), None)
    for query in QUERIES:
        refuse(connection, "GET", "/v1/jobs?" + query, None, None)
    refuse(connection, "POST", "/v1/measurements",
           {"job": 1, "samples": [{"at_s": 1, "window_s": 0}]}, "samples[0].window_s")
    refuse(connection, "POST", "/v1/measurements",
           {"job": 1, "samples": [{"at_s": 1, "window_s": 1, "latency_s": -1}]},
           "samples[0].latency_s")
    refuse(connection, "PATCH", "/v1/policy", {"share": 9}, "share")
    refuse(connection, "PATCH", "/v1/policy", {}, None)
    refuse(connection, "GET", "/v1/jobs/0", None, None)
    refuse(connection, "GET", "/v1/jobs/x", None, None)
    refuse(connection, "GET", "/v1/nodes/none", None, None)
    refuse(connection, "GET", "/nothing", None, None)
    refuse(connection, "DELETE", "/v1/jobs", None, None)
    wire(path)
    million(path)
    assert jobs(Connection(path)) == before, "something was taken"
    draw, taken = random.Random(1), 0
    text = json.dumps({"hold": True, "name": "n", "gpus": 2, "need": {"kind": "rate", "rate": 1e8}})
    for _ in range(300):
        status, answer = call(Connection(path), "POST", "/v1/jobs", mutate(draw, text))
        assert status in (201, 400, 413, 415, 422), (status, answer)
        taken += status == 201
    assert jobs(Connection(path)) == before + taken
    assert call(Connection(path), "GET", "/readyz")[0] == 200
    print("all refused, nothing changed")


if __name__ == "__main__":
    main()
