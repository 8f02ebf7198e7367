"""pages.py - submits jobs to the daemon and reads lists of them by pages of all sizes

Every list must have every job once and in order: one page that takes several turns of the
daemon, many small ones, and those of the three orders.
"""
import sys

from api import Connection, call

JOBS = 200


def read(connection, query, limit):
    jobs, after = [], None
    while True:
        path = "/v1/jobs?%slimit=%d%s" % (query, limit, "&after=" + after if after else "")
        status, page = call(connection, "GET", path)
        assert status == 200, page
        assert len(page["jobs"]) <= limit, len(page["jobs"])
        assert "total" not in page or page["total"] == JOBS, page["total"]
        jobs += page["jobs"]
        after = page["next"]
        if not after:
            return jobs


def main():
    connection, ids = Connection(sys.argv[1]), []
    for i in range(JOBS):
        status, answer = call(connection, "POST", "/v1/jobs",
                              {"hold": True, "total_steps": 5, "priority": i * 7 % 5})
        assert status == 201, answer
        ids.append((answer["job"]["id"], answer["job"]["priority"]))
    orders = {"": [i for i, _ in reversed(ids)],
              "state=held&": [i for i, _ in reversed(ids)],
              "state=active&order=oldest&": [i for i, _ in ids],
              "state=active&order=queue&":
                  [i for i, _ in sorted(ids, key=lambda job: (-job[1], job[0]))]}
    for query, expected in orders.items():
        for limit in (1000, JOBS, JOBS - 1, 64, 63, 7):
            found = [job["id"] for job in read(connection, query, limit)]
            assert found == expected, (query, limit, len(found), found[:9], expected[:9])
    print("%d jobs, every list whole" % JOBS)


main()
