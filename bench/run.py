#!/usr/bin/env python3
"""Runs our workloads and those of other libraries beside each other and prints one table; `./dev bench` builds and
calls it.

Every line of the table is a contest (harness/rows.py): all programs are started, then asked for samples in turns,
while the others sleep, and again where something else used the machine meanwhile. What the machine can do at all is
measured in the same run (bench/floors). A column of two numbers is ours / the best peer's: CPU seconds to compile;
arguments, results and temporaries.
"""
import argparse
import datetime
import functools
import json
import os
import platform
import re
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "harness"))
import contest
import rows
import table


def arguments():
    about = "Measures ours and, with --peers, JAX, PyTorch, NumPy and SciPy in one run."
    p = argparse.ArgumentParser(prog="./dev bench", description=about)
    p.add_argument("filter", nargs="?", default="", help="only lines whose name matches this regular expression")
    p.add_argument("--peers", metavar="PYTHON", help="a Python that has the other libraries (./dev bench makes one)")
    p.add_argument("--only", choices=rows.SETS, help="one part: the workloads, single operations, other sizes, untuned "
                   "workloads, or the curves of the plots")
    p.add_argument("--without", metavar="NAMES", help="no variants that match this regular expression, such as "
                   "torch:compile, which takes most of the time")
    p.add_argument("--quick", action="store_true", help="one short round, nothing again: does everything run?")
    p.add_argument("--small", action="store_true", help="the small sizes of the tests")
    p.add_argument("--json", metavar="FILE", help="all results, for bench/report.py")
    p.add_argument("--minutes", type=float, default=24, help="start no more lines after so long (24)")
    p.add_argument("--list", action="store_true", help="name the lines and run nothing")
    p.add_argument("--build", default="build/release", help=argparse.SUPPRESS)
    return p.parse_args()


