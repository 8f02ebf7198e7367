#!/usr/bin/env bats
# corgi slurm check: what of slurm.conf is fine, what must change, and why.
bats_require_minimum_version 1.5.0

load ../support/slurm.bash

setup() {
    slurm_needed
    export SLURM_LAB=
}

teardown() {
    slurm_stop
}

verdict() { # SETTING: of the last run with --json
    jq -r --arg setting "$1" '.[] | select(.setting == $setting) | .verdict' <<< "$output"
}

@test "a Slurm that is fit for advice: nothing for advice, what control would need is named" {
    slurm_start
    run -0 "$CORGI_BIN/corgi" slurm check
    [[ "$output" == *"0 before its advice can be trusted"* ]]
    run -0 --separate-stderr "$CORGI_BIN/corgi" slurm check --json
    [ "$(verdict PrivateData)" = fine ]
    [ "$(verdict JobSubmitPlugins)" = "for control" ]
    [ "$(verdict SuspendTime)" = "for control" ]
    [ "$(verdict 'GPU type' | sort -u)" = fine ]
}

@test "hidden jobs and unknown GPU types must change before advice, and slurm.types helps" {
    NODES=2 TYPES="gizmo v100" SHARDS=0 EXTRA=$'PrivateData=jobs\nMinJobAge=5' slurm_start
    run -1 --separate-stderr "$CORGI_BIN/corgi" slurm check --json
    [ "$(verdict PrivateData)" = "for advice" ]
    [ "$(verdict MinJobAge)" = "for advice" ]
    [ "$(verdict 'GPU type' | sort | tr '\n' ' ')" = "fine for advice " ]
    [ "$(verdict Nodes)" = "for control" ] # no shards
    grep -q 'slurm.types: {gizmo: CARD}' <<< "$output"
    echo 'slurm: {types: {gizmo: t4}}' > "$BATS_TEST_TMPDIR/c.yaml"
    run -1 --separate-stderr "$CORGI_BIN/corgi" slurm check --json --config "$BATS_TEST_TMPDIR/c.yaml"
    [ "$(verdict 'GPU type' | sort -u)" = fine ]
}

@test "of many nodes, which come in several answers, all are counted" {
    cat > "$BATS_TEST_TMPDIR/helper" << 'END'
#!/usr/bin/env python3
import json, sys
nodes = [{"name": f"n{i}", "state": "idle", "gres": "gpu:%s:2" % ("v100" if i < 600 else "gizmo")} for i in range(700)]
for line in sys.stdin:
    r = json.loads(line)
    answer = {"id": r["id"], "ok": True, "version": 1, "read_only": True, "conf": {}, "fresh": True, "gone": []}
    if r["op"] == "nodes":
        answer["rows"], nodes = nodes[:500], nodes[500:]
        answer["more"] = bool(nodes)
    print(json.dumps(answer), flush=True)
END
    chmod 755 "$BATS_TEST_TMPDIR/helper"
    run -1 --separate-stderr "$CORGI_BIN/corgi" slurm check --json --helper "$BATS_TEST_TMPDIR/helper"
    [ "$(jq -r '[.[] | select(.setting == "Nodes" or .setting == "GPU type") | .value] | join("; ")' <<< "$output")" = \
        "v100: 1200 GPUs on 600 nodes; gizmo: 200 GPUs on 100 nodes; 700 with GPUs, 0 without" ]
}

@test "no Slurm, no helper: a sentence" {
    run -1 "$CORGI_BIN/corgi" slurm check --helper /nonexistent
    [[ "$output" == *"cannot ask Slurm: the helper does not start"* ]]
    run -1 "$CORGI_BIN/corgi" slurm check --helper "unix:$BATS_TEST_TMPDIR/none"
    [[ "$output" == *"no helper listens at"* ]]
}
