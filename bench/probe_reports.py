#!/usr/bin/env python3
"""probe_reports.py - probes of many nodes report to one daemon by TLS: what does it cost it?

    bench/probe_reports.py [--bin build/release/bin] [--nodes 64] [--seconds 60] [--cut 120]

A daemon with a simulated cluster that measures nothing by itself gets as many jobs as there are
nodes.  A real corgi-probe on each "node" reports once a second, through corgi-report and TLS.
Measured is the processor time of the daemon, against the same daemon with the same jobs before
the first probe.  With --cut the daemon is stopped (SIGSTOP) for so long in the middle: every
window must arrive afterwards, once and in order.
"""
import argparse
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

TICKS = os.sysconf("SC_CLK_TCK")


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("corgi")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


def api(path, method, where, body=None):
    connection = UnixConnection(path)
    connection.request(method, where, json.dumps(body) if body is not None else None,
                       {"Content-Type": "application/json"})
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    if answer.status >= 300:
        raise RuntimeError(f"{method} {where}: {answer.status} {text[:200]}")
    return json.loads(text)


def cpu_s(pid):
    with open(f"/proc/{pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start_daemon(args, folder, port):
    nodes = (args.nodes + 7) // 8
    with open(f"{folder}/cluster.yaml", "w") as f:
        f.write(f"nodes:\n  - {{gpu: v100, gpus: 8, count: {nodes}, name: gpu}}\n")
    with open(f"{folder}/c.yaml", "w") as f:
        f.write(f"state: {folder}/state\n"
                f"listen: {{socket: {folder}/s, tcp: \"127.0.0.1:{port}\", certificate: {folder}/cert.pem, "
                f"key: {folder}/key.pem}}\n"
                f"sim: {{speed: 1, measure: 24h, cluster_file: {folder}/cluster.yaml}}\n")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
                    "-keyout", f"{folder}/key.pem", "-out", f"{folder}/cert.pem"], check=True, stderr=subprocess.DEVNULL)
    daemon = subprocess.Popen([f"{args.bin}/corgid", "--config", f"{folder}/c.yaml"], stderr=open(f"{folder}/log", "w"))
    for _ in range(200):
        try:
            api(f"{folder}/s", "GET", "/readyz")
            return daemon
        except (OSError, RuntimeError):
            time.sleep(0.1)
    raise RuntimeError("the daemon did not come up: " + open(f"{folder}/log").read())


def running_jobs(folder, count):
    ids = [api(f"{folder}/s", "POST", "/v1/jobs", {"total_steps": 1e12, "share": False, "move": False})["job"]["id"]
           for _ in range(count)]
    for _ in range(600):
        listed = api(f"{folder}/s", "GET", f"/v1/jobs?state=running&limit={count}")
        if listed["total"] >= count:
            return ids
        time.sleep(0.1)
    raise RuntimeError(f"{listed['total']} of {count} jobs run")


def start_probe(args, folder, port, number, job, seconds):
    token = api(f"{folder}/s", "POST", f"/v1/jobs/{job}/token", {})["token"]
    environment = dict(os.environ, CORGI_JOB_TOKEN=token, CORGI_SPOOL=f"{folder}/spool-{number}",
                       SLURMD_NODENAME=f"node{number}", SLURM_JOB_ID=str(4711 + number))
    script = f"i=0; end=$(($(date +%s) + {seconds})); while [ $(date +%s) -lt $end ]; do i=$((i+10)); " \
             "echo \"step $i/1000000\"; sleep 1; done"
    return subprocess.Popen([f"{args.bin}/corgi-probe", "--report", f"https://localhost:{port}",
                             "--report-ca", f"{folder}/cert.pem", "--window", "1", "--", "sh", "-c", script],
                            stdout=subprocess.DEVNULL, env=environment)


def windows(folder, job):
    points = api(f"{folder}/s", "GET", f"/v1/jobs/{job}/measurements?limit=1000")["points"]
    return [p["at_s"] for p in points if p["source"] == "log"]


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--bin", default="build/release/bin")
    p.add_argument("--nodes", type=int, default=64)
    p.add_argument("--seconds", type=int, default=60)
    p.add_argument("--cut", type=int, default=0, help="stop the daemon for so many seconds")
    args = p.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    folder = tempfile.mkdtemp(prefix="corgi-reports-")
    port = free_port()
    daemon, probes = None, []
    try:
        daemon = start_daemon(args, folder, port)
        jobs = running_jobs(folder, args.nodes)
        time.sleep(3)
        began, used = time.time(), cpu_s(daemon.pid)
        time.sleep(20)
        idle = (cpu_s(daemon.pid) - used) / (time.time() - began)
        total = args.seconds + args.cut + 15
        probes = [start_probe(args, folder, port, n, job, total) for n, job in enumerate(jobs)]
        time.sleep(8)
        began, used = time.time(), cpu_s(daemon.pid)
        if args.cut:
            time.sleep(args.seconds / 2)
            os.kill(daemon.pid, signal.SIGSTOP)
            time.sleep(args.cut)
            os.kill(daemon.pid, signal.SIGCONT)
            time.sleep(args.seconds / 2)
        else:
            time.sleep(args.seconds)
        busy = (cpu_s(daemon.pid) - used) / (time.time() - began)
        for probe in probes:
            probe.wait(timeout=120)
        probes = []
        time.sleep(20)  # the last ones are on their way
        arrived, out_of_order, twice, gap = 0, 0, 0, 0
        for job in jobs:
            at = windows(folder, job)
            arrived += len(at)
            out_of_order += at != sorted(at)
            twice += len(at) - len(set(at))
            gap = max([gap] + [b - a for a, b in zip(at, at[1:])])
        left = sum(name.endswith(".spool") for n in range(args.nodes) if os.path.isdir(f"{folder}/spool-{n}")
                   for name in os.listdir(f"{folder}/spool-{n}"))
        print(f"nodes {args.nodes}, a report a second each, for {args.seconds} s" +
              (f", daemon stopped for {args.cut} s" if args.cut else ""))
        print(f"daemon: {100 * busy:.2f} % of a core with reports, {100 * idle:.2f} % without")
        print(f"windows that arrived: {arrived}, {arrived / args.nodes / total:.2f} a node and second; out of order in "
              f"{out_of_order} jobs, twice {twice}, longest gap {gap:.1f} s; spools left {left}")
    finally:
        for probe in probes:
            probe.kill()
        if daemon:
            daemon.send_signal(signal.SIGCONT)
            daemon.terminate()
            daemon.wait()
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(0 if gap < 3.5 and twice == 0 and left == 0 else 1)


if __name__ == "__main__":
    main()
