#!/usr/bin/env python3
"""Puts a run's results into docs/performance.md, between its marks, and its curves into docs/plots:

    ./dev bench --peers --json results.json && python3 bench/report.py results.json docs

Several files are parts of one run on one machine (--only). A table that the files have nothing of stays as it was.
"""
import json
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "harness"))
import plots
import rows
import table


def versions(report):
    names = {"jax": "JAX", "torch": "PyTorch", "numpy": "NumPy"}
    found = {}
    for r in report["results"]:
        for c in r["contestants"]:
            scipy = c["peer"] == "numpy" and c["variant"].startswith("scipy")
            if c["peer"] in names and "version" in c:
                found["SciPy" if scipy else names[c["peer"]]] = c["version"]
    return ", ".join(f"{k} {v}" for k, v in found.items()) or "nothing else"


def machine_text(report):
    m = report["machine"]
    size = lambda b: f"{b / 2**20:g} MiB" if b >= 2**20 else f"{b / 2**10:g} KiB"
    caches = ", ".join(f"{k} {size(v)}" for k, v in m["caches"].items())
    out = [f"Measured on {m['date']}: {m['processor']}, {m['cores']} cores, {caches}; {m['system']};",
           f"beside {versions(report)}. What the machine can do, measured in the same run:", "",
           "| threads | multiply-adds f32, GF/s | f64 | reading, GB/s | writing | a = b + s c |", "|--:" * 6 + "|"]
    for f in report["floors"]:
        rates = [f"{f[k] / 1e9:.3g}" for k in ("fma_f32", "fma_f64", "read", "write", "triad")]
        out.append(f"| {f['threads']} | " + " | ".join(rates) + " |")
    if report["quick"] or report["left_out"]:
        out.append("")
    if report["quick"]:
        out.append("This was one short round.")
    if report["left_out"]:
        out.append(f"There was no time for {'; '.join(report['left_out'])}.")
    return "\n".join(out)


def losses(lines):
    """Where a peer is faster, the worst first; what could not be measured undisturbed is left to the tables."""
    compared = [f for f in lines if f["ratio"] and f["set"] != "curves"]
    behind = sorted((f for f in compared if f["ratio"] > 1), key=lambda f: -f["ratio"])
    ahead = len(compared) - len(behind)
    out = [f"Of {len(compared)} lines, {ahead} are as fast as the best peer or faster. Slower are:", ""]
    for f in behind:
        t = f["theirs"]
        times = f"{table.time_text(f['ours']['best_ms'])} against {table.time_text(t['best_ms'])}"
        out.append(f"- {f['name']}: {f['ratio']:.2f} of {t['peer']}:{t['variant']} ({times})")
    failed = [f"{f['name']} ({who})" for f in lines for who in f["errors"]]
    if failed:
        out += ["", f"Did not run: {'; '.join(failed)}."]
    return "\n".join(out if behind or failed else [out[0].replace(" Slower are:", "")])


def between(text, mark, new):
    """The text with what lies between the two marks replaced."""
    mark = f"<!-- {mark} -->\n"
    parts = text.split(mark)
    if len(parts) != 3:
        sys.exit(f"performance.md must have {mark.strip()} twice")
    return mark.join([parts[0], new + "\n", parts[2]])


def joined(reports):
    first = reports[0]
    for r in reports[1:]:
        if r["machine"]["processor"] != first["machine"]["processor"]:
            sys.exit(f"of two machines: {first['machine']['processor']}, {r['machine']['processor']}")
        first["floors"] = table.best_floors(first["floors"], r["floors"])
        for key in ("results", "left_out"):
            first[key] += r[key]
        for key in ("quick", "small"):
            first[key] |= r[key]
    return first


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    report, folder = joined([json.load(open(name)) for name in sys.argv[1:-1]]), sys.argv[-1]
    if report["small"]:
        sys.exit("these are the small sizes of the tests, which say nothing about speed")
    path = os.path.join(folder, "performance.md")
    text = open(path).read()
    cache = max(report["machine"]["caches"].values(), default=0)
    lines = [table.line(r, report["floors"], cache) for r in report["results"]]
    text = between(text, "machine", machine_text(report))
    for name in rows.SETS:
        if name != "curves" and (part := [f for f in lines if f["set"] == name]):
            text = between(text, name, table.markdown_table(part))
    text = between(text, "losses", losses(lines))
    os.makedirs(os.path.join(folder, "plots"), exist_ok=True)
    for what, (workload, series) in plots.curves(report["results"]).items():
        with open(os.path.join(folder, "plots", f"cost_{what}.svg"), "w") as f:
            f.write(plots.picture(f"{workload}: value and gradient", what, series))
    with open(path, "w") as f:
        f.write(text)


if __name__ == "__main__":
    main()