def machine():
    """Name, cores and the last cache of this machine."""
    models = [l.split(":", 1)[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")]
    caches, folder = {}, "/sys/devices/system/cpu/cpu0/cache"
    for index in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        if not index.startswith("index"):
            continue
        read = lambda name: open(os.path.join(folder, index, name)).read().strip()
        if read("type") != "Instruction":
            caches["L" + read("level")] = int(read("size").rstrip("K")) * 1024
    return {"processor": (models or [platform.machine()])[0], "cores": len(os.sched_getaffinity(0)), "caches": caches,
            "system": f"{platform.system()} {platform.release().split('-')[0]}",
            "date": datetime.date.today().isoformat()}


class Progress:
    """One line on a terminal that says what is going on; nothing elsewhere."""

    def __init__(self):
        self.head = ""

    def __call__(self, text):
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\033[K{self.head} {text}"[:118])
            sys.stderr.flush()

    def clear(self):
        if sys.stderr.isatty():
            sys.stderr.write("\r\033[K")


class Runner:
    def __init__(self, a):
        self.a, self.tell = a, Progress()
        self.program = os.path.join(a.build, "bench/workloads/workloads")
        listing = subprocess.run([self.program, "list", "--json"], check=True, capture_output=True, text=True).stdout
        self.known = {w["workload"]: w for w in map(json.loads, listing.splitlines())}
        self.cores = len(os.sched_getaffinity(0))
        self.rounds, self.seconds, self.repeats = (1, 0.05, 0) if a.quick else (4, 0.2, 3)

    def floors(self):
        """The best of three measurements of the machine, or of one."""
        self.tell("what the machine can do")
        command = [os.path.join(self.a.build, "bench/floors"), str(self.cores)]
        runs = [json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
                for _ in range(1 if self.a.quick else 3)]
        return functools.reduce(table.best_floors, runs)

    def makers(self, row, sizes, threads):
        size = ",".join(f"{k}={v}" for k, v in sizes.items())
        options = ["--threads", str(threads)] + (["--size", size] if size else [])
        for v in row.ours:
            command = [self.program, "serve", row.workload, v, *options]
            yield f"anew:{v}", lambda command=command, v=v: contest.Child(f"anew:{v}", command)
        for peer, v in row.peers if self.a.peers else ():
            if self.a.without and re.search(self.a.without, f"{peer}:{v}"):
                continue
            command = [self.a.peers, os.path.join(HERE, "peers", peer + "_peer.py"), row.workload, v, *options]
            yield f"{peer}:{v}", lambda command=command, name=f"{peer}:{v}": contest.Child(
                name, command, {"PYTHONDONTWRITEBYTECODE": "1"})

    def run(self, row):
        """All contestants of a row, measured."""
        known = self.known[row.workload]
        sizes = dict(known["small" if self.a.small else "full"])
        if not self.a.small:
            sizes.update(row.sizes)
        threads = row.threads or self.cores
        children = []
        try:
            contest.start_all(children, self.makers(row, sizes, threads), self.cores, self.tell)
            contest.race(children, self.rounds, self.seconds, self.repeats, self.tell)
        finally:
            for c in children:
                c.close()
        contestants = []
        for c in children:
            peer, variant = c.name.split(":")
            times = contest.summary(c.blocks) if c.blocks else {}
            contestants.append({**c.info, "peer": peer, "variant": variant, **times})
            if peer == "anew" and c.last_words:
                self.say(c.last_words)
        return {"set": row.set, "name": row.name, "workload": row.workload, "sizes": sizes, "threads": threads,
                "tolerance": known["tolerance"], "curve": row.curve, "contestants": contestants}

    def say(self, text):
        self.tell.clear()
        print(text, flush=True)


def chosen(a, cores):
    """The rows to run; at small sizes those that differ in their sizes would be one."""
    return [r for r in rows.all_rows(cores) if (not a.only or r.set == a.only) and re.search(a.filter, r.name)
            and not (a.small and r.set in ("sizes", "curves"))]


def save(a, report):
    if a.json:
        with open(a.json + ".part", "w") as f:
            json.dump(report, f, indent=1)
        os.replace(a.json + ".part", a.json)


def print_report(say, report):
    cache = max(report["machine"]["caches"].values(), default=0)
    lines = [table.line(r, report["floors"], cache) for r in report["results"]]
    for name in rows.SETS:
        if part := [f for f in lines if f["set"] == name]:
            say(f"\n{name}\n" + table.text_table(part))
    say("")
    for f in report["floors"]:
        say(f"{f['threads']} threads: {f['fma_f32'] / 1e9:.0f} GF/s in f32, {f['fma_f64'] / 1e9:.0f} in f64; reading "
            f"{f['read'] / 1e9:.1f} GB/s, writing {f['write'] / 1e9:.1f}, a = b + s c {f['triad'] / 1e9:.1f}")
    for f in lines:
        for who, error in f["errors"].items():
            say(f"{f['name']}, {who}: {error}")
    ratios = [f["ratio"] for f in lines if f["ratio"]]
    if ratios:
        say(f"{sum(r <= 1 for r in ratios)} of {len(ratios)} lines as fast as the best peer or faster")
    wrong = [f["name"] for f in lines if not f["ours"] or f["unequal"]]
    if wrong:
        say(f"failed, or not the results of the peers: {'; '.join(wrong)}")
    return not wrong


def main():
    a = arguments()
    runner = Runner(a)
    todo = chosen(a, runner.cores)
    if a.list:
        print("\n".join(f"{r.set:<12}{r.name}" for r in todo))
        return 0
    if not todo:
        sys.exit(f"no line matches {a.filter!r}; ./dev bench --list names them")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # by way of what ends the children
    start = time.monotonic()
    report = {"machine": machine(), "quick": a.quick, "small": a.small, "floors": runner.floors(), "results": [],
              "left_out": []}
    for i, row in enumerate(todo):
        runner.tell.head = f"[{i + 1}/{len(todo)}, {(time.monotonic() - start) / 60:.1f} min] {row.name}:"
        if time.monotonic() - start > 60 * a.minutes:
            report["left_out"].append(row.name)
            continue
        report["results"].append(runner.run(row))
        save(a, report)
    report["floors"] = table.best_floors(report["floors"], runner.floors())
    save(a, report)
    good = print_report(runner.say, report)
    if report["left_out"]:
        runner.say(f"no time was left for: {'; '.join(report['left_out'])}")
    return 0 if good else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("\nended")
