# shellcheck shell=bash
# corgid.bash - start and stop real daemons in a folder of their own, for bats
#
# Every daemon is started by corgid_start and stopped by its process id.  The folder is
# $CORGID_DIR, its socket $CORGID_DIR/s; the default config is a fast simulated cluster.

corgid_folder() {
    [ -z "${CORGID_DIR:-}" ] || rm -rf "$CORGID_DIR"
    CORGID_DIR=$(mktemp -d /tmp/corgid-test.XXXXXX)
    CORGID_SOCKET=$CORGID_DIR/s
    CORGID_PID=
    cat > "$CORGID_DIR/c.yaml" <<EOF
state: $CORGID_DIR/state
listen: {socket: $CORGID_SOCKET}
sim: {speed: ${CORGID_SPEED:-600}}
EOF
    export CORGID_DIR CORGID_SOCKET
}

corgid_start() { # [CONFIG]
    "$CORGI_BIN/corgid" --config "${1:-$CORGID_DIR/c.yaml}" 2>> "$CORGID_DIR/log" 3>&- &
    CORGID_PID=$!
    for _ in $(seq 600); do
        api_status GET /readyz | grep -q 200 && return 0
        kill -0 "$CORGID_PID" 2> /dev/null || break
        sleep 0.05
    done
    echo "the daemon did not come up:"
    cat "$CORGID_DIR/log"
    return 1
}

# End it as systemd would, and say how it ended.
corgid_stop() {
    kill "$CORGID_PID"
    wait "$CORGID_PID"
}

corgid_kill() {
    kill -9 "$CORGID_PID"
    wait "$CORGID_PID" || true
    CORGID_PID=
}

corgid_clean() {
    if [ -n "$CORGID_PID" ] && kill -0 "$CORGID_PID" 2> /dev/null; then
        kill "$CORGID_PID" || true
        wait "$CORGID_PID" || true
    fi
    local broken=0
    if grep -A 15 'Sanitizer\|runtime error:' "$CORGID_DIR/log" 2> /dev/null; then
        broken=1 # nobody else reads what it says
    fi
    rm -rf "$CORGID_DIR"
    return $broken
}

api() { # METHOD PATH [BODY [CURL-OPTION...]]
    local method=$1 path=$2 body=${3:-}
    shift 2
    [ $# -gt 0 ] && shift
    if [ -n "$body" ]; then
        set -- "$@" -H 'Content-Type: application/json' -d "$body"
    fi
    curl -s --max-time 20 --unix-socket "$CORGID_SOCKET" -X "$method" "$@" "http://corgi$path"
}

api_status() { # as api, but only the status
    local method=$1 path=$2 body=${3:-}
    shift 2
    [ $# -gt 0 ] && shift
    api "$method" "$path" "$body" -o /dev/null -w '%{http_code}' "$@"
}

# A member of the JSON on standard input: field job.state
field() {
    python3 -c '
import json, sys
value = json.load(sys.stdin)
for key in sys.argv[1].split("."):
    value = value[int(key)] if isinstance(value, list) else value[key]
print("null" if value is None else value)' "$1"
}

# A job like this, of these members without its need, was measured: its kind is known.
known_kind() { # MEMBERS [NEED]
    local id promise need=${2:-'{"kind": "rate", "rate": 1e-6}'}
    id=$(api POST /v1/jobs "{$1, \"need\": $need}" | field job.id)
    for _ in $(seq 400); do
        promise=$(api GET "/v1/jobs/$id" | field promise)
        [ "$promise" = given ] && break
        sleep 0.05
    done
    api POST "/v1/jobs/$id/cancel" > /dev/null
    [ "$promise" = given ]
}

# Wait until the job is in one of the states, "done" or "done|failed".
wait_state() { # ID STATES
    local state
    for _ in $(seq 400); do
        state=$(api GET "/v1/jobs/$1" | field state)
        case "|$2|" in *"|$state|"*) return 0 ;; esac
        sleep 0.05
    done
    echo "job $1 is $state, not $2"
    api GET "/v1/jobs/$1"
    tail -5 "$CORGID_DIR/log"
    return 1
}
