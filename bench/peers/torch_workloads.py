"""The workloads of bench/workloads in PyTorch: PROGRAMS[name](variant, sizes) is a function of no arguments
returning (value, gradients). Variants that start with `compile` go through torch.compile."""
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint as torch_checkpoint

import common as C

PART = 20  # the `_part` variants of lorenz run 1/PART of the steps, and their time is multiplied


def checkpoint(f, *a):
    return torch_checkpoint(f, *a, use_reentrant=False)


def compiled(variant):
    return torch.compile if variant.startswith("compile") else lambda f: f


def with_gradients(loss, leaves):
    def call():
        value = loss()
        return value, torch.autograd.grad(value, leaves)
    return call


def leaf(a):
    return torch.from_numpy(np.ascontiguousarray(a)).requires_grad_(True)


def const(a):
    t = torch.from_numpy(np.ascontiguousarray(a))
    return t.long() if t.dtype == torch.int32 else t


def mlp_loss(ckpt):
    layer = lambda h, w, b: F.relu(torch.addmm(b, h, w))

    def loss(w, b, x):
        h = x
        for wi, bi in zip(w, b):
            h = checkpoint(layer, h, wi, bi) if ckpt else layer(h, wi, bi)
        return torch.sum(h * h) / h.numel()
    return loss


def block(x, p, heads, mask, sdpa):
    ln1_g, ln1_b, wqkv, bqkv, wo, bo, ln2_g, ln2_b, w1, b1, w2, b2 = p
    n, s, d = x.shape
    hd = d // heads
    h = F.layer_norm(x, (d,), ln1_g, ln1_b, 1e-5)
    qkv = torch.addmm(bqkv, h.reshape(-1, d), wqkv).reshape(n, s, 3, heads, hd).permute(2, 0, 3, 1, 4)
    q, k, v = qkv[0], qkv[1], qkv[2]
    if sdpa:
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    else:
        att = (q @ k.transpose(-1, -2)) * (1.0 / math.sqrt(hd))
        y = torch.softmax(att.masked_fill(mask, -1e9), -1) @ v
    y = y.transpose(1, 2).reshape(-1, d)
    x = x + torch.addmm(bo, y, wo).reshape(n, s, d)
    h = F.layer_norm(x, (d,), ln2_g, ln2_b, 1e-5).reshape(-1, d)
    h = F.gelu(torch.addmm(b1, h, w1), approximate="tanh")
    return x + torch.addmm(b2, h, w2).reshape(n, s, d)


def transformer_loss(heads, seq, ckpt, sdpa):
    mask = ~torch.ones(seq, seq, dtype=torch.bool).tril()
    one = lambda x, *p: block(x, p, heads, mask, sdpa)

    def loss(blocks, head, x, labels):
        h = x
        for p in blocks:
            h = checkpoint(one, h, *p) if ckpt else one(h, *p)
        d = h.shape[-1]
        logits = F.layer_norm(h, (d,), head[0], head[1], 1e-5).reshape(-1, d) @ head[2]
        return F.cross_entropy(logits, labels.reshape(-1))
    return loss


def wave_step(u, prev, c):
    p = F.pad(u, (1, 1, 1, 1))
    lap = p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4.0 * u
    return 2.0 * u - prev + torch.square(0.5 * c) * lap, u


