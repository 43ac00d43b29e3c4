#!/usr/bin/env python3
"""Table and picture of modelled and measured extra time: extra_time.py lines.jsonl docs [cpu]

Lines of `workloads extra_time`. Of each plan within a budget that recomputes anything: what the model says it adds to
the time of the plain call, and what it adds; the last line of the table is the largest difference. The table goes to
performance.md, between its marks, the picture to extra_time.svg. `cpu`: by CPU time, where others use the machine.
"""
import json
import os
import sys

MARK = "<!-- extra_time -->\n"

COLOURS = ["#1f6fb4", "#d95f02", "#1b9e77", "#7570b3", "#e7298a", "#66a61e", "#a6761d", "#666666"]
WIDTH, HEIGHT, LEFT, TOP = 460, 460, 60, 20


def main():
    runs = {}
    for line in open(sys.argv[1]):
        r = json.loads(line)
        runs.setdefault((r["workload"], r["variant"]), {})[r["percent"]] = r
    measure = "cpu" if "cpu" in sys.argv[3:] else "wall"
    shown = {k: v for k, v in runs.items() if any(r["modelled"] > 0 for r in v.values())}
    folder = sys.argv[2]
    with open(os.path.join(folder, "performance.md")) as file:
        before, _, after = file.read().split(MARK)
    with open(os.path.join(folder, "performance.md"), "w") as file:
        file.write(MARK.join([before, "\n".join(table(shown, measure)) + "\n", after]))
    with open(os.path.join(folder, "extra_time.svg"), "w") as file:
        file.write(picture(shown, measure))


def table(shown, measure):
    percents = range(90, 30, -10)
    lines = ["| workload | variant | " + " | ".join(f"{p} %" for p in percents) + " |", "|---|---|" + "---|" * len(percents)]
    worst, threads = (0, ""), 0
    for (w, v), plans in shown.items():
        cells = []
        for p in percents:
            if p not in plans:
                cells.append("–")
                continue
            threads = plans[p]["threads"]
            m, t = 100 * plans[p]["modelled"], 100 * plans[p][measure]
            cells.append(f"{m:.1f} / {t:.1f}")
            worst = max(worst, (abs(m - t), f"{w} {v} at {p} %: {m:.1f} % modelled, {t:.1f} % measured"))
        lines.append(f"| {w} | {v} | " + " | ".join(cells) + " |")
    clock = "CPU time" if measure == "cpu" else "time"
    return lines + ["", "![measured against modelled extra time](extra_time.svg)", "", f"Modelled / measured, {threads} threads, {clock}. Worst error: {worst[0]:.1f} points ({worst[1]})."]


def picture(shown, measure):
    points = [(100 * r["modelled"], 100 * r[measure], i) for i, plans in enumerate(shown.values())
              for r in plans.values() if r["modelled"] > 0]
    most = max([10] + [max(x, y) for x, y, _ in points]) * 1.05
    least = min([0] + [y for _, y, _ in points])
    x_of = lambda x: LEFT + WIDTH * x / most
    y_of = lambda y: TOP + HEIGHT * (most - y) / (most - least)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 190} {TOP + HEIGHT + 50}" '
           'font-family="sans-serif" font-size="12">',
           f'<rect width="100%" height="100%" fill="#fff"/>',
           f'<path d="M{LEFT} {TOP}V{TOP + HEIGHT}H{LEFT + WIDTH}" fill="none" stroke="#444"/>',
           f'<path d="M{x_of(0):.1f} {y_of(0):.1f}L{x_of(most):.1f} {y_of(most):.1f}" stroke="#aaa" stroke-dasharray="4"/>']
    step = next(s for s in (1, 2, 5, 10, 20, 50, 100, 1000) if most / s <= 8)
    for k in range(0, int(most / step) + 1):
        out.append(f'<text x="{x_of(k * step):.1f}" y="{TOP + HEIGHT + 16}" text-anchor="middle">{k * step}</text>')
        out.append(f'<text x="{LEFT - 6}" y="{y_of(k * step) + 4:.1f}" text-anchor="end">{k * step}</text>')
    out.append(f'<text x="{LEFT + WIDTH / 2}" y="{TOP + HEIGHT + 40}" text-anchor="middle">modelled extra time, %</text>')
    out.append(f'<text x="16" y="{TOP + HEIGHT / 2}" text-anchor="middle" '
               f'transform="rotate(-90 16 {TOP + HEIGHT / 2})">measured extra time, %</text>')
    for x, y, i in points:
        out.append(f'<circle cx="{x_of(x):.1f}" cy="{y_of(y):.1f}" r="4" fill="{COLOURS[i % len(COLOURS)]}"/>')
    for i, (w, v) in enumerate(shown):
        y = TOP + 10 + 18 * i
        out.append(f'<circle cx="{LEFT + WIDTH + 16}" cy="{y - 4}" r="4" fill="{COLOURS[i % len(COLOURS)]}"/>')
        out.append(f'<text x="{LEFT + WIDTH + 26}" y="{y}">{w} {v}</text>')
    return "\n".join(out) + "\n</svg>\n"


if __name__ == "__main__":
    main()
