"""Shared by the programs of other libraries: their command line, inputs, and the samples they serve.

    python jax_peer.py WORKLOAD VARIANT --size layers=8,width=1024,batch=128 [--threads N]

prints one line of JSON: what compiling took, memory, value and norm of the gradients (or `error`). Then, for each
line of its input, a number of seconds, it prints a line of samples. bench/workloads does the same for ours
(`workloads serve`).
"""
import argparse
import ctypes
import gc
import json
import math
import os
import sys
import time


def bind():
    """This process to as many cores and threads as its command line says, before a library counts them."""
    cores = sorted(os.sched_getaffinity(0))
    threads = int(sys.argv[sys.argv.index("--threads") + 1]) if "--threads" in sys.argv else len(cores)
    os.sched_setaffinity(0, set(cores[:threads]))
    for key in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[key] = str(threads)


bind()
import numpy as np  # starts its threads

M32 = 0xFFFFFFFF


def job():
    """The command line."""
    p = argparse.ArgumentParser()
    p.add_argument("workload")
    p.add_argument("variant")
    p.add_argument("--size", default="", help="name=n,...: all sizes of the workload")
    p.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    a = p.parse_args()
    a.sizes = {k: int(v) for k, v in (part.split("=") for part in a.size.split(",") if part)}
    return a


# ---- inputs: a counter hash that any language repeats bit for bit
def hash_u32(seed, n):
    x = np.arange(n, dtype=np.uint32) + np.uint32((seed * 0x9E3779B9) & M32)
    x ^= x >> np.uint32(16)
    x *= np.uint32(0x7FEB352D)
    x ^= x >> np.uint32(15)
    x *= np.uint32(0x846CA68B)
    x ^= x >> np.uint32(16)
    return x


def fill(seed, shape, scale=1.0, dtype=np.float32, shift=0.0):
    """shift + scale * u, u uniform in [-1, 1) on a grid of 2^-23: exact before the two roundings of * and +."""
    dtype = np.dtype(dtype).type
    n = int(np.prod(shape)) if shape else 1
    u = (hash_u32(seed, n) >> np.uint32(8)).astype(dtype) * dtype(2.0 ** -23) - dtype(1)
    u = u * dtype(scale)
    if shift:
        u = u + dtype(shift)
    return u.reshape(shape)


def ints(seed, shape, modulus):
    return (hash_u32(seed, int(np.prod(shape))) % np.uint32(modulus)).astype(np.int32).reshape(shape)


# ---- inputs of the workloads
def mlp_data(s):
    layers, d, batch = s["layers"], s["width"], s["batch"]
    r = math.sqrt(6.0 / d)
    w = [fill(100 + i, (d, d), r) for i in range(layers)]
    b = [fill(200 + i, (d,), 0.1) for i in range(layers)]
    return fill(1, (batch, d)), w, b


def mlp_direction(s):
    layers, d = s["layers"], s["width"]
    return [fill(300 + i, (d, d), 0.01) for i in range(layers)], [fill(400 + i, (d,), 0.01) for i in range(layers)]


def transformer_block(q, d, out):
    r = math.sqrt(3.0 / d)
    return (fill(q + 0, (d,), 0.1, shift=1.0), fill(q + 1, (d,), 0.1),
            fill(q + 2, (d, 3 * d), r), fill(q + 3, (3 * d,), 0.02),
            fill(q + 4, (d, d), r * out), fill(q + 5, (d,), 0.02),
            fill(q + 6, (d,), 0.1, shift=1.0), fill(q + 7, (d,), 0.1),
            fill(q + 8, (d, 4 * d), r), fill(q + 9, (4 * d,), 0.02),
            fill(q + 10, (4 * d, d), 0.5 * r * out), fill(q + 11, (d,), 0.02))


