#!/usr/bin/env bash
# restart_queue.sh - how long a daemon with many jobs in its queue takes to come back
#
# Usage: bench/restart_queue.sh BIN [JOBS]
#
# Fills a store with JOBS (80000) jobs that wait, by copying a few that a daemon has taken,
# and starts BIN/corgid on it twice.  Prints for each start the seconds from the start of the
# process to the first answered read, how many of them it had a processor (on a machine that is
# busy with other things only these count), and the memory it has then (VmRSS, MB).
set -euo pipefail

bin=${1:?usage: bench/restart_queue.sh BIN [JOBS]}
jobs=${2:-80000}
dir=$(mktemp -d /tmp/corgi-restart.XXXXXX)
pid=
trap '[ -z "$pid" ] || kill "$pid" 2> /dev/null || true; rm -rf "$dir"' EXIT

cat > "$dir/c.yaml" << YAML
state: $dir/state
listen: {socket: $dir/s}
sim: {clock: stepped}
YAML

ask() { # METHOD PATH [BODY]
    curl -s --max-time 60 --unix-socket "$dir/s" -X "$1" -H 'Content-Type: application/json' \
        ${3:+-d "$3"} "http://corgi$2"
}

start() {
    began=$(date +%s.%N)
    "$bin/corgid" --config "$dir/c.yaml" 2>> "$dir/log" &
    pid=$!
    until [ "$(ask GET '/v1/jobs?limit=1' | head -c 8)" = '{"jobs":' ]; do
        kill -0 "$pid"
        sleep 0.02
    done
    ended=$(date +%s.%N)
    worked=$(awk -v ticks="$(getconf CLK_TCK)" '{sub(/.*\) /, ""); print ($12 + $13) / ticks}' "/proc/$pid/stat")
}

stop() {
    kill "$pid"
    wait "$pid" || true
    pid=
}

start
for i in 1 2 3 4 5 6 7 8; do
    ask POST /v1/jobs "{\"hold\": true, \"name\": \"job-$i\", \"total_steps\": 1e6, \"command\": [\"true\"],
        \"environment\": {\"PATH\": \"/usr/bin:/bin\", \"SEED\": \"$i\"},
        \"need\": {\"kind\": \"rate\", \"rate\": 0.001},
        \"descriptor\": {\"family\": \"family-$i\", \"batch\": 8}}" > /dev/null
done
stop
# The rows of each job, again and again under other numbers, and none of them held.
python3 - "$dir/state/corgi.db" "$jobs" << 'PYTHON'
import sqlite3
import sys

db, wanted = sqlite3.connect(sys.argv[1]), int(sys.argv[2])
columns = lambda table: [row[1] for row in db.execute("PRAGMA table_info(%s)" % table)]
db.execute("UPDATE jobs SET held = 0, reason = NULL")
for table, number in (("jobs", "id"), ("quotes", "job"), ("transitions", "job")):
    names = [name for name in columns(table) if name != "id"]
    rows = db.execute("SELECT id, %s FROM %s ORDER BY id" % (", ".join(names), table)).fetchall()
    top = rows[-1][0]
    insert = "INSERT INTO %s (id, %s) VALUES (?%s)" % (table, ", ".join(names), ", ?" * len(names))

    def copies():
        new = top
        for turn in range(1, (wanted + 7) // 8):
            for row in rows:
                new += 1
                values = list(row)
                values[0] = new
                if number == "job":
                    values[1 + names.index("job")] += 8 * turn
                else:
                    values[0] = row[0] + 8 * turn
                yield values

    db.executemany(insert, copies())
    db.execute("UPDATE sequences SET next = max(next, (SELECT max(id) + 1 FROM %s)) "
               "WHERE name LIKE '%s%%'" % (table, table.rstrip("s")))
db.commit()
PYTHON
for turn in first second; do
    start
    count=$(ask GET /v1/summary | python3 -c 'import json, sys; print(json.load(sys.stdin)["jobs"]["waiting"])')
    rss=$(awk '/VmRSS/ {printf "%.0f", $2 / 1024}' "/proc/$pid/status")
    echo "$turn start: $(python3 -c "print('%.2f s' % ($ended - $began))") to the first answer, $worked s of a processor; $count jobs wait, $rss MB"
    stop
done
