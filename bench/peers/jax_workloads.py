"""The workloads of bench/workloads in JAX: PROGRAMS[name](variant, sizes) is a function returning (value,
gradients), and its arguments."""
import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import common as C


def wrap(variant):
    """checkpoint of one layer or loop body, as the variant says"""
    if variant.endswith("ckpt"):
        # inside scan there is nothing CSE could undo, so JAX's documentation advises prevent_cse=False
        return functools.partial(jax.checkpoint, prevent_cse=not variant.startswith("scan"))
    if variant.endswith("dots"):
        return functools.partial(jax.checkpoint, prevent_cse=not variant.startswith("scan"),
                                 policy=jax.checkpoint_policies.dots_with_no_batch_dims_saveable)
    return lambda f: f


def mlp_loss(variant):
    layer = wrap(variant)(lambda h, w, b: jax.nn.relu(h @ w + b))

    def loss(params, x):
        if variant.startswith("scan"):
            h, _ = lax.scan(lambda h, p: (layer(h, *p), None), x, params)
        else:
            h = x
            for w, b in zip(*params):
                h = layer(h, w, b)
        return jnp.sum(h * h) / h.size
    return loss


def layer_norm(x, g, b):
    m = jnp.mean(x, -1, keepdims=True)
    v = jnp.mean(jnp.square(x - m), -1, keepdims=True)
    return (x - m) * lax.rsqrt(v + 1e-5) * g + b


def block(x, p, heads):
    ln1_g, ln1_b, wqkv, bqkv, wo, bo, ln2_g, ln2_b, w1, b1, w2, b2 = p
    n, s, d = x.shape
    hd = d // heads
    qkv = (layer_norm(x, ln1_g, ln1_b) @ wqkv + bqkv).reshape(n, s, 3, heads, hd)
    q, k, v = (jnp.swapaxes(qkv[:, :, i], 1, 2) for i in range(3))
    att = jnp.einsum("bhqd,bhkd->bhqk", q, k) * (1.0 / math.sqrt(hd))
    att = jnp.where(jnp.tril(jnp.ones((s, s), bool)), att, -1e9)
    att = jax.nn.softmax(att, axis=-1)
    y = jnp.swapaxes(jnp.einsum("bhqk,bhkd->bhqd", att, v), 1, 2).reshape(n, s, d)
    x = x + y @ wo + bo
    h = jax.nn.gelu(layer_norm(x, ln2_g, ln2_b) @ w1 + b1, approximate=True)
    return x + h @ w2 + b2


def cross_entropy(logits, labels):
    picked = jnp.take_along_axis(logits, labels[..., None], axis=-1)[..., 0]
    return jnp.mean(jax.nn.logsumexp(logits, axis=-1) - picked)


def transformer_loss(variant, heads):
    one = wrap(variant)(lambda h, p: block(h, p, heads))

    def loss(params, x, labels):
        blocks, (g, b, w) = params
        if variant.startswith("scan"):
            h, _ = lax.scan(lambda h, p: (one(h, p), None), x, blocks)
        else:
            h = x
            for p in blocks:
                h = one(h, p)
        return cross_entropy(layer_norm(h, g, b) @ w, labels)
    return loss


def stack(blocks):
    return tuple(np.stack([b[i] for b in blocks]) for i in range(len(blocks[0])))


def laplacian(u):
    p = jnp.pad(u, 1)
    return p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4.0 * u


