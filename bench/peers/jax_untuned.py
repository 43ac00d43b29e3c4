"""Programs that nobody tuned for, in JAX (bench/workloads/untuned_*.cpp): PROGRAMS[name](variant, sizes) is a
function and its arguments."""
import jax
import jax.numpy as jnp
from jax import lax

import common as C

vg = jax.value_and_grad


def layer_norm(x, g):
    m = jnp.mean(x, -1, keepdims=True)
    return (x - m) * lax.rsqrt(jnp.mean(jnp.square(x - m), -1, keepdims=True) + 1e-5) * g


def gpt_step(variant, s):
    heads = s["heads"]
    p, m, v, text, following = C.gpt_data(s)

    def loss(p, text, following):
        (tokens, positions, ln, head), blocks = p
        x = jnp.take(tokens, text, axis=0, mode="clip") + positions
        for ln1, qkv, out, ln2, up, down in blocks:
            n, t, d = x.shape
            parts = (a.reshape(n, t, heads, d // heads) for a in jnp.split(layer_norm(x, ln1) @ qkv, 3, -1))
            x = x + jax.nn.dot_product_attention(*parts, is_causal=True).reshape(n, t, d) @ out
            x = x + jax.nn.gelu(layer_norm(x, ln2) @ up, approximate=True) @ down
        logits = layer_norm(x, ln) @ head
        return jnp.mean(jax.nn.logsumexp(logits, -1) - jnp.take_along_axis(logits, following[..., None], -1)[..., 0])

    def step(p, m, v, text, following):
        value, g = vg(loss)(p, text, following)
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
        v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * jnp.square(g), v, g)
        p = jax.tree.map(lambda p, m, v: p - 1e-3 * m / (jnp.sqrt(v) + 1e-8), p, m, v)
        return value, (p, m, v)
    return step, (p, m, v, text, following)


def gru(variant, s):
    p, xs = C.gru_data(s)

    def loss(p, xs):
        wx, wh, bx, bh = p

        def cell(h, x):
            a, b = jnp.split(x @ wx + bx, 3, -1), jnp.split(h @ wh + bh, 3, -1)
            r, z = jax.nn.sigmoid(a[0] + b[0]), jax.nn.sigmoid(a[1] + b[1])
            h = (1 - z) * jnp.tanh(a[2] + r * b[2]) + z * h
            return h, h
        return jnp.mean(jnp.square(lax.scan(cell, jnp.zeros_like(xs[0]), xs)[1]))
    return vg(loss), (p, xs)


def conv(x, k):
    return lax.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def resnet(variant, s):
    def normed(x, p):
        y = conv(x, p[0])
        m = jnp.mean(y, (0, 1, 2))
        return (y - m) * lax.rsqrt(jnp.mean(jnp.square(y - m), (0, 1, 2)) + 1e-5) * p[1] + p[2]

    def loss(p, x):
        for first, second in zip(p[::2], p[1::2]):
            x = jax.nn.relu(x + normed(jax.nn.relu(normed(x, first)), second))
        return jnp.mean(jnp.square(x))
    return vg(loss), C.resnet_data(s)


def unet(variant, s):
    def halved(x):
        n, h, w, c = x.shape
        return x.reshape(n, h // 2, 2, w // 2, 2, c).mean((2, 4))
    doubled = lambda x: jnp.repeat(jnp.repeat(x, 2, 1), 2, 2)

    def loss(k, x, target):
        a = jax.nn.relu(conv(x, k[0]))
        b = jax.nn.relu(conv(halved(a), k[1]))
        h = jax.nn.relu(conv(halved(b), k[2]))
        h = jax.nn.relu(conv(jnp.concatenate([doubled(h), b], 3), k[3]))
        h = jax.nn.relu(conv(jnp.concatenate([doubled(h), a], 3), k[4]))
        return jnp.mean(jnp.square(conv(h, k[5]) - target))
    return vg(loss), C.unet_data(s)


def nbody(variant, s):
    dt = 1e-3 / s["bodies"]

    def forces(x):
        d = x[None] - x[:, None]
        r = jnp.sum(jnp.square(d), 2) + 0.01
        return jnp.sum(d * (1.0 / (r * jnp.sqrt(r)))[..., None], 1)

    def loss(v, x):
        def step(xv, _):
            x, v = xv
            v = v + 0.5 * dt * forces(x)
            x = x + dt * v
            return (x, v + 0.5 * dt * forces(x)), None
        (x, v), _ = lax.scan(step, (x, v), None, length=s["steps"])
        return jnp.mean(jnp.square(x)) + jnp.mean(jnp.square(v))
    return vg(loss), (C.fill(1200, (s["bodies"], 3)), C.fill(1201, (s["bodies"], 3)))


def navier_stokes(variant, s):
    slope = lambda x, axis: 0.5 * (jnp.roll(x, -1, axis) - jnp.roll(x, 1, axis))
    curvature = lambda x: jnp.roll(x, -1, 0) + jnp.roll(x, 1, 0) + jnp.roll(x, -1, 1) + jnp.roll(x, 1, 1) - 4 * x

    def loss(w, inverse):
        def step(w, _):
            psi = jnp.fft.irfftn(jnp.fft.rfftn(w) * inverse, w.shape)
            advected = slope(psi, 1) * slope(w, 0) - slope(psi, 0) * slope(w, 1)
            return w + 0.05 * (0.1 * curvature(w) - advected), None
        return jnp.mean(jnp.square(lax.scan(step, w, None, length=s["steps"])[0]))
    return vg(loss), C.flow_data(s)


def hmc(variant, s):
    leaps = s["leaps"]

    def run(x, t, start, momenta, thresholds):
        energy = lambda q: jnp.sum(jnp.logaddexp(0.0, -t[None] * (q @ x.T)), 1) + 0.5 * jnp.sum(jnp.square(q), 1)
        force = jax.grad(lambda q: jnp.sum(energy(q)))

        def step(q, given):
            p, threshold = given
            q1, p1 = q, p - 0.01 * force(q)
            for i in range(leaps):
                q1 = q1 + 0.02 * p1
                p1 = p1 - (0.02 if i + 1 < leaps else 0.01) * force(q1)
            before, after = (energy(q) + 0.5 * jnp.sum(jnp.square(p), 1) for q, p in ((q, p), (q1, p1)))
            kept = jnp.where((threshold < jnp.exp(before - after))[:, None], q1, q)
            return kept, jnp.mean(energy(kept))
        last, energies = lax.scan(step, start, (momenta, thresholds))
        return jnp.mean(energies), last
    return run, C.hmc_data(s)


def gauss_newton(variant, s):
    n, steps = s["peaks"], s["steps"]

    def peaks(p, t):
        height, place, width = p.reshape(3, n)
        return jnp.exp(-jnp.square((t[:, None] - place) / width)) @ height

    def fit(p, t, y):
        residuals = lambda p: peaks(p, t) - y
        for _ in range(steps):
            j = jax.jacfwd(residuals)(p)
            p = p - jnp.linalg.solve(j.T @ j + 0.1 * jnp.eye(3 * n), j.T @ residuals(p))
        return jnp.mean(jnp.square(residuals(p))), p
    return fit, C.peaks_data(s)


PROGRAMS = {"gpt_step": gpt_step, "gru": gru, "resnet": resnet, "unet": unet, "nbody": nbody,
            "navier_stokes_f64": navier_stokes, "hmc_f64": hmc, "gauss_newton_f64": gauss_newton}
