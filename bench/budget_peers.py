#!/usr/bin/env python3
"""What others reach on the transformer of docs/performance.md (12 blocks) when they are to use less memory: JAX with
jax.checkpoint around 1, 2, 3 or 6 blocks and with its policies, the blocks one by one or (group 0) as a scan; PyTorch with torch.compile and its memory budget from 1 to 0. One
process a line: peak in MB (JAX: arguments + outputs + temporaries of the compiled program; PyTorch: weights and input + what the kernel saw
resident on top of them), best time of a step in ms. Needs jax and torch; nothing else in the repository does.

    budget_peers.py [jax] [torch]        all lines of these
    budget_peers.py one jax dots 1       one line
"""
import ctypes
import gc
import json
import math
import subprocess
import sys
import time

import numpy as np

LAYERS, D, HEADS, SEQ, BATCH, WORDS = 12, 256, 8, 128, 8, 512


def data():
    rng = np.random.default_rng(0)
    w = lambda *shape, scale=1.0, shift=0.0: (rng.uniform(-1, 1, shape) * scale + shift).astype(np.float32)
    r, o = math.sqrt(3 / D), 1 / math.sqrt(2 * LAYERS)
    blocks = [(w(D, scale=0.1, shift=1), w(D, scale=0.1), w(D, 3 * D, scale=r), w(3 * D, scale=0.02),
               w(D, D, scale=r * o), w(D, scale=0.02), w(D, scale=0.1, shift=1), w(D, scale=0.1),
               w(D, 4 * D, scale=r), w(4 * D, scale=0.02), w(4 * D, D, scale=0.5 * r * o), w(D, scale=0.02))
              for _ in range(LAYERS)]
    head = (w(D, scale=0.1, shift=1), w(D, scale=0.1), w(D, WORDS, scale=r))
    return blocks, head, w(BATCH, SEQ, D), rng.integers(0, WORDS, (BATCH, SEQ)).astype(np.int32)


def best(step, seconds=12.0, least=5):
    step()
    times, end = [], time.monotonic() + seconds
    while len(times) < least or time.monotonic() < end:
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


