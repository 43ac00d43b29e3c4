#!/usr/bin/env python3
"""Tables of memory and compile time, as Markdown: table.py peers.jsonl ours.jsonl

Lines of `workloads` and of the programs of other libraries. Where a variant ran several times, the last line counts.
Ours stands beside the variant of the same name of JAX; torch and MLX have names of their own and are listed behind it.
"""
import json
import sys

SAME = {("convnet", "jit"): ["compile"], ("transformer", "ckpt"): ["compile_ckpt"], ("transformer", "plain"): ["compile"],
        ("mlp_deep", "plain"): ["compile"], ("mlp_deep", "ckpt"): ["compile_ckpt"], ("mlp_small", "plain"): ["compile"],
        ("mlp_small", "ckpt"): ["compile_ckpt"], ("wave2d", "scan"): ["compile_step"], ("lstm", "scan"): ["compile_step"],
        ("wave2d", "scan_sqrt"): ["compile_step_sqrt"], ("elementwise_f32", "jit"): ["compile"],
        ("elementwise_f64", "jit"): ["compile"], ("softmax_ce", "jit"): ["compile"], ("hvp", "plain"): ["compile"],
        ("per_example", "vmap"): ["compile"], ("compile_12", "plain"): ["compile"]}


def mb(b):
    return "–" if b is None else f"{b / 1e6:.4g}"


def main():
    runs, order = {}, []
    for name in sys.argv[1:]:
        for line in open(name):
            r = json.loads(line)
            key = (r["peer"], r["workload"], r["variant"])
            runs[key] = r
            if r["peer"] == "anew":
                order.append(key[1:])
    order = list(dict.fromkeys(order))

    print("| workload | variant | anew | JAX | ratio | anew, outputs + arena | torch.compile |\n|---|---|---|---|---|---|---|")
    for w, v in order:
        ours, jax = runs[("anew", w, v)], runs.get(("jax", w, v), {})
        if ours.get("peak_bytes_reported") is None:
            continue
        theirs = jax.get("peak_bytes_reported")
        torch = next((runs[("torch", w, t)] for t in SAME.get((w, v), []) if ("torch", w, t) in runs), {})
        print(f"| {w} | {v} | {mb(ours['peak_bytes_reported'])} | {mb(theirs)} | "
              f"{ours['peak_bytes_reported'] / theirs:.2f} | " if theirs else f"| {w} | {v} | {mb(ours['peak_bytes_reported'])} | – | – | ", end="")
        print(f"{mb(ours['output_bytes'] + ours['temp_bytes'])} | {mb(torch.get('peak_rss_delta_bytes'))} |")

    print("\n| workload | variant | anew | JAX | torch.compile |\n|---|---|---|---|---|")
    for w, v in order:
        ours, jax = runs[("anew", w, v)], runs.get(("jax", w, v), {})
        if ours.get("compile_s") is None:
            continue
        torch = next((runs[("torch", w, t)] for t in SAME.get((w, v), []) if ("torch", w, t) in runs), {})
        cpu = lambda r: f"{r['compile_cpu_s']:.2f}" if r.get("compile_cpu_s") else "–"
        print(f"| {w} | {v} | {cpu(ours)} | {cpu(jax)} | {cpu(torch)} |")


if __name__ == "__main__":
    main()
