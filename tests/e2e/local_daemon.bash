# For bats: a daemon with the local engine in a folder, and talking to it.
# shellcheck shell=bash

daemon_get() {
    curl -sS --max-time 20 --unix-socket "$1/corgi.sock" "http://corgi$2"
}

# daemon_post DIR PATH [BODY]
daemon_post() {
    curl -sS --max-time 20 --unix-socket "$1/corgi.sock" -X POST \
        -H 'Content-Type: application/json' -d "${3:-{\}}" "http://corgi$2"
}

# write_config DIR: four CPU devices of three types on the first and the last core
write_config() {
    local last=$(($(nproc) - 1))

    cat > "$1/corgi.yaml" << YAML
engine: local
state: $1/state
listen: {socket: $1/corgi.sock}
planner: {gap: 0.2s, every: 1s}
local:
  gpus: false
  memory_cgroups: false
  window: 1s
  power_every: 1s
  output_mb: 2
  cpus:
    - {type: cpu-fast, cores: "0", quota: 1, memory_gb: ${2:-0}}
    - {type: cpu-mid, cores: "$last", quota: 0.5, memory_gb: ${2:-0}}
    - {type: cpu-slow, cores: "$last", quota: 0.25, memory_gb: ${2:-0}}
    - {type: cpu-slow, cores: "$last", quota: 0.25, memory_gb: ${2:-0}}
YAML
}

# start_daemon DIR: its process number is in DIR/pid
start_daemon() {
    # CORGI_LAUNCHER: words of a command that starts it, as a sandbox
    # shellcheck disable=SC2086
    ${CORGI_LAUNCHER:-} "$CORGI_BIN/corgid" --config "$1/corgi.yaml" >> "$1/log" 2>&1 3>&- &
    echo $! > "$1/pid"
    for _ in $(seq 300); do
        if [ "$(daemon_get "$1" /readyz 2> /dev/null | jq -r .status 2> /dev/null)" = ready ]; then
            return 0
        fi
        kill -0 "$(< "$1/pid")" 2> /dev/null || break
        sleep 0.1
    done
    cat "$1/log"
    return 1
}

# stop_daemon DIR [SIGNAL]
stop_daemon() {
    local pid

    pid=$(cat "$1/pid" 2> /dev/null) || return 0
    kill "-${2:-TERM}" "$pid" 2> /dev/null || return 0
    for _ in $(seq 150); do
        if ! kill -0 "$pid" 2> /dev/null; then
            return 0
        fi
        sleep 0.1
    done
    return 1
}

# submit_job DIR NAME MORE COMMAND: MORE is JSON of further keys; the answer is printed
submit_job() {
    daemon_post "$1" /v1/jobs "$(jq -cn --arg name "$2" --arg command "$4" "{$3} + {
        name: \$name, on_counter: \"accept\", directory: \"/tmp\", stop_grace_s: 2,
        command: [\"/bin/sh\", \"-c\", \$command]}")"
}

# await_state DIR JOB STATE SECONDS
await_state() {
    for _ in $(seq $((5 * $4))); do
        [ "$(daemon_get "$1" "/v1/jobs/$2" | jq -r .state)" = "$3" ] && return 0
        sleep 0.2
    done
    daemon_get "$1" "/v1/jobs/$2"
    return 1
}

# await_idle DIR SECONDS: no job waits or runs
await_idle() {
    for _ in $(seq $((4 * $2))); do
        [ "$(daemon_get "$1" /v1/summary |
            jq '.jobs.waiting + .jobs.running + .jobs.held')" = 0 ] && return 0
        sleep 0.25
    done
    daemon_get "$1" /v1/summary
    return 1
}

# await_file FILE SECONDS
await_file() {
    for _ in $(seq $((10 * $2))); do
        [ -s "$1" ] && return 0
        sleep 0.1
    done
    return 1
}

# processes_of DIR: numbers of the processes of jobs of the daemon there
processes_of() {
    grep -lzx "CORGI_ENGINE=$1/state/engine" /proc/[0-9]*/environ 2> /dev/null |
        cut -d / -f 3
}

no_process_of() {
    for _ in $(seq 100); do
        [ -z "$(processes_of "$1")" ] && return 0
        sleep 0.1
    done
    processes_of "$1"
    return 1
}

# is_gone PID: not there, or a zombie that its parent has not looked at yet
is_gone() {
    ! [ -e "/proc/$1/stat" ] || [[ $(< "/proc/$1/stat") == *") Z "* ]]
}

# await_gone PID SECONDS
await_gone() {
    for _ in $(seq $((10 * $2))); do
        is_gone "$1" && return 0
        sleep 0.1
    done
    return 1
}
