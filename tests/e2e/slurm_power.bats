#!/usr/bin/env bats
# What is known of a watched Slurm besides its jobs.  What GPUs and hosts draw: from exporters on the nodes where there are
# some, else from the model, marked so.  Real Slurm, a made-up page a node.
bats_require_minimum_version 1.5.0

load ../support/slurm.bash
load ../support/corgid.bash

setup_file() {
    slurm_needed
    NODES=2 EXTRA="PrivateData=jobs" slurm_start
}

teardown_file() {
    slurm_stop
}

setup() {
    slurm_needed
    CORGID_DIR=
    PAGES=
}

teardown() {
    [ -z "$PAGES" ] || kill "$PAGES" || true
    [ -z "${CORGID_DIR:-}" ] || corgid_clean
}

# Pages for node1 alone: 100 W and 50 W, counters of joules that fit, and 80 W of the host.
pages() {
    cat > "$CORGID_DIR/pages.py" << 'END'
import http.server, sys, time
began = time.time()

class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path != "/node1/metrics":
            self.send_error(404)
            return
        seconds = time.time() - began
        text = "".join(
            f'DCGM_FI_DEV_POWER_USAGE{{gpu="{g}",UUID="GPU-{g}"}} {watts}\n'
            f'DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{{gpu="{g}",UUID="GPU-{g}"}} {1000 * watts * seconds}\n'
            for g, watts in ((0, 100), (1, 50))) + f"node_rapl_package_joules_total {80 * seconds}\n"
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
print(server.server_port, flush=True)
server.serve_forever()
END
    python3 "$CORGID_DIR/pages.py" > "$CORGID_DIR/port" 3>&- &
    PAGES=$!
    within 50 test -s "$CORGID_DIR/port"
}

device() { # NAME JQ-EXPRESSION
    api GET "/v1/nodes/${1%%:*}" | jq -e ".devices[] | select(.name == \"$1\") | $2" > /dev/null
}

@test "exporters on nodes say what GPUs and hosts draw, the model says the rest" {
    local job
    advisor_folder "exporter: 'http://127.0.0.1:1/{node}/metrics'"
    pages
    sed -i "s|127.0.0.1:1/|127.0.0.1:$(cat "$CORGID_DIR/port")/|" "$CORGID_DIR/c.yaml"
    corgid_start
    within 150 device node1:0 '.watts == 100 and (.modelled | not)'
    device node1:1 '.watts == 50 and (.modelled | not)'
    within 50 device node2:0 '.modelled and .watts > 0' # idle, by its data sheet
    host_is_metered() {
        api GET /v1/nodes/node1 | jq -e '(.host_watts - 80 | fabs) < 8 and (.host_modelled | not)' > /dev/null
    }
    within 150 host_is_metered
    api GET /v1/nodes/node2 | jq -e '.host_modelled'
    # what was booked is what the meter counted: 100 W and 50 W, whatever the time
    metered() {
        [ "$(sqlite3 "$CORGID_DIR/state/corgi.db" "select sum(joules - modelled_joules) > 300 from energy where device = 'node1:0'")" = 1 ]
    }
    within 300 metered
    read -r first second <<< "$(sqlite3 -separator ' ' "$CORGID_DIR/state/corgi.db" \
        "select sum((joules - modelled_joules) * (device = 'node1:0')),
                sum((joules - modelled_joules) * (device = 'node1:1')) from energy")"
    awk -v a="$first" -v b="$second" 'BEGIN { exit !(a > 1.9 * b && a < 2.1 * b) }'
    # a job on a metered GPU gets its joules
    job=$(batch 4 --gres=gpu:1 -w node1)
    within 100 queue_is_empty
    within 50 record_is_complete
    [ "$(sqlite3 "$CORGID_DIR/state/corgi.db" "select sum(joules) > 50 from energy join jobs on jobs.id = energy.job where key = 'found:$job'")" = 1 ]
    # and advice says what was metered, of which jobs
    CORGI_SOCKET=$CORGID_SOCKET "$CORGI_BIN/corgi" advise --policy fifo --draws 1 > "$CORGID_DIR/advice"
    cat "$CORGID_DIR/advice"
    grep -q 'Metered were 1 jobs, ' "$CORGID_DIR/advice"
    # the page goes away: the model again, and it says so
    kill "$PAGES"
    PAGES=
    within 200 device node1:0 '.modelled'
}

@test "PrivateData that hides jobs is said; partition and account of a job are known" {
    local job
    said() { api GET /v1/summary | jq -r '.warnings[]' | grep -q 'PrivateData=jobs'; }
    known() { api GET '/v1/jobs?limit=50' | jq -e '.jobs[] | select(.name == "mine") | .partition == "main" and .engine_ref != null' > /dev/null; }
    advisor_folder
    corgid_start
    within 50 said
    job=$(batch 1 --gres=gpu:1 -J mine)
    within 50 known
    corgid_kill
    corgid_start
    known # also after a crash, running or ended
    within 100 queue_is_empty
    [ -n "$job" ]
    # what is advised on such a record says so too
    within 50 record_is_complete
    CORGI_SOCKET=$CORGID_SOCKET "$CORGI_BIN/corgi" advise --policy fifo --draws 1 > "$CORGID_DIR/advice"
    grep -q 'The daemon says: .*PrivateData=jobs' "$CORGID_DIR/advice"
}
