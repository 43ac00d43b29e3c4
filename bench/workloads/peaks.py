#!/usr/bin/env python3
"""Whether every workload's planned peak is at or below the one that JAX reported: peaks.py workloads peers.jsonl

Nothing runs: a plan is known before. Fails where one is above, and where there is nothing to compare.
"""
import json
import re
import subprocess
import sys


def main():
    program, peers = sys.argv[1:]
    theirs = {}
    for line in open(peers):
        r = json.loads(line)
        if r["peer"] == "jax" and r.get("peak_bytes_reported"):
            theirs[r["workload"], r["variant"]] = r["peak_bytes_reported"]
    above, compared = [], 0
    for line in subprocess.run([program, "list"], check=True, capture_output=True, text=True).stdout.splitlines():
        name = tuple(line.split())
        if name not in theirs:
            continue
        plan = subprocess.run([program, "plan", *name], check=True, capture_output=True, text=True).stdout
        ours = int(re.match(r"peak +(\d+) bytes", plan).group(1))
        compared += 1
        if ours > theirs[name]:
            above.append(f"{line}: {ours} bytes, JAX {theirs[name]}")
    print("\n".join([*above, f"{compared - len(above)} of {compared} peaks at or below JAX's"]))
    return bool(above) or compared == 0


sys.exit(main())
