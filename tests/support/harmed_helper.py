#!/usr/bin/env python3
"""harmed_helper.py - corgi-engine-slurm behind a line that harms its answers at random

    harmed_helper.py --seed N --until FILE HELPER ARGUMENT...

Requests pass as they are.  Of the answers one in some comes cut, twice, with a number nobody asked
for, far too long, late or with another version; or the line ends in the middle of one.  (Figures
that are wrong and look right nobody can tell.)  While FILE is there nothing is harmed.  What was
done is counted in FILE.done, a letter each.
"""
import argparse
import json
import os
import random
import subprocess
import sys
import threading
import time

HARM_IN = 4  # one answer of so many
HUGE = 40 << 20


def cut(line, draw):
    return line[:draw.randrange(len(line))] + b"\n"


def twice(line, _):
    return line + line


def of_nobody(line, draw):
    return json.dumps(dict(json.loads(line), id=draw.randrange(1, 1 << 40))).encode() + b"\n"


def huge(_, draw):
    return draw.choice([b"x", b"[", b'{"a":']) * (HUGE // 6) + b"\n"


def late(line, draw):
    time.sleep(draw.uniform(1, 4))
    return line


def version(line, draw):
    return json.dumps(dict(json.loads(line), version=draw.choice([0, 2, -1, 1e300, "1", None]))
                      ).encode() + b"\n"


def ends(line, draw):
    sys.stdout.buffer.write(line[:draw.randrange(len(line))])
    sys.stdout.flush()
    os._exit(draw.randrange(3))


HARMS = {"c": cut, "t": twice, "n": of_nobody, "h": huge, "l": late, "v": version, "e": ends}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--until", required=True)
    parser.add_argument("helper", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    # each start goes on where chance stood: the same harm at every beginning would stay there
    draw = random.Random(args.seed + os.getpid())
    helper = subprocess.Popen(args.helper, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def requests():
        for line in sys.stdin.buffer:
            helper.stdin.write(line)
            helper.stdin.flush()
        helper.stdin.close()

    threading.Thread(target=requests, daemon=True).start()
    for line in helper.stdout:
        if not os.path.exists(args.until) and draw.randrange(HARM_IN) == 0:
            kind = draw.choice(sorted(HARMS))
            with open(args.until + ".done", "a") as f:
                f.write(kind)
            line = HARMS[kind](line, draw)
        sys.stdout.buffer.write(line)
        sys.stdout.flush()
    return helper.wait()


if __name__ == "__main__":
    sys.exit(main())