def transformer_data(s):
    layers, d, seq, batch, vocabulary = s["blocks"], s["width"], s["length"], s["batch"], s["vocabulary"]
    blocks = [transformer_block(1000 + 20 * i, d, 1.0 / math.sqrt(2.0 * layers)) for i in range(layers)]
    head = (fill(31, (d,), 0.1, shift=1.0), fill(32, (d,), 0.1), fill(33, (d, vocabulary), math.sqrt(3.0 / d)))
    return fill(30, (batch, seq, d)), ints(34, (batch, seq), vocabulary), blocks, head


def wave_data(s):
    n = s["side"]
    scale = n / 512
    i, j = np.meshgrid(np.arange(n, dtype=np.float64), np.arange(n, dtype=np.float64), indexing="ij")
    q = np.maximum(0.0, 1.0 - ((i - 256.0 * scale) ** 2 + (j - 200.0 * scale) ** 2) / (400.0 * scale))
    return fill(40, (n, n), 0.2, shift=1.0), (q * q).astype(np.float32)


def lstm_data(s):
    steps, d, batch = s["outer"] * s["inner"], s["width"], s["batch"]
    r = math.sqrt(3.0 / d)
    return fill(50, (steps, batch, d)), fill(51, (d, 4 * d), r), fill(52, (d, 4 * d), r), fill(53, (4 * d,), 0.1)


def logreg_data(s):
    rows, features = s["rows"], s["features"]
    return (fill(60, (rows, features), 1.0, np.float64), 2.0 * ints(61, (rows,), 2).astype(np.float64) - 1.0,
            fill(62, (features,), 1.0, np.float64))


def softmax_data(s):
    return fill(80, (s["rows"], s["classes"]), 4.0), ints(81, (s["rows"],), s["classes"])


