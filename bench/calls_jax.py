#!/usr/bin/env python3
"""The programs of bench/calls.cpp that a reader may want beside JAX: the pendulum's gradient, the cart-pole's, and a small
GPT. Prints microseconds, best of many calls. Needs jax; nothing else in the repository does."""
import time

import jax
import jax.numpy as jnp
from jax import lax


def best(f, *args, times=400):
    jax.block_until_ready(f(*args))
    least = 1e30
    for _ in range(times):
        start = time.perf_counter()
        jax.block_until_ready(f(*args))
        least = min(least, time.perf_counter() - start)
    return least * 1e6


def rk4(f, y, h):
    plus = lambda k, s: [a + b * s for a, b in zip(y, k)]
    k1 = f(y)
    k2 = f(plus(k1, h / 2))
    k3 = f(plus(k2, h / 2))
    k4 = f(plus(k3, h))
    return [y[i] + (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]) * (h / 6) for i in range(len(y))]


def pendulum(theta, length):
    f = lambda s: [s[1], jnp.sin(s[0]) / length * -9.81]
    step = jax.checkpoint(lambda s, _: (rk4(f, s, 0.01), None))
    inner = jax.checkpoint(lambda s, _: (lax.scan(step, s, None, length=10)[0], None))
    last = lax.scan(inner, [theta, jnp.zeros(())], None, length=10)[0]
    return last[0] ** 2 + last[1] ** 2


def cart_pole(forces, start):
    def f(s, force):
        c, n, w = jnp.cos(s[2]), jnp.sin(s[2]), s[3]
        temp = (force + 0.05 * w * w * n) / 1.1
        alpha = (9.8 * n - c * temp) / (0.5 * (4.0 / 3.0 - 0.1 * c * c / 1.1))
        return [s[1], temp - 0.05 * alpha * c / 1.1, w, alpha]

    def step(s, force):
        nxt = rk4(lambda y: f(y, force), s, 0.02)
        return nxt, nxt[0] ** 2 + nxt[2] ** 2 * 10.0 + force**2 * 0.001

    return jnp.sum(lax.scan(step, [start] * 4, forces)[1])


WIDTH, HEADS, LENGTH, VOCABULARY = 64, 4, 16, 64


def normed(x, g):
    c = x - x.mean(-1, keepdims=True)
    return c * lax.rsqrt((c * c).mean(-1, keepdims=True) + 1e-5) * g


def gpt(m, text):
    x = m["tokens"][text] + m["positions"]
    mask = jnp.tril(jnp.ones((LENGTH, LENGTH)))
    for b in m["blocks"]:
        parts = jnp.split(normed(x, b["ln1"]) @ b["qkv"], 3, -1)
        q, k, v = (a.reshape(LENGTH, HEADS, WIDTH // HEADS).transpose(1, 0, 2) for a in parts)
        p = jax.nn.softmax(jnp.where(mask > 0, q @ k.transpose(0, 2, 1) / 4.0, -1e9), -1)
        x = x + (p @ v).transpose(1, 0, 2).reshape(LENGTH, WIDTH) @ b["out"]
        x = x + jax.nn.gelu(normed(x, b["ln2"]) @ b["up"], approximate=False) @ b["down"]
    return x @ m["head"]


def main():
    key = jax.random.key(1)
    w = lambda a, b: jax.random.normal(key, (a, b)) * 0.1
    blocks = [
        dict(ln1=jnp.ones(WIDTH), qkv=w(WIDTH, 3 * WIDTH), out=w(WIDTH, WIDTH), ln2=jnp.ones(WIDTH), up=w(WIDTH, 4 * WIDTH),
             down=w(4 * WIDTH, WIDTH)) for _ in range(4)
    ]
    m = dict(tokens=w(VOCABULARY, WIDTH), positions=w(LENGTH, WIDTH), head=w(WIDTH, VOCABULARY), blocks=blocks)
    print("GPT inference      %8.1f us" % best(jax.jit(gpt), m, jnp.arange(LENGTH)))
    print("pendulum gradient  %8.1f us" % best(jax.jit(jax.grad(pendulum, (0, 1))), jnp.float32(0.5), jnp.float32(1.5)))
    print("cart-pole gradient %8.1f us" % best(jax.jit(jax.value_and_grad(cart_pole)), jnp.full(200, 0.1), jnp.float32(0.1)))


main()
