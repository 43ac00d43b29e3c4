"""Single operations in PyTorch (bench/workloads/operations.cpp): PROGRAMS[name](variant, sizes) is a function of no
arguments."""
import numpy as np
import torch

import common as C


def product(variant, s, dtype):
    a, b = (torch.from_numpy(x) for x in C.product_data(variant, s, dtype))
    a, b = (x.transpose(-1, -2) if t == "t" else x for x, t in zip((a, b), variant))
    return lambda: a @ b


def round_trip(variant, s):
    shape = (s["rows"], s["columns"])
    x = torch.from_numpy(C.fill(142, shape, 1.0, np.float64))
    return lambda: torch.fft.irfftn(torch.fft.rfftn(x), shape)


def fourier(variant, s, dtype):
    re, z = (torch.from_numpy(x) for x in C.fourier_data(s, dtype))
    return (lambda: torch.fft.rfft(re)) if variant == "real" else (lambda: torch.fft.fft(z))


def cumsum(variant, s):
    x, axis = torch.from_numpy(C.fill(145, (s["rows"], s["columns"]))), 0 if variant == "first" else 1
    return lambda: torch.cumsum(x, axis)


def linear_recurrence(variant, s):
    a, b = (torch.from_numpy(x) for x in C.recurrence_data(s))

    def loop():
        h, out = torch.zeros_like(b[0]), []
        for x, y in zip(a, b):
            h = torch.addcmul(y, x, h)
            out.append(h)
        return torch.stack(out)
    return loop


def sort(variant, s):
    x = torch.from_numpy(C.fill(150, (s["rows"], s["n"])))
    return lambda: torch.sort(x)[0]


def gather(variant, s):
    x, i = (torch.from_numpy(a) for a in C.gather_data(s))
    return lambda: torch.index_select(x, 0, i)


def scatter(variant, s):
    x, i, v = (torch.from_numpy(a) for a in C.scatter_data(s))
    return lambda: torch.index_add(x, 0, i, v)


def random(variant, s):
    if variant == "bits":
        return lambda: torch.randint(-2**31, 2**31, (s["n"],), dtype=torch.int32)
    return lambda: torch.randn(s["n"])


def reduction(variant, s):
    x = torch.from_numpy(C.fill(157, (s["rows"], s["columns"])))
    f = {"first": lambda: torch.sum(x, 0), "last": lambda: torch.sum(x, 1), "argmax": lambda: torch.argmax(x, 1)}
    return f[variant]


def eager_add(variant, s):
    x, y = (torch.from_numpy(C.fill(seed, (s["n"],))) for seed in (158, 159))
    return lambda: x + y


PROGRAMS = {
    "product_f32": lambda v, s: product(v, s, np.float32), "product_f64": lambda v, s: product(v, s, np.float64),
    "rfftn_irfftn": round_trip,
    "fft_f32": lambda v, s: fourier(v, s, np.float32), "fft_f64": lambda v, s: fourier(v, s, np.float64),
    "cumsum": cumsum, "linear_recurrence": linear_recurrence, "sort": sort, "gather": gather, "scatter_add": scatter,
    "random": random, "reduction": reduction, "eager_add": eager_add,
}
