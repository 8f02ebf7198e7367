"""access.py - every route of the table against everyone who may not use it

Usage: access.py SOCKET PORT API_H

The routes are read from src/http/api.h, so a new one is tested without a word here.
"""
import http.client
import os
import re
import sys

sys.path.insert(0, os.path.dirname(__file__))
from api import Connection, call  # noqa: E402

# Whoever may report with a job's token alone (REPORTER) is tested in probe_reports.bats; of others
# a user may.
RANK = {"NOBODY": 0, "VIEWER": 1, "USER": 2, "REPORTER": 2, "OPERATOR": 3}


def routes(path):
    with open(path, encoding="utf-8") as header:
        text = header.read().replace("\\\n", " ")
    found = re.findall(r'X\((\w+),\s*(\w+),\s*"([^"]+)",\s*(\w+)', text)
    assert len(found) >= 40, "the table was not found in " + path
    return found


def token(socket, user, role):
    status, made = call(Connection(socket), "POST", "/v1/tokens", {"user": user, "role": role})
    assert status == 201, made
    return made["token"]


def refused(port, method, path, bearer, wanted, operation):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    headers = {"Authorization": "Bearer " + bearer} if bearer else {}
    path = re.sub(r"\{\w+\}", "1", path)
    status, answer = call(connection, method, path, "{}" if method in ("POST", "PUT", "PATCH")
                          else None, headers)
    connection.close()
    assert status == wanted, (operation, method, path, status, answer)
    assert answer["error"]["code"] and answer["error"]["message"], answer


def main():
    socket, port, header = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    bearers = {"VIEWER": token(socket, "daemon", "viewer"), "USER": token(socket, "daemon", "user")}
    count = 0
    for operation, method, path, least in routes(header):
        if least == "NOBODY":
            continue
        refused(port, method, path, None, 401, operation)
        refused(port, method, path, "corgi-0123456789abcdef-" + "A" * 43, 401, operation)
        count += 2
        for role, bearer in bearers.items():
            if RANK[role] < RANK[least]:
                refused(port, method, path, bearer, 403, operation)
                count += 1
    other_users_jobs(socket, port, bearers["USER"])
    no_more_than_a_user_may(socket, port, bearers["USER"])
    print("%d refusals as they should be" % count)


def other_users_jobs(socket, port, bearer):
    """A user sees and touches his own jobs, not those of others; a viewer sees them."""
    own = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    headers = {"Authorization": "Bearer " + bearer}
    status, theirs = call(Connection(socket), "POST", "/v1/jobs",
                          {"hold": True, "command": ["secret"], "environment": {"KEY": "value"}})
    assert status == 201, theirs
    path = "/v1/jobs/%d" % theirs["job"]["id"]
    for method, what in [("GET", ""), ("GET", "/history"), ("GET", "/measurements"),
                         ("POST", "/cancel"), ("POST", "/hold"), ("POST", "/release"),
                         ("POST", "/requeue")]:
        status, answer = call(own, method, path + what, None, headers)
        assert status == 403, (method, what, status, answer)
    status, answer = call(own, "PATCH", path, {"priority": 1}, headers)
    assert status == 403, answer
    status, mine = call(own, "POST", "/v1/jobs", {"hold": True}, headers)
    assert status == 201, mine
    status, listed = call(own, "GET", "/v1/jobs", None, headers)
    assert [job["id"] for job in listed["jobs"]] == [mine["job"]["id"]], listed
    viewer = {"Authorization": "Bearer " + token(socket, "daemon", "viewer")}
    status, seen = call(own, "GET", path, None, viewer)
    assert status == 200 and "command" not in seen and "environment" not in seen, seen
    status, answer = call(own, "POST", "/v1/jobs/%d/cancel" % mine["job"]["id"], {}, headers)
    assert status == 200, answer


def no_more_than_a_user_may(socket, port, bearer):
    """A user goes before nobody else and blocks no device for a day; an operator may raise."""
    own = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    headers = {"Authorization": "Bearer " + bearer}
    for body, field in [({"priority": 1}, "priority"), ({"priority": 1000000}, "priority"),
                        ({"stop_grace_s": 301}, "stop_grace_s")]:
        status, answer = call(own, "POST", "/v1/jobs", dict(body, hold=True), headers)
        assert status == 400 and answer["error"]["field"] == field, (body, status, answer)
    status, mine = call(own, "POST", "/v1/jobs", {"hold": True, "priority": -5}, headers)
    assert status == 201, mine
    path = "/v1/jobs/%d" % mine["job"]["id"]
    status, answer = call(own, "PATCH", path, {"priority": 1}, headers)
    assert status == 400 and answer["error"]["field"] == "priority", answer
    status, answer = call(Connection(socket), "PATCH", path, {"priority": 1000000})
    assert status == 200 and answer["job"]["priority"] == 1000000, answer
    status, answer = call(own, "POST", path + "/cancel", {}, headers)
    assert status == 200, answer


if __name__ == "__main__":
    main()
