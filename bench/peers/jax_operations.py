"""Single operations in JAX (bench/workloads/operations.cpp): PROGRAMS[name](variant, sizes) is a function and its
arguments."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import common as C


def product(variant, s, dtype):
    a, b = C.product_data(variant, s, dtype)
    flip = lambda x, yes: jnp.swapaxes(x, -1, -2) if yes == "t" else x
    return (lambda x, y: flip(x, variant[0]) @ flip(y, variant[1])), (a, b)


def round_trip(variant, s):
    shape = (s["rows"], s["columns"])
    return (lambda x: jnp.fft.irfftn(jnp.fft.rfftn(x), shape)), (C.fill(142, shape, 1.0, np.float64),)


def fourier(variant, s, dtype):
    re, z = C.fourier_data(s, dtype)
    return (jnp.fft.rfft, (re,)) if variant == "real" else (jnp.fft.fft, (z,))


def cumsum(variant, s):
    axis = 0 if variant == "first" else 1
    return (lambda x: jnp.cumsum(x, axis)), (C.fill(145, (s["rows"], s["columns"])),)


def linear_recurrence(variant, s):
    a, b = C.recurrence_data(s)
    if variant == "scan":
        def f(a, b):
            return lax.scan(lambda h, ab: (ab[0] * h + ab[1],) * 2, jnp.zeros_like(b[0]), (a, b))[1]
    else:
        def f(a, b):
            return lax.associative_scan(lambda p, q: (q[0] * p[0], q[0] * p[1] + q[1]), (a, b))[1]
    return f, (a, b)


def associative_scan(variant, s):
    f = lambda x: lax.associative_scan(lambda p, q: (q[0] * p[0], q[0] * p[1] + q[1]), x)
    return f, ((C.fill(148, (s["length"], s["width"]), 0.4, shift=0.5), C.fill(149, (s["length"], s["width"]))),)


def gather(variant, s):
    return (lambda x, i: jnp.take(x, i, axis=0, mode="clip")), C.gather_data(s)


def scatter(variant, s):
    return (lambda x, i, v: x.at[i].add(v)), C.scatter_data(s)


def random(variant, s):
    n = s["n"]
    bits, normal = (lambda k: jax.random.bits(k, (n,), jnp.uint32)), (lambda k: jax.random.normal(k, (n,)))
    return bits if variant == "bits" else normal, (jax.random.key(156),)


def reduction(variant, s):
    f = {"first": lambda x: jnp.sum(x, 0), "last": lambda x: jnp.sum(x, 1), "argmax": lambda x: jnp.argmax(x, 1)}
    return f[variant], (C.fill(157, (s["rows"], s["columns"])),)


PROGRAMS = {
    "product_f32": lambda v, s: product(v, s, np.float32), "product_f64": lambda v, s: product(v, s, np.float64),
    "rfftn_irfftn": round_trip,
    "fft_f32": lambda v, s: fourier(v, s, np.float32), "fft_f64": lambda v, s: fourier(v, s, np.float64),
    "cumsum": cumsum, "linear_recurrence": linear_recurrence, "associative_scan": associative_scan,
    "sort": lambda v, s: (lambda x: jnp.sort(x), (C.fill(150, (s["rows"], s["n"])),)),
    "gather": gather, "scatter_add": scatter, "random": random, "reduction": reduction,
    "eager_add": lambda v, s: (lambda x, y: x + y, (C.fill(158, (s["n"],)), C.fill(159, (s["n"],)))),
}
