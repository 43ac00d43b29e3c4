"""Single operations in NumPy and SciPy (bench/workloads/operations.cpp): see common.py. Variants that start with
`scipy_` use SciPy, the others NumPy."""
import common as C

JOB = C.job()

import numpy as np
import scipy
import scipy.fft


def product(variant, s, dtype):
    a, b = C.product_data(variant, s, dtype)
    a, b = (np.swapaxes(x, -1, -2) if t == "t" else x for x, t in zip((a, b), variant))
    return lambda: a @ b


def round_trip(variant, s):
    shape = (s["rows"], s["columns"])
    x = C.fill(142, shape, 1.0, np.float64)
    fft = scipy.fft if variant.startswith("scipy") else np.fft
    return lambda: fft.irfftn(fft.rfftn(x), shape, axes=(0, 1))


def fourier(variant, s, dtype):
    re, z = C.fourier_data(s, dtype)
    fft = scipy.fft if variant.startswith("scipy") else np.fft
    return (lambda: fft.rfft(re)) if variant.endswith("real") else (lambda: fft.fft(z))


def cumsum(variant, s):
    x, axis = C.fill(145, (s["rows"], s["columns"])), 0 if variant == "first" else 1
    return lambda: np.cumsum(x, axis)


def sort(variant, s):
    x = C.fill(150, (s["rows"], s["n"]))
    return lambda: np.sort(x)


def gather(variant, s):
    x, i = C.gather_data(s)
    return lambda: np.take(x, i, axis=0, mode="clip")


def scatter(variant, s):
    x, i, v = C.scatter_data(s)

    def add():
        out = x.copy()
        np.add.at(out, i, v)
        return out
    return add


def random(variant, s):
    g = np.random.default_rng(156)
    if variant == "bits":
        return lambda: g.integers(0, 2**32, s["n"], dtype=np.uint32)
    return lambda: g.standard_normal(s["n"], dtype=np.float32)


def reduction(variant, s):
    x = C.fill(157, (s["rows"], s["columns"]))
    return {"first": lambda: np.sum(x, 0), "last": lambda: np.sum(x, 1), "argmax": lambda: np.argmax(x, 1)}[variant]


def eager_add(variant, s):
    x, y = (C.fill(seed, (s["n"],)) for seed in (158, 159))
    return lambda: x + y


PROGRAMS = {
    "product_f32": lambda v, s: product(v, s, np.float32), "product_f64": lambda v, s: product(v, s, np.float64),
    "rfftn_irfftn": round_trip,
    "fft_f32": lambda v, s: fourier(v, s, np.float32), "fft_f64": lambda v, s: fourier(v, s, np.float64),
    "cumsum": cumsum, "sort": sort, "gather": gather, "scatter_add": scatter, "random": random, "reduction": reduction,
    "eager_add": eager_add,
}


def start(a):
    info = {"version": scipy.__version__ if a.variant.startswith("scipy") else np.__version__}
    if a.workload == "random":
        info["comparable"] = False  # another generator
    return PROGRAMS[a.workload](a.variant, a.sizes), lambda out: [out], info


if __name__ == "__main__":
    C.serve("numpy", JOB, start)