def conv_data(s):
    """NHWC image, HWIO kernels."""
    n, side, first, second = s["batch"], s["side"], s["first"], s["second"]
    p = []
    for k, (ci, co) in enumerate(((3, first), (first, second), (second, second))):
        p += [fill(91 + 2 * k, (3, 3, ci, co), math.sqrt(6.0 / (9 * ci))), fill(92 + 2 * k, (co,), 0.1)]
    features = (side // 4) ** 2 * second
    p += [fill(97, (features, 10), math.sqrt(3.0 / features)), fill(98, (10,), 0.1)]
    return fill(90, (n, side, side, 3)), ints(99, (n,), 10), p


def lorenz_data(s):
    return fill(120, (3, s["systems"]), 5.0, np.float64) + np.array([[0.0], [0.0], [25.0]])


def per_example_data(s):
    n, inputs, width = s["batch"], s["features"], s["width"]
    return (fill(130, (n, inputs)), ints(131, (n,), 10),
            [fill(132, (inputs, width), math.sqrt(3.0 / inputs)), fill(133, (width,), 0.1),
             fill(134, (width, 10), math.sqrt(3.0 / width)), fill(135, (10,), 0.1)])


# ---- inputs of single operations
def product_data(variant, s, dtype):
    batch = (s["batch"],) if s["batch"] > 1 else ()
    shape = lambda rows, columns, t: batch + ((columns, rows) if t == "t" else (rows, columns))
    return (fill(140, shape(s["m"], s["k"], variant[0]), 1.0, dtype),
            fill(141, shape(s["k"], s["n"], variant[1]), 1.0, dtype))


def fourier_data(s, dtype):
    """The real part, and the complex numbers."""
    shape = (s["batch"], s["n"])
    re, im = fill(143, shape, 1.0, dtype), fill(144, shape, 1.0, dtype)
    z = np.empty(shape, np.complex64 if dtype == np.float32 else np.complex128)
    z.real, z.imag = re, im
    return re, z


def recurrence_data(s):
    shape = (s["length"], s["batch"], s["width"])
    return fill(146, shape, 0.4, shift=0.5), fill(147, shape)


def gather_data(s):
    return fill(151, (s["rows"], s["width"])), ints(152, (s["n"],), s["rows"])


def scatter_data(s):
    return fill(153, (s["rows"], s["width"])), ints(154, (s["n"],), s["rows"]), fill(155, (s["n"], s["width"]))


# ---- inputs of programs that nobody tuned for
def gpt_data(s):
    """Weights, first and second moments, each ((tokens, positions, ln, head), blocks); a text, and what follows."""
    d, words, r = s["width"], s["vocabulary"], math.sqrt(3.0 / s["width"])
    outer = (((words, d), 1, 0), ((s["length"], d), 0.1, 0), ((d,), 0.1, 1), ((d, words), r, 0))
    block = (((d,), 0.1, 1), ((d, 3 * d), r, 0), ((d, d), 0.3 * r, 0), ((d,), 0.1, 1), ((d, 4 * d), r, 0),
             ((4 * d, d), 0.2 * r, 0))

    def tree(seed, of):
        part = lambda shapes, first: tuple(of(first + i, *shape) for i, shape in enumerate(shapes))
        return part(outer, seed), tuple(part(block, seed + 4 + 6 * i) for i in range(s["blocks"]))
    shape = (s["batch"], s["length"])
    return (tree(500, lambda seed, shape, scale, shift: fill(seed, shape, scale, shift=shift)),
            tree(700, lambda seed, shape, scale, shift: fill(seed, shape, 1e-3)),
            tree(900, lambda seed, shape, scale, shift: fill(seed, shape, 5e-7, shift=1e-6)),
            ints(1100, shape, words), ints(1101, shape, words))


def gru_data(s):
    d, r = s["width"], math.sqrt(3.0 / s["width"])
    p = fill(1110, (d, 3 * d), r), fill(1111, (d, 3 * d), r), fill(1112, (3 * d,), 0.1), fill(1113, (3 * d,), 0.1)
    return p, fill(1114, (s["length"], s["batch"], d))


def kernel(seed, side, inputs, outputs):
    return fill(seed, (side, side, inputs, outputs), math.sqrt(6.0 / (side * side * inputs)))


def resnet_data(s):
    c = s["channels"]
    p = [(kernel(1120 + 3 * i, 3, c, c), fill(1121 + 3 * i, (c,), 0.1, shift=1.0), fill(1122 + 3 * i, (c,), 0.1))
         for i in range(2 * s["blocks"])]
    return p, fill(1119, (s["batch"], s["side"], s["side"], c))


def unet_data(s):
    n, side, c = s["batch"], s["side"], s["channels"]
    k = [kernel(1150, 3, 3, c), kernel(1151, 3, c, 2 * c), kernel(1152, 3, 2 * c, 4 * c), kernel(1153, 3, 6 * c, 2 * c),
         kernel(1154, 3, 3 * c, c), kernel(1155, 1, c, 1)]
    return k, fill(1156, (n, side, side, 3)), fill(1157, (n, side, side, 1))


def flow_data(s):
    n = s["side"]
    eigenvalues = 2 - 2 * np.cos(2 * np.pi * np.arange(n) / n)
    both = eigenvalues[:, None] + eigenvalues[None, :n // 2 + 1]
    both[0, 0] = np.inf
    return fill(1210, (n, n), 1.0, np.float64), 1 / both


def hmc_data(s):
    rows, d, chains, draws = s["rows"], s["features"], s["chains"], s["draws"]
    f = lambda seed, shape, scale, shift=0.0: fill(seed, shape, scale, np.float64, shift)
    return (f(1220, (rows, d), 1.0), 2.0 * ints(1221, (rows,), 2).astype(np.float64) - 1.0, f(1222, (chains, d), 0.1),
            f(1223, (draws, chains, d), 1.7), f(1224, (draws, chains), 0.5, 0.5))


def peaks_data(s):
    """Heights, places and widths to start from; times; the curve."""
    n, m = s["peaks"], s["points"]
    width, centres, t = 0.5 / n, (np.arange(n) + 0.5) / n, np.arange(m) / m
    f = lambda seed, scale, shift=0.0: fill(seed, (n,), scale, np.float64, shift)
    height, place, wide = f(1230, 0.3, 1.0), centres + f(1231, 0.1 * width), f(1232, 0.1 * width, width)
    y = np.exp(-np.square((t[:, None] - place) / wide)) @ height + fill(1233, (m,), 0.05, np.float64)
    return np.concatenate([np.ones(n), centres, width * np.ones(n)]), t, y


# ---- memory and time
def status(key):
    with open("/proc/self/status") as f:
        for line in f:
            if line.startswith(key + ":"):
                return int(line.split()[1]) * 1024
    return None


def reset_peak():
    """Give freed pages back, restart the kernel's high-water mark, and return the resident size now."""
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    try:
        with open("/proc/self/clear_refs", "w") as f:
            f.write("5")
    except OSError:
        return None
    return status("VmRSS")


def foreign_seconds():
    """CPU seconds used so far on the whole machine by everybody but this process and its children."""
    with open("/proc/stat") as f:
        user, nice, system, _, _, irq, soft, steal = (int(v) for v in f.readline().split()[1:9])
    return (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK") - cpu_seconds()


def cpu_seconds():
    """CPU time of this process and of the children it has waited for (compilers)."""
    return sum(os.times()[:4])


def numbers(leaves):
    """Two numbers of a result that every library computes: the value and the norm of the gradients; where there is
    no value, the elements of the first array weighted by their place, and the norm of all."""
    parts = []
    for a in (np.asarray(a) for a in leaves):
        parts += [a.real, a.imag] if np.iscomplexobj(a) else [a]
    parts = [np.asarray(a, dtype=np.float64).ravel() for a in parts]
    norm = lambda some: math.sqrt(sum(float(np.sum(np.square(a))) for a in some))
    if parts[0].size == 1 and len(parts) > 1:
        return float(parts[0][0]), norm(parts[1:])
    n = parts[0].size
    return float(np.sum(parts[0] * (np.arange(n) % 7 + 1))) / math.sqrt(n), norm(parts)


def calls_per_sample(step):
    step()
    calls, start = 0, time.perf_counter()
    while calls < 20 and (calls == 0 or time.perf_counter() - start < 2e-3):
        step()
        calls += 1
    return min(max(int(1e-3 * calls / (time.perf_counter() - start + 1e-9)), 1), 10000)


def sample(step, calls, seconds, scale):
    times, cpu = [], []
    start, foreign = time.perf_counter(), foreign_seconds()
    while not times or (len(times) < 1000 and time.perf_counter() - start < seconds):
        c, t = time.process_time(), time.perf_counter()
        for _ in range(calls):
            step()
        times.append((time.perf_counter() - t) / calls * 1e3 * scale)
        cpu.append((time.process_time() - c) / calls * 1e3 * scale)
    wall = time.perf_counter() - start
    used = foreign_seconds() - foreign - 2 / os.sysconf("SC_CLK_TCK")  # the kernel counts in ticks
    cores = round(max(0.0, used) / wall, 3) if wall > 0.1 else None
    return {"times_ms": times, "cpu_ms": sorted(cpu)[len(cpu) // 2], "foreign_cores": cores}


def serve(peer, a, start):
    """start(a) -> (step, leaves, info): step() computes and waits, leaves(result) are its arrays. info["part"]: the
    step is only this part of the whole, its time is multiplied and its result not compared."""
    info = {"peer": peer, "workload": a.workload, "variant": a.variant, "threads": a.threads}
    try:
        step, leaves, more = start(a)
        info.update(more)
        rss = reset_peak()
        out = step()
        if rss:
            info["peak_rss_delta_bytes"] = (status("VmHWM") - rss) * info.get("part", 1)
        if info.get("comparable", "part" not in info):
            info["value"], info["grad_norm"] = numbers(leaves(out))
        del out
        print(json.dumps(info), flush=True)
    except Exception as e:  # an unsupported case is a result too
        print(json.dumps({**info, "error": (type(e).__name__ + ": " + str(e))[:300]}), flush=True)
        return
    calls = 0  # counted when first asked: until then others may run beside
    for line in sys.stdin:
        calls = calls or calls_per_sample(step)
        print(json.dumps(sample(step, calls, float(line), info.get("part", 1))), flush=True)