def wave_loss(variant, s):
    def loss(c, u0):
        def step(carry, _):
            u, prev = carry
            return (2.0 * u - prev + jnp.square(0.5 * c) * laplacian(u), u), None
        return jnp.sum(jnp.square(loop(step, (u0, u0), variant, s)[0][s["side"] * 3 // 4, :]))
    return loss


def loop(step, carry, variant, s):
    steps = s["outer"] * s["inner"]
    if variant.startswith("eqx"):
        import equinox.internal as eqxi
        carry, _ = eqxi.scan(step, carry, None, length=steps, kind="checkpointed", checkpoints=s["slots"])
        return carry
    if variant.startswith("scan_sqrt"):
        body = jax.checkpoint(step, prevent_cse=False) if variant == "scan_sqrt_body" else step

        @functools.partial(jax.checkpoint, prevent_cse=False)
        def outer(carry, _):
            return lax.scan(body, carry, None, length=s["inner"])[0], None
        return lax.scan(outer, carry, None, length=s["outer"])[0]
    return lax.scan(wrap(variant)(step), carry, None, length=steps)[0]


def lstm_loss(variant, s):
    def loss(params, xs):
        wx, wh, b = params

        def cell(carry, x):
            h, c = carry
            i, f, g, o = jnp.split(x @ wx + h @ wh + b, 4, axis=-1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h
        zero = jnp.zeros((xs.shape[1], wh.shape[0]), xs.dtype)
        if variant == "scan_sqrt":
            chunk = jax.checkpoint(lambda carry, x: lax.scan(cell, carry, x), prevent_cse=False)
            _, hs = lax.scan(chunk, (zero, zero), xs.reshape(s["outer"], s["inner"], *xs.shape[1:]))
        else:
            _, hs = lax.scan(wrap(variant)(cell), (zero, zero), xs)
        return jnp.mean(jnp.square(hs))
    return loss


def conv_loss(variant):
    def conv(x, w, b, pool):
        y = jax.nn.relu(lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")) + b)
        if pool:
            n, h, w_, c = y.shape
            y = y.reshape(n, h // 2, 2, w_ // 2, 2, c).mean((2, 4))
        return y
    if variant == "ckpt":
        conv = jax.checkpoint(conv, static_argnums=(3,))

    def loss(p, x, labels):
        h = conv(x, p[0], p[1], False)
        h = conv(h, p[2], p[3], True)
        h = conv(h, p[4], p[5], True)
        return cross_entropy(h.reshape(h.shape[0], -1) @ p[6] + p[7], labels)
    return loss


def lorenz_loss(variant, sizes):
    dt = 1e-4

    def rhs(s):
        x, y, z = s
        return jnp.stack([10.0 * (y - x), x * (28.0 - z) - y, x * y - (8.0 / 3.0) * z])

    def step(s, _):
        k1 = rhs(s)
        k2 = rhs(s + (0.5 * dt) * k1)
        k3 = rhs(s + (0.5 * dt) * k2)
        k4 = rhs(s + dt * k3)
        return s + (dt / 6.0) * (k1 + 2.0 * k2 + 2.0 * k3 + k4), None
    return lambda s0: jnp.mean(jnp.square(loop(step, s0, variant, sizes)))


vg = jax.value_and_grad


def packed(variant, trees):
    return tuple(np.stack(v) for v in trees) if variant.startswith("scan") else trees


def mlp(variant, s):
    x, w, b = C.mlp_data(s)
    return vg(mlp_loss(variant)), (packed(variant, (w, b)), x)


def hvp(variant, s):
    x, w, b = C.mlp_data(s)
    loss = mlp_loss(variant)

    def product(params, v, x):
        (value, _), (_, hv) = jax.jvp(lambda p: vg(loss)(p, x), (params,), (v,))
        return value, hv
    return product, (packed(variant, (w, b)), packed(variant, C.mlp_direction(s)), x)


def transformer(variant, s):
    x, labels, blocks, head = C.transformer_data(s)
    blocks = stack(blocks) if variant.startswith("scan") else blocks
    return vg(transformer_loss(variant, s["heads"])), ((blocks, head), x, labels)


def lstm(variant, s):
    xs, wx, wh, b = C.lstm_data(s)
    return vg(lstm_loss(variant, s)), ((wx, wh, b), xs)


def logreg(variant, s):
    x, t, w = C.logreg_data(s)
    return vg(lambda w, x, t: jnp.mean(jnp.logaddexp(0.0, -t * (x @ w)))), (w, x, t)


def elementwise(dtype):
    def program(variant, s):
        f = lambda x: jnp.sum(jnp.tanh(x) * jnp.exp(-x * x) + jnp.log1p(x * x))
        return vg(f), (C.fill(70, (s["n"],), 3.0, dtype),)
    return program


def convnet(variant, s):
    x, labels, p = C.conv_data(s)
    return vg(conv_loss(variant)), (p, x, labels)


def eager_chain(variant, s):
    def chain(x):
        for _ in range(50):
            x = jnp.sin(x) * 1.25
        return jnp.sum(x)
    return vg(chain), (C.fill(110, (s["n"],)),)


def per_example(variant, s):
    x, labels, p = C.per_example_data(s)

    def loss(p, x, t):
        logits = jnp.tanh(x @ p[0] + p[1]) @ p[2] + p[3]
        return jax.nn.logsumexp(logits) - logits[t]
    each = jax.vmap(vg(loss), in_axes=(None, 0, 0))

    def run(p, x, labels):
        values, grads = each(p, x, labels)
        return jnp.sum(values), grads
    return run, (p, x, labels)


PROGRAMS = {
    "mlp_deep": mlp, "mlp_small": mlp, "hvp": hvp, "transformer": transformer, "compile_12": transformer,
    "compile_24": transformer, "compile_48": transformer,
    "wave2d": lambda v, s: (vg(wave_loss(v, s)), C.wave_data(s)),
    "lstm": lstm, "logreg_small": logreg,
    "scalar_sinsin": lambda v, s: (vg(lambda x: jnp.sin(jnp.sin(x))), (np.float64(0.7),)),
    "elementwise_f32": elementwise(np.float32), "elementwise_f64": elementwise(np.float64),
    "softmax_ce": lambda v, s: (vg(cross_entropy), C.softmax_data(s)),
    "convnet": convnet, "eager_chain": eager_chain,
    "lorenz": lambda v, s: (vg(lorenz_loss(v, s)), (C.lorenz_data(s),)),
    "per_example": per_example,
}
