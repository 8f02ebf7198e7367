#!/usr/bin/env bats
# docs/security.md names a test for each thing that somebody could try: all of them exist.

@test "every test that the threat model names exists" {
    run python3 - "$BATS_TEST_DIRNAME/../.." << 'PY'
import os, re, sys

top = sys.argv[1]
text = open(os.path.join(top, "docs/security.md"), encoding="utf-8").read()
wrong, named = [], 0
# A file, and the names of its tests in quotes behind it.
for found in re.finditer(r'`(tests/[^`]+)`((?:[\s,;and]*"[^"]+")*)', text):
    path = os.path.join(top, found.group(1))
    if not os.path.exists(path):
        wrong.append(found.group(1) + " is not there")
        continue
    source = open(path, encoding="utf-8").read()
    for name in re.findall(r'"([^"]+)"', found.group(2)):
        name = " ".join(name.split())
        named += 1
        there = ('@test "%s"' % name in source if path.endswith(".bats")
                 else re.search(r"\b%s\b" % re.escape(name), source))
        if not there:
            wrong.append("%s has no test '%s'" % (found.group(1), name))
    if path.endswith("chaos/run"):
        faults = open(os.path.join(top, "tests/chaos/faults.py"), encoding="utf-8").read()
        for fault in re.findall(r"\(fault `([^`]+)`", text):
            if '"%s"' % fault not in faults:
                wrong.append("chaos has no fault '%s'" % fault)
print("\n".join(wrong))
print(named, "tests are named")
sys.exit(bool(wrong) or named < 20)
PY
    echo "$output"
    [ "$status" -eq 0 ]
}
