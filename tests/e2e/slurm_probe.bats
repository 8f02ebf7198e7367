#!/usr/bin/env bats
# corgi-probe in jobs of a real Slurm: by hand with srun, and attached by the TaskProlog that ships.
bats_require_minimum_version 1.5.0

load ../support/slurm.bash
load ../support/corgid.bash

setup_file() {
    slurm_needed
    EXTRA="TaskProlog=$(readlink -f "$BATS_TEST_DIRNAME/../../packaging/slurm/taskprolog")" slurm_start
}

teardown_file() {
    slurm_stop
}

setup() {
    slurm_needed
    corgid_folder
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost \
        -addext subjectAltName=DNS:localhost -keyout "$CORGID_DIR/key.pem" -out "$CORGID_DIR/cert.pem" 2> /dev/null
    cat > "$CORGID_DIR/c.yaml" << END
state: $CORGID_DIR/state
listen: {socket: $CORGID_DIR/s, tcp: "127.0.0.1:$port", certificate: $CORGID_DIR/cert.pem, key: $CORGID_DIR/key.pem}
sim: {speed: 1, measure: 24h}
END
    corgid_start
    id=$(api POST /v1/jobs '{"total_steps": 1e9, "types": ["k80"], "move": false}' | field job.id)
    wait_state "$id" running
    export CORGI_REPORT=https://localhost:$port CORGI_REPORT_CA=$CORGID_DIR/cert.pem CORGI_SPOOL=$CORGID_DIR/spool
    export CORGI_PROBE=$CORGI_BIN/corgi-probe
    CORGI_JOB_TOKEN=$(CORGI_SOCKET=$CORGID_DIR/s "$CORGI_BIN/corgi" token job "$id")
    export CORGI_JOB_TOKEN
    cat > "$CORGID_DIR/job.sh" << 'END'
#!/bin/sh
echo "heartbeat=$CORGI_HEARTBEAT"
for i in $(seq 60); do
    "$CORGI_PROBE" --beat "steps=$((i * 5))"
    sleep 0.2
done
END
    chmod +x "$CORGID_DIR/job.sh"
}

teardown() { corgid_clean; }

sources() { api GET "/v1/jobs/$id/measurements?limit=1000" | jq -r '[.points[].source] | group_by(.) | map("\(.[0]):\(length)") | join(" ")'; }

heard() { # SOURCE
    for _ in $(seq 300); do
        [[ $(sources) == *"$1:"[1-9]* ]] && return 0
        sleep 0.1
    done
    sources
    return 1
}

@test "srun corgi-probe -- CMD works by hand, and ends as the command did" {
    cat > "$CORGID_DIR/count.sh" << 'END'
for i in $(seq 50); do echo "step $i/1000"; sleep 0.1; done
exit 7
END
    # The prolog attaches a probe here, too, which leaves the job to its own.
    run srun --export=ALL -N1 -n1 "$CORGI_PROBE" --window 1 -- sh "$CORGID_DIR/count.sh"
    echo "$output"
    [ "$status" -eq 7 ]
    [[ $output == *"step 50/1000"* ]]
    heard log
}

@test "a job that is not wrapped is measured by the probe that the TaskProlog attaches, which goes with it" {
    local slurm_id
    slurm_id=$(sbatch --parsable --export=ALL -N1 -o "$CORGID_DIR/out" "$CORGID_DIR/job.sh" 3>&-)
    heard heartbeat
    grep -q "heartbeat=/tmp/corgi-attach-.*-$slurm_id/heartbeat" "$CORGID_DIR/out"
    ! runs "$slurm_id" || within 300 sh -c "! squeue -h -j $slurm_id -t R -o %i | grep -q ."
    within 300 test ! -e "/tmp/corgi-attach-$(id -u)-$slurm_id"
}
