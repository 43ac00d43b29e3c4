"""Results as lines of a table: who is fastest, how far from the machine's limit, and whether all computed the same."""

COLUMNS = ("workload", "anew", "best", "median", "best peer", "best", "ratio", "x floor", "compile s", "peak MB",
           "equal")


def best_floors(one, other):
    """The higher ones of two measurements of the machine."""
    return [{k: max(x[k], y[k]) for k in x} for x, y in zip(one, other)]


def floor_ms(contestants, floors, cache_bytes, threads):
    """The least time that arithmetic, and arguments and results beyond the last cache, take at the rates of the
    machine."""
    ours = [c for c in contestants if c["peer"] == "anew" and c.get("flops") is not None]
    rates = next((f for f in floors if f["threads"] == threads), None)
    if not ours or not rates:
        return None
    flops = min(c["flops"] for c in ours)
    times = flops / rates["fma_f64" if ours[0]["double"] else "fma_f32"]
    moved = min(c["argument_bytes"] + c["output_bytes"] for c in ours)
    if moved > cache_bytes:
        times = max(times, moved / max(rates["read"], rates["write"], rates["triad"]))
    return times * 1e3 or None


def differences(contestants, tolerance, scaled):
    """Of every other program that computes the same: how far value and norm are from ours, as a multiple of the
    tolerance. scaled: a value is a sum that may cancel, and is held against the norm."""
    ours = next((c for c in contestants if c["peer"] == "anew" and "value" in c), None)
    out = {}
    for c in contestants:
        if not ours or c is ours or "value" not in c:
            continue
        far = 0.0
        for key in ("value", "grad_norm"):
            a, b = ours[key], c[key]
            scale = max(abs(a), abs(b), ours["grad_norm"] if scaled else 0.0) or 1.0
            far = max(far, abs(a - b) / scale / tolerance)
            far = float("inf") if a != a or b != b else far
        out[f"{c['peer']}:{c['variant']}"] = far
    return out


def line(result, floors, cache_bytes):
    """Of one row's contestants: the facts of its line."""
    timed = [c for c in result["contestants"] if "best_ms" in c]
    fastest = lambda some: min(some, key=lambda c: c["best_ms"], default=None)
    ours = fastest([c for c in timed if c["peer"] == "anew"])
    theirs = fastest([c for c in timed if c["peer"] != "anew"])
    floor = floor_ms(timed, floors, cache_bytes, result["threads"])
    far = differences(timed, result["tolerance"], result["set"] == "operations")
    return {"set": result["set"], "name": result["name"], "ours": ours, "theirs": theirs, "floor_ms": floor,
            "ratio": ours["best_ms"] / theirs["best_ms"] if ours and theirs else None,
            "of_floor": ours["best_ms"] / floor if ours and floor else None,
            "unequal": {k: v for k, v in far.items() if v > 2}, "compared": sum(not k.startswith("anew:") for k in far),
            "errors": {f"{c['peer']}:{c['variant']}": c["error"] for c in result["contestants"] if "error" in c}}


def time_text(ms):
    if ms is None:
        return "–"
    for unit, scale in (("s", 1e-3), ("ms", 1), ("us", 1e3)):
        if ms * scale >= 1 or unit == "us":
            return f"{ms * scale:.3g} {unit}" if ms * scale < 100 else f"{ms * scale:.0f} {unit}"


def peak_bytes(c, ours):
    """Arguments, results and temporaries; of those who do not report them, what the process grew by, and our
    arguments."""
    if c.get("peak_bytes_reported") is not None:
        return c["peak_bytes_reported"]
    if c.get("peak_rss_delta_bytes") is not None and ours and ours.get("argument_bytes") is not None:
        return c["peak_rss_delta_bytes"] + ours["argument_bytes"]
    return None


def cells(f):
    """A line as texts, in the order of COLUMNS. ~: no block of samples was undisturbed."""
    ours, theirs = f["ours"], f["theirs"]
    mark = lambda c: "" if c is None or c["undisturbed"] else "~"
    both = lambda text: " / ".join(text(c) for c in (ours, theirs) if c)
    mb = lambda c: "–" if (b := peak_bytes(c, ours)) is None else f"{b / 1e6:.3g}" if b < 1e9 else f"{b / 1e6:.0f}"
    seconds = lambda c: "–" if (s := c.get("compile_cpu_s")) is None else f"{s:.2g}" if s < 10 else f"{s:.0f}"
    equal = "NO: " + ", ".join(f["unequal"]) if f["unequal"] else "yes" if f["compared"] else "–"
    return (f["name"], ours["variant"] if ours else "failed",
            mark(ours) + time_text(ours["best_ms"]) if ours else "–", time_text(ours["median_ms"]) if ours else "–",
            f"{theirs['peer']}:{theirs['variant']}" if theirs else "–",
            mark(theirs) + time_text(theirs["best_ms"]) if theirs else "–",
            f"{f['ratio']:.2f}" if f["ratio"] else "–", f"{f['of_floor']:.3g}" if f["of_floor"] else "–",
            both(seconds), both(mb), equal)


def text_table(lines):
    """For a terminal: columns as wide as their widest cell, numbers to the right."""
    texts = [COLUMNS] + [cells(f) for f in lines]
    widths = [max(len(t[i]) for t in texts) for i in range(len(COLUMNS))]
    left = (0, 1, 4, 10)
    pad = lambda i, t: t.ljust(widths[i]) if i in left else t.rjust(widths[i])
    return "\n".join("  ".join(pad(i, t) for i, t in enumerate(row)).rstrip() for row in texts)


def markdown_table(lines):
    out = ["| " + " | ".join(COLUMNS) + " |", "|---|---|--:|--:|---|--:|--:|--:|--:|--:|---|"]
    return "\n".join(out + ["| " + " | ".join(cells(f)) + " |" for f in lines])