def lstm_cell(x, h, c, wx, wh, b):
    i, f, g, o = (x @ wx + h @ wh + b).chunk(4, -1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def lorenz_step(s):
    dt = 1e-4

    def rhs(s):
        x, y, z = s[0], s[1], s[2]
        return torch.stack([10.0 * (y - x), x * (28.0 - z) - y, x * y - (8.0 / 3.0) * z])
    k1 = rhs(s)
    k2 = rhs(s + (0.5 * dt) * k1)
    k3 = rhs(s + (0.5 * dt) * k2)
    k4 = rhs(s + dt * k3)
    return s + (dt / 6.0) * (k1 + 2.0 * k2 + 2.0 * k3 + k4)


def mlp(variant, s):
    x, w, b = C.mlp_data(s)
    x, w, b = const(x), [leaf(v) for v in w], [leaf(v) for v in b]
    f = compiled(variant)(mlp_loss(variant.endswith("ckpt")))
    return with_gradients(lambda: f(w, b, x), w + b)


def transformer(variant, s):
    x, labels, blocks, head = C.transformer_data(s)
    x, labels = const(x), const(labels)
    blocks, head = [tuple(leaf(v) for v in p) for p in blocks], tuple(leaf(v) for v in head)
    f = compiled(variant)(transformer_loss(s["heads"], s["length"], variant.endswith("ckpt"), variant.endswith("sdpa")))
    return with_gradients(lambda: f(blocks, head, x, labels), [v for p in blocks for v in p] + list(head))


def wave(variant, s):
    c, u0 = C.wave_data(s)
    c, u0 = leaf(c), const(u0)
    step = compiled(variant)(wave_step)

    def chunk(u, prev, c, n):
        for _ in range(n):
            u, prev = step(u, prev, c)
        return u, prev

    def loss():
        if variant.endswith("sqrt"):
            u, prev = u0, u0
            for _ in range(s["outer"]):
                u, prev = checkpoint(chunk, u, prev, c, s["inner"])
        else:
            u, prev = chunk(u0, u0, c, s["outer"] * s["inner"])
        return torch.sum(torch.square(u[s["side"] * 3 // 4, :]))
    return with_gradients(loss, [c])


def lstm(variant, s):
    xs, wx, wh, b = C.lstm_data(s)
    if variant == "nn_lstm":
        m = torch.nn.LSTM(s["width"], s["width"])
        with torch.no_grad():
            m.weight_ih_l0.copy_(torch.from_numpy(wx.T.copy()))
            m.weight_hh_l0.copy_(torch.from_numpy(wh.T.copy()))
            m.bias_ih_l0.copy_(torch.from_numpy(b))
            m.bias_hh_l0.zero_()
        xs = const(xs)
        weights = [m.weight_ih_l0, m.weight_hh_l0, m.bias_ih_l0]
        return with_gradients(lambda: torch.mean(torch.square(m(xs)[0])), weights)
    xs, wx, wh, b = const(xs), leaf(wx), leaf(wh), leaf(b)
    cell = compiled(variant)(lstm_cell)

    def loss():
        h = torch.zeros(s["batch"], s["width"])
        c = torch.zeros_like(h)
        hs = []
        for x in xs:
            h, c = cell(x, h, c, wx, wh, b)
            hs.append(h)
        return torch.mean(torch.square(torch.stack(hs)))
    return with_gradients(loss, [wx, wh, b])


def logreg(variant, s):
    x, t, w = C.logreg_data(s)
    x, t, w = const(x), const(t), leaf(w)
    f = compiled(variant)(lambda w, x, t: torch.mean(F.softplus(-t * (x @ w))))
    return with_gradients(lambda: f(w, x, t), [w])


def scalar(variant, s):
    x = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    f = compiled(variant)(lambda x: torch.sin(torch.sin(x)))
    return with_gradients(lambda: f(x), [x])


def elementwise(dtype):
    def program(variant, s):
        x = leaf(C.fill(70, (s["n"],), 3.0, dtype))
        f = compiled(variant)(lambda x: torch.sum(torch.tanh(x) * torch.exp(-x * x) + torch.log1p(x * x)))
        return with_gradients(lambda: f(x), [x])
    return program


def softmax_ce(variant, s):
    x, labels = C.softmax_data(s)
    x, labels = leaf(x), const(labels)
    f = compiled(variant)(F.cross_entropy)
    return with_gradients(lambda: f(x, labels), [x])


def convnet(variant, s):
    x, labels, p = C.conv_data(s)
    x, labels = const(x.transpose(0, 3, 1, 2)), const(labels)
    p = [leaf(v.transpose(3, 2, 0, 1)) if v.ndim == 4 else leaf(v) for v in p]
    if variant != "eager":
        x = x.contiguous(memory_format=torch.channels_last)
        last = lambda v: v.detach().contiguous(memory_format=torch.channels_last).requires_grad_(True)
        p = [last(v) if v.ndim == 4 else v for v in p]

    def f(x, labels, p):
        h = F.relu(F.conv2d(x, p[0], p[1], padding=1))
        h = F.avg_pool2d(F.relu(F.conv2d(h, p[2], p[3], padding=1)), 2)
        h = F.avg_pool2d(F.relu(F.conv2d(h, p[4], p[5], padding=1)), 2)
        return F.cross_entropy(torch.addmm(p[7], h.permute(0, 2, 3, 1).reshape(x.shape[0], -1), p[6]), labels)
    f = compiled(variant)(f)
    return with_gradients(lambda: f(x, labels, p), p)


def eager_chain(variant, s):
    def chain(x):
        for _ in range(50):
            x = torch.sin(x) * 1.25
        return torch.sum(x)
    x = leaf(C.fill(110, (s["n"],)))
    f = compiled(variant)(chain)
    return with_gradients(lambda: f(x), [x])


def lorenz(variant, s):
    s0 = leaf(C.lorenz_data(s))
    step = compiled(variant)(lorenz_step)

    def loss():
        y = s0
        for _ in range(s["outer"] * s["inner"] // PART):
            y = step(y)
        return torch.mean(torch.square(y))
    return with_gradients(loss, [s0])


def hvp(variant, s):
    x, w, b = C.mlp_data(s)
    x, p = const(x), [leaf(v) for v in w + b]
    n = len(w)
    v = tuple(const(a) for part in C.mlp_direction(s) for a in part)
    loss = mlp_loss(False)
    if variant == "eager_double_backward":
        def call():
            value = loss(p[:n], p[n:], x)
            g = torch.autograd.grad(value, p, create_graph=True)
            return value, torch.autograd.grad(sum((a * c).sum() for a, c in zip(g, v)), p)
        return call
    p = tuple(a.detach() for a in p)
    grad = torch.func.grad_and_value(lambda p: loss(p[:n], p[n:], x))

    def product(p, v):
        (_, value), (hv, _) = torch.func.jvp(grad, (p,), (v,))
        return value, hv
    f = compiled(variant)(product)
    return lambda: f(p, v)


def per_example(variant, s):
    x, labels, p = C.per_example_data(s)
    x, labels, p = const(x), const(labels), tuple(const(v) for v in p)

    def loss(p, x, t):
        logits = torch.tanh(x @ p[0] + p[1]) @ p[2] + p[3]
        return torch.logsumexp(logits, -1) - torch.gather(logits, 0, t[None])[0]

    def each(p, x, labels):
        g, v = torch.func.vmap(torch.func.grad_and_value(loss), in_dims=(None, 0, 0))(p, x, labels)
        return torch.sum(v), g
    f = compiled(variant)(each)
    return lambda: f(p, x, labels)


PROGRAMS = {
    "mlp_deep": mlp, "mlp_small": mlp, "hvp": hvp, "transformer": transformer, "compile_12": transformer,
    "compile_24": transformer, "compile_48": transformer, "wave2d": wave, "lstm": lstm, "logreg_small": logreg,
    "scalar_sinsin": scalar, "elementwise_f32": elementwise(np.float32), "elementwise_f64": elementwise(np.float64),
    "softmax_ce": softmax_ce, "convnet": convnet, "eager_chain": eager_chain, "lorenz": lorenz,
    "per_example": per_example,
}
