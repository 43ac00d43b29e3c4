"""Lines of cost against something, both axes logarithmic, as SVG without anything else."""
import math

COLOURS = {"anew": "#1f6fb4", "jax": "#d95f02", "torch": "#1b9e77", "numpy": "#7570b3"}
NAMES = {"anew": "anew", "jax": "JAX", "torch": "PyTorch", "numpy": "NumPy"}
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 420, 300, 64, 34, 90, 48


def ticks(low, high):
    """1, 2, 5, 10 ... between two numbers; only powers of ten where these are many."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    fine = [round(m * 10.0 ** p, 12) for p in powers for m in (1, 2, 5) if low <= m * 10.0 ** p <= high * 1.0000001]
    return fine if len(fine) <= 8 else [t for t in fine if math.isclose(math.log10(t), round(math.log10(t)))]


def picture(title, label, lines):
    """lines: who -> [(x, milliseconds)]"""
    points = [p for line in lines.values() for p in line]
    xs, ys = sorted({x for x, _ in points}), [y for _, y in points]
    low, high = min(ys) / 1.3, max(ys) * 1.3
    across = lambda x: LEFT + WIDTH * (math.log(x / xs[0]) / (math.log(xs[-1] / xs[0]) or 1))
    down = lambda y: TOP + HEIGHT * (1 - math.log(y / low) / math.log(high / low))
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + RIGHT} {TOP + HEIGHT + BOTTOM}" '
           'font-family="sans-serif" font-size="12">', '<rect width="100%" height="100%" fill="#fff"/>',
           f'<text x="{LEFT}" y="20" font-size="14">{title}</text>']
    for y in ticks(low, high):
        out.append(f'<path d="M{LEFT} {down(y):.1f}h{WIDTH}" stroke="#ddd"/>'
                   f'<text x="{LEFT - 6}" y="{down(y) + 4:.1f}" text-anchor="end">{y:g}</text>')
    for x in xs:
        out.append(f'<text x="{across(x):.1f}" y="{TOP + HEIGHT + 16}" text-anchor="middle">{x}</text>')
    out.append(f'<path d="M{LEFT} {TOP}V{TOP + HEIGHT}H{LEFT + WIDTH}" fill="none" stroke="#444"/>')
    out.append(f'<text x="{LEFT + WIDTH / 2}" y="{TOP + HEIGHT + 38}" text-anchor="middle">{label}</text>')
    middle = TOP + HEIGHT / 2
    out.append(f'<text x="16" y="{middle}" text-anchor="middle" transform="rotate(-90 16 {middle})">ms</text>')
    for i, (who, line) in enumerate(lines.items()):
        colour = COLOURS.get(who, "#666")
        path = "L".join(f"{across(x):.1f} {down(y):.1f}" for x, y in line)
        out.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out += [f'<circle cx="{across(x):.1f}" cy="{down(y):.1f}" r="3.5" fill="{colour}"/>' for x, y in line]
        name = NAMES.get(who, who)
        out.append(f'<text x="{LEFT + WIDTH + 14}" y="{TOP + 14 + 18 * i}" fill="{colour}">{name}</text>')
    return "\n".join(out) + "\n</svg>\n"


def curves(results):
    """What was varied -> (workload, who -> [(x, best milliseconds)])"""
    out = {}
    for r in results:
        if not r.get("curve"):
            continue
        what, x = r["curve"]
        workload, lines = out.setdefault(what, (r["workload"], {}))
        best = {}
        for c in r["contestants"]:
            if "best_ms" in c:
                best[c["peer"]] = min(best.get(c["peer"], math.inf), c["best_ms"])
        for who, ms in best.items():
            lines.setdefault(who, []).append((x, ms))
    return out