def run_jax(policy, group):
    import jax
    import jax.numpy as jnp

    def norm(x, g, b):
        c = x - jnp.mean(x, -1, keepdims=True)
        return c * jax.lax.rsqrt(jnp.mean(c * c, -1, keepdims=True) + 1e-5) * g + b

    def block(x, p):
        g1, b1, wqkv, bqkv, wo, bo, g2, b2, w1, c1, w2, c2 = p
        qkv = (norm(x, g1, b1) @ wqkv + bqkv).reshape(BATCH, SEQ, 3, HEADS, D // HEADS)
        q, k, v = (jnp.swapaxes(qkv[:, :, i], 1, 2) for i in range(3))
        s = jnp.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(D // HEADS)
        s = jax.nn.softmax(jnp.where(jnp.tril(jnp.ones((SEQ, SEQ), bool)), s, -1e9), -1)
        y = jnp.swapaxes(jnp.einsum("bhqk,bhkd->bhqd", s, v), 1, 2).reshape(BATCH, SEQ, D)
        x = x + y @ wo + bo
        return x + jax.nn.gelu(norm(x, g2, b2) @ w1 + c1, approximate=True) @ w2 + c2

    policies = {"nothing": None, "dots": jax.checkpoint_policies.dots_saveable,
                "dots_no_batch": jax.checkpoint_policies.dots_with_no_batch_dims_saveable}

    def blocks_of(x, ps):
        for p in ps:
            x = block(x, p)
        return x
    some = blocks_of if policy == "plain" else jax.checkpoint(blocks_of, policy=policies[policy], prevent_cse=group > 0)

    def loss(params, x, labels):
        blocks, (g, b, w) = params
        if group == 0:
            x, _ = jax.lax.scan(lambda x, p: (some(x, [p]), None), x, blocks)
        for i in range(0, LAYERS if group else 0, group or 1):
            x = some(x, blocks[i:i + group])
        logits = norm(x, g, b) @ w
        picked = jnp.take_along_axis(logits, labels[..., None], -1)[..., 0]
        return jnp.mean(jax.nn.logsumexp(logits, -1) - picked)

    blocks, head, x, labels = data()
    if group == 0:
        blocks = tuple(np.stack(a) for a in zip(*blocks))
    params = jax.device_put((blocks, head))
    x, labels = jax.device_put((x, labels))
    step = jax.jit(jax.value_and_grad(loss)).lower(params, x, labels).compile()
    m = step.memory_analysis()
    peak = m.argument_size_in_bytes + m.output_size_in_bytes + m.temp_size_in_bytes
    return peak, best(lambda: jax.block_until_ready(step(params, x, labels)))


def resident():
    with open("/proc/self/status") as f:
        text = f.read()
    of = lambda key: int(text.split(key + ":")[1].split()[0]) * 1024
    return of("VmRSS"), of("VmHWM")


def run_torch(budget):
    import torch
    import torch._functorch.config
    import torch.nn.functional as F
    torch._functorch.config.activation_memory_budget = budget
    torch.set_num_threads(2)
    blocks, head, x, labels = data()
    tensor = lambda a: torch.from_numpy(a).requires_grad_(a.dtype == np.float32)
    blocks, head = [[tensor(a) for a in b] for b in blocks], [tensor(a) for a in head]
    x, labels = torch.from_numpy(x), torch.from_numpy(labels).long().reshape(-1)
    mask = ~torch.ones(SEQ, SEQ, dtype=torch.bool).tril()
    leaves = [a for b in blocks for a in b] + head

    def loss(blocks, head, x, labels):
        for g1, b1, wqkv, bqkv, wo, bo, g2, b2, w1, c1, w2, c2 in blocks:
            h = F.layer_norm(x, (D,), g1, b1).reshape(-1, D)
            q, k, v = torch.addmm(bqkv, h, wqkv).reshape(BATCH, SEQ, 3, HEADS, D // HEADS).permute(2, 0, 3, 1, 4)
            s = (q @ k.transpose(-1, -2)) / math.sqrt(D // HEADS)
            y = (torch.softmax(s.masked_fill(mask, -1e9), -1) @ v).transpose(1, 2).reshape(-1, D)
            x = x + torch.addmm(bo, y, wo).reshape(x.shape)
            h = F.gelu(torch.addmm(c1, F.layer_norm(x, (D,), g2, b2).reshape(-1, D), w1), approximate="tanh")
            x = x + torch.addmm(c2, h, w2).reshape(x.shape)
        return F.cross_entropy(F.layer_norm(x, (D,), head[0], head[1]).reshape(-1, D) @ head[2], labels)

    compiled = torch.compile(loss)
    step = lambda: torch.autograd.grad(compiled(blocks, head, x, labels), leaves)
    step(), step()
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    with open("/proc/self/clear_refs", "w") as f:
        f.write("5")
    before = resident()[0]
    grads = step()
    peak = resident()[1] - before + sum(a.numel() * 4 for a in leaves) + x.numel() * 4 + labels.numel() * 8
    del grads
    return peak, best(step)


def main():
    if sys.argv[1:2] == ["one"]:
        which, *rest = sys.argv[2:]
        peak, ms = run_jax(rest[0], int(rest[1])) if which == "jax" else run_torch(float(rest[0]))
        print(json.dumps({"peer": which, "variant": " ".join(rest), "MB": round(peak / 1e6, 1), "ms": round(ms, 1)}))
        return
    which = sys.argv[1:] or ["jax", "torch"]
    lines = []
    if "jax" in which:
        lines += [("jax", "plain", "12"), ("jax", "plain", "0")]
        lines += [("jax", p, str(g)) for p in ("nothing", "dots", "dots_no_batch") for g in (0, 1, 2, 3, 6)]
    if "torch" in which:
        lines += [("torch", str(b / 10)) for b in range(10, -1, -1)]
    for line in lines:
        subprocess.run([sys.executable, __file__, "one", *line], check=False)


if __name__ == "__main__":
    main()
