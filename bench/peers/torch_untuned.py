"""Programs that nobody tuned for, in PyTorch (bench/workloads/untuned_*.cpp): PROGRAMS[name](variant, sizes) is a
function of no arguments. Of long loops the step is compiled, as a user would who does not want to wait for minutes."""
import numpy as np
import torch
import torch.nn.functional as F

import common as C
from torch_workloads import compiled, const, leaf, with_gradients


def gpt_step(variant, s):
    heads = s["heads"]
    (outer, blocks), (m_outer, m_blocks), (v_outer, v_blocks), text, following = C.gpt_data(s)
    text, following = const(text), const(following)
    flat = lambda outer, blocks: list(outer) + [a for b in blocks for a in b]
    p = [leaf(a) for a in flat(outer, blocks)]
    m, v = ([const(a) for a in flat(*x)] for x in ((m_outer, m_blocks), (v_outer, v_blocks)))

    def loss(p):
        tokens, positions, ln, head = p[:4]
        x = F.embedding(text, tokens) + positions
        n, t, d = x.shape
        for i in range(4, len(p), 6):
            ln1, qkv, out, ln2, up, down = p[i:i + 6]
            q, k, w = (F.layer_norm(x, (d,), ln1) @ qkv).reshape(n, t, 3, heads, d // heads).permute(2, 0, 3, 1, 4)
            y = F.scaled_dot_product_attention(q, k, w, is_causal=True).transpose(1, 2).reshape(n, t, d)
            x = x + y @ out
            x = x + F.gelu(F.layer_norm(x, (d,), ln2) @ up, approximate="tanh") @ down
        return F.cross_entropy((F.layer_norm(x, (d,), ln) @ head).reshape(n * t, -1), following.reshape(-1))

    def adam(p, m, v, g):
        m = [0.9 * m + 0.1 * g for m, g in zip(m, g)]
        v = [0.999 * v + 0.001 * torch.square(g) for v, g in zip(v, g)]
        return [p - 1e-3 * m / (torch.sqrt(v) + 1e-8) for p, m, v in zip(p, m, v)], m, v
    loss, adam = compiled(variant)(loss), compiled(variant)(adam)

    def step():
        value = loss(p)
        g = torch.autograd.grad(value, p)
        with torch.no_grad():
            return value, *adam(p, m, v, g)
    return step


def gru(variant, s):
    (wx, wh, bx, bh), xs = C.gru_data(s)
    xs = const(xs)
    if variant == "nn_gru":
        m = torch.nn.GRU(s["width"], s["width"])
        with torch.no_grad():
            for to, a in ((m.weight_ih_l0, wx.T), (m.weight_hh_l0, wh.T), (m.bias_ih_l0, bx), (m.bias_hh_l0, bh)):
                to.copy_(torch.from_numpy(np.ascontiguousarray(a)))
        return with_gradients(lambda: torch.mean(torch.square(m(xs)[0])), list(m.parameters()))
    wx, wh, bx, bh = (leaf(a) for a in (wx, wh, bx, bh))

    def cell(x, h, wx, wh, bx, bh):
        a, b = (x @ wx + bx).chunk(3, -1), (h @ wh + bh).chunk(3, -1)
        r, z = torch.sigmoid(a[0] + b[0]), torch.sigmoid(a[1] + b[1])
        return (1 - z) * torch.tanh(a[2] + r * b[2]) + z * h
    cell = compiled(variant)(cell)

    def loss():
        h, hs = torch.zeros_like(xs[0]), []
        for x in xs:
            h = cell(x, h, wx, wh, bx, bh)
            hs.append(h)
        return torch.mean(torch.square(torch.stack(hs)))
    return with_gradients(loss, [wx, wh, bx, bh])


def image(a):
    """NHWC as channels_last NCHW"""
    return const(a.transpose(0, 3, 1, 2)).contiguous(memory_format=torch.channels_last)


def kernel(a):
    return const(a.transpose(3, 2, 0, 1)).contiguous(memory_format=torch.channels_last).requires_grad_(True)


def resnet(variant, s):
    p, x = C.resnet_data(s)
    p, x = [(kernel(k), leaf(g), leaf(b)) for k, g, b in p], image(x)

    def normed(x, p):
        return F.batch_norm(F.conv2d(x, p[0], padding=1), None, None, p[1], p[2], training=True, eps=1e-5)

    def loss(x, p):
        for first, second in zip(p[::2], p[1::2]):
            x = F.relu(x + normed(F.relu(normed(x, first)), second))
        return torch.mean(torch.square(x))
    loss = compiled(variant)(loss)
    return with_gradients(lambda: loss(x, p), [a for part in p for a in part])


def unet(variant, s):
    k, x, target = C.unet_data(s)
    k, x, target = [kernel(a) for a in k], image(x), image(target)
    doubled = lambda x: F.interpolate(x, scale_factor=2, mode="nearest")

    def loss(k, x):
        a = F.relu(F.conv2d(x, k[0], padding=1))
        b = F.relu(F.conv2d(F.avg_pool2d(a, 2), k[1], padding=1))
        h = F.relu(F.conv2d(F.avg_pool2d(b, 2), k[2], padding=1))
        h = F.relu(F.conv2d(torch.cat([doubled(h), b], 1), k[3], padding=1))
        h = F.relu(F.conv2d(torch.cat([doubled(h), a], 1), k[4], padding=1))
        return torch.mean(torch.square(F.conv2d(h, k[5]) - target))
    loss = compiled(variant)(loss)
    return with_gradients(lambda: loss(k, x), k)


def nbody(variant, s):
    dt = 1e-3 / s["bodies"]
    v0, x0 = leaf(C.fill(1200, (s["bodies"], 3))), const(C.fill(1201, (s["bodies"], 3)))

    def forces(x):
        d = x[None] - x[:, None]
        r = torch.sum(torch.square(d), 2) + 0.01
        return torch.sum(d * (1.0 / (r * torch.sqrt(r)))[..., None], 1)

    def step(x, v):
        v = v + 0.5 * dt * forces(x)
        x = x + dt * v
        return x, v + 0.5 * dt * forces(x)
    step = compiled(variant)(step)

    def loss():
        x, v = x0, v0
        for _ in range(s["steps"]):
            x, v = step(x, v)
        return torch.mean(torch.square(x)) + torch.mean(torch.square(v))
    return with_gradients(loss, [v0])


def navier_stokes(variant, s):
    w0, inverse = C.flow_data(s)
    w0, inverse = leaf(w0), const(inverse)
    slope = lambda x, axis: 0.5 * (torch.roll(x, -1, axis) - torch.roll(x, 1, axis))
    around = ((-1, 0), (1, 0), (-1, 1), (1, 1))
    curvature = lambda x: sum(torch.roll(x, by, axis) for by, axis in around) - 4 * x

    def advance(w, psi):
        advected = slope(psi, 1) * slope(w, 0) - slope(psi, 0) * slope(w, 1)
        return w + 0.05 * (0.1 * curvature(w) - advected)
    advance = compiled(variant)(advance)  # transforms of complex numbers are not compiled

    def loss():
        w = w0
        for _ in range(s["steps"]):
            w = advance(w, torch.fft.irfftn(torch.fft.rfftn(w) * inverse, w.shape))
        return torch.mean(torch.square(w))
    return with_gradients(loss, [w0])


def hmc(variant, s):
    x, t, start, momenta, thresholds = (const(a) for a in C.hmc_data(s))
    leaps = s["leaps"]

    def energy(q):
        return torch.sum(F.softplus(-t[None] * (q @ x.T)), 1) + 0.5 * torch.sum(torch.square(q), 1)

    def force(q):
        return torch.func.grad(lambda q: torch.sum(energy(q)))(q)

    def step(q, p, threshold):
        q1, p1 = q, p - 0.01 * force(q)
        for i in range(leaps):
            q1 = q1 + 0.02 * p1
            p1 = p1 - (0.02 if i + 1 < leaps else 0.01) * force(q1)
        before, after = (energy(q) + 0.5 * torch.sum(torch.square(p), 1) for q, p in ((q, p), (q1, p1)))
        kept = torch.where((threshold < torch.exp(before - after))[:, None], q1, q)
        return kept, torch.mean(energy(kept))
    step = compiled(variant)(step)

    def run():
        q, energies = start, []
        for p, threshold in zip(momenta, thresholds):
            q, e = step(q, p, threshold)
            energies.append(e)
        return torch.mean(torch.stack(energies)), q
    return run


def gauss_newton(variant, s):
    start, t, y = (const(a) for a in C.peaks_data(s))
    n = s["peaks"]

    def residuals(p):
        height, place, width = p.reshape(3, n)
        return torch.exp(-torch.square((t[:, None] - place) / width)) @ height - y

    def step(p):
        j = torch.func.jacfwd(residuals)(p)
        return p - torch.linalg.solve(j.T @ j + 0.1 * torch.eye(3 * n, dtype=p.dtype), j.T @ residuals(p))
    step = compiled(variant)(step)

    def fit():
        p = start
        for _ in range(s["steps"]):
            p = step(p)
        return torch.mean(torch.square(residuals(p))), p
    return fit


PROGRAMS = {"gpt_step": gpt_step, "gru": gru, "resnet": resnet, "unet": unet, "nbody": nbody,
            "navier_stokes_f64": navier_stokes, "hmc_f64": hmc, "gauss_newton_f64": gauss_newton}
