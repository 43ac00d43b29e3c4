"""The lines of the table: a workload at some sizes, our variants of it, and the variants of other libraries that
compete.

A line is won by the fastest variant of each side. Variants with checkpoints stand in lines of their own: they are
for those who have less memory. Sizes are given where they are not the full ones, which bench/workloads lists.
"""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Row:
    set: str
    name: str
    workload: str
    ours: tuple
    peers: tuple  # (library, variant)
    sizes: tuple = ()  # (name, size)
    threads: int = 0  # 0: all cores
    curve: tuple = ()  # of a plot: (what is varied, its value)


def row(set, name, ours, peers, workload=None, threads=0, curve=(), **sizes):
    return Row(set, name, workload or name.split(",")[0], tuple(ours.split()),
               tuple(tuple(p.split(":")) for p in peers.split()), tuple(sizes.items()), threads, curve)


LAYERS = "jax:plain jax:scan torch:eager torch:compile"
LAYERS_CKPT = "jax:ckpt jax:scan_ckpt torch:eager_ckpt torch:compile_ckpt"
JIT = "jax:jit torch:eager torch:compile"
EVERY = "jax:jit torch:eager numpy:eager"
PRODUCT = "jax:nn torch:nn numpy:nn"


def workloads():
    r = lambda *a, **k: row("workloads", *a, **k)
    return [
        r("mlp_deep", "plain scan", LAYERS), r("mlp_deep, checkpoints", "ckpt scan_ckpt", LAYERS_CKPT),
        r("mlp_small", "plain scan", LAYERS), r("mlp_small, checkpoints", "ckpt scan_ckpt", LAYERS_CKPT),
        r("transformer", "plain dots scan", "jax:plain jax:scan torch:eager_sdpa torch:compile"),
        r("transformer, checkpoints", "ckpt scan_ckpt scan_dots",
          "jax:scan_ckpt jax:scan_dots torch:eager_ckpt torch:compile_ckpt"),
        r("wave2d", "scan scan_flush", "jax:scan torch:eager torch:compile_step"),
        r("wave2d, checkpoints", "scan_sqrt eqx_ckpt20 scan_sqrt_flush", "jax:scan_sqrt jax:eqx_ckpt20 torch:compile_step_sqrt"),
        r("lstm", "scan", "jax:scan torch:nn_lstm torch:compile_step"),
        r("lstm, checkpoints", "scan_ckpt scan_sqrt", "jax:scan_ckpt jax:scan_sqrt"),
        r("convnet", "jit ckpt", "jax:jit torch:eager torch:eager_nhwc torch:compile"),
        r("lorenz", "scan", "jax:scan torch:eager_part torch:compile_step_part"),
        r("lorenz, checkpoints", "scan_sqrt scan_sqrt_body eqx_ckpt400",
          "jax:scan_sqrt jax:scan_sqrt_body jax:eqx_ckpt400"),
        r("elementwise_f32", "jit", JIT), r("elementwise_f64", "jit", JIT), r("softmax_ce", "jit", JIT),
        r("hvp", "plain scan", "jax:plain jax:scan torch:eager_double_backward torch:eager_func torch:compile"),
        r("per_example", "vmap", "jax:vmap torch:vmap torch:compile"),
        r("logreg_small", "jit", JIT), r("logreg_small, through jit", "through_jit", "jax:jit"),
        r("scalar_sinsin", "jit", JIT), r("scalar_sinsin, through jit", "through_jit", "jax:jit"),
        r("scalar_sinsin, eager", "eager", "jax:eager torch:eager"),
        r("eager_chain", "eager", "jax:eager torch:eager"), r("eager_chain, compiled", "jit", "jax:jit torch:compile"),
        r("compile_12", "plain scan", "jax:plain jax:scan torch:compile"),
        r("compile_24", "plain scan", "jax:scan"), r("compile_48", "plain scan", "jax:scan"),
    ]


def products():
    shapes = [(1, 1024, 1024, 1024), (1, 512, 512, 512), (1, 128, 1024, 1024), (1, 1024, 768, 256), (1, 1024, 256, 768),
              (64, 128, 128, 64), (1, 37, 53, 71), (1, 8, 1024, 1024), (1, 1, 1024, 1024), (1, 1024, 10, 784)]
    out = []
    for threads in (1, 0):
        for batch, m, n, k in shapes:
            shape = f"{f'{batch} of ' if batch > 1 else ''}{m}x{n}x{k}{', 1 thread' if threads else ''}"
            out.append(row("operations", f"product_f32, {shape}", "nn", PRODUCT, threads=threads, batch=batch, m=m, n=n,
                           k=k))
    for form in ("nt", "tn"):
        out.append(row("operations", f"product_f32, 512x512x512 {form}", form, PRODUCT.replace("nn", form), m=512,
                       n=512, k=512))
    out.append(row("operations", "product_f64, 1024x1024x1024", "nn", PRODUCT))
    return out


def transforms():
    out = [row("operations", "rfftn_irfftn, 64x64", "jit", EVERY + " numpy:scipy"),
           row("operations", "rfftn_irfftn, 512x512", "jit", EVERY + " numpy:scipy", rows=512, columns=512)]
    for batch, n in ((1, 1024), (256, 1024), (1, 1 << 20), (64, 1000), (64, 1009)):
        for kind in ("complex", "real"):
            if kind == "complex" or n == 1024:
                out.append(row("operations", f"fft_f32, {kind} {batch}x{n}", kind,
                               f"jax:{kind} torch:{kind} numpy:{kind} numpy:scipy_{kind}", batch=batch, n=n))
    return out


def operations():
    r = lambda *a, **k: row("operations", *a, **k)
    return products() + transforms() + [
        r("cumsum, along the last axis", "last", "jax:last torch:last numpy:last"),
        r("cumsum, along the first axis", "first", "jax:first torch:first numpy:first"),
        r("linear_recurrence", "jit", "jax:scan jax:associative torch:eager"), r("associative_scan", "jit", "jax:jit"),
        r("sort", "jit", EVERY), r("sort, rows", "jit", EVERY, rows=4096, n=256), r("gather", "jit", EVERY),
        r("scatter_add", "jit", EVERY), r("random, bits", "bits", "jax:bits torch:bits numpy:bits"),
        r("random, normal", "normal", "jax:normal torch:normal numpy:normal"),
        r("reduction, sum of columns", "first", "jax:first torch:first numpy:first"),
        r("reduction, sum of rows", "last", "jax:last torch:last numpy:last"),
        r("reduction, argmax of rows", "argmax", "jax:argmax torch:argmax numpy:argmax"),
        r("eager_add, 1000 elements", "eager", "jax:eager torch:eager numpy:eager"),
        r("eager_add, 1000000 elements", "eager", "jax:eager torch:eager numpy:eager", n=1000000),
    ]


def sizes():
    """The same programs a fifth larger, a fifth smaller, and odd: whoever tuned for one size is found here."""
    out = []

    def three(workload, ours, peers, *each):
        for word, s in zip(("larger", "smaller", "odd"), each):
            out.append(row("sizes", f"{workload}, {word}", ours, peers, **s))
    layers = "jax:plain torch:eager torch:compile"
    three("mlp_deep", "plain", layers, dict(width=1232, batch=152), dict(width=816, batch=104),
          dict(width=1013, batch=131))
    three("mlp_small", "plain", layers, dict(width=304, batch=40), dict(width=208, batch=24), dict(width=251, batch=29))
    three("transformer", "plain", "jax:scan torch:eager_sdpa torch:eager", dict(width=304, length=152),
          dict(width=208, length=104), dict(width=248, length=127, batch=7))
    three("wave2d", "scan_flush", "jax:scan torch:eager", dict(side=608), dict(side=416), dict(side=509))
    three("lstm", "scan", "jax:scan torch:nn_lstm", dict(width=304, batch=40), dict(width=208, batch=24),
          dict(width=251, batch=31))
    three("convnet", "jit", "jax:jit torch:eager torch:eager_nhwc", dict(side=40, first=40, second=76),
          dict(side=24, first=24, second=52), dict(side=36, first=31, second=61, batch=29))
    three("lorenz", "scan scan_sqrt", "jax:scan jax:scan_sqrt", dict(systems=76), dict(systems=52), dict(systems=61))
    three("elementwise_f32", "jit", JIT, dict(n=5033165), dict(n=3355443), dict(n=4000037))
    three("softmax_ce", "jit", JIT, dict(rows=4912, classes=1200), dict(rows=3280, classes=800),
          dict(rows=4093, classes=997))
    three("hvp", "plain", "jax:plain torch:eager_double_backward", dict(width=304, batch=40), dict(width=208, batch=24),
          dict(width=251, batch=29))
    three("per_example", "vmap", "jax:vmap torch:vmap torch:compile", dict(batch=304, width=304),
          dict(batch=208, width=208), dict(batch=251, width=253))
    return out


def curves():
    """What the cost grows with. torch.compile would take most of the time to compile and is left out."""
    out = []

    def curve(what, workload, ours, peers, points, **fixed):
        for n in points:
            name = f"{workload}, {what} {n}"
            if what == "threads":
                out.append(row("curves", name, ours, peers, threads=n, curve=(what, n), **fixed))
            elif what == "length":
                out.append(row("curves", name, ours, peers, curve=(what, n), outer=n // 25, inner=25, **fixed))
            else:
                out.append(row("curves", name, ours, peers, curve=(what, n), **{what: n}, **fixed))
    layers = "jax:plain torch:eager"
    curve("layers", "mlp_small", "plain", layers, (2, 4, 8, 16, 32, 64))
    curve("width", "mlp_small", "plain", layers, (32, 64, 128, 256, 512, 1024), layers=8)
    curve("batch", "mlp_small", "plain", layers, (1, 4, 16, 64, 256, 1024), layers=8)
    curve("length", "lstm", "scan", "jax:scan torch:nn_lstm", (25, 50, 100, 200, 400), width=128)
    return out


def thread_curve(cores):
    counts = sorted({1, cores} | {1 << i for i in range(1, 10) if 1 << i < cores})
    return [row("curves", f"mlp_deep, threads {n}", "plain", "jax:plain torch:eager", threads=n, curve=("threads", n))
            for n in counts]


def untuned():
    r = lambda name, ours, peers: row("untuned", name, ours, peers)
    both = "torch:eager torch:compile"
    return [r("gpt_step", "jit", "jax:jit " + both), r("gru", "scan", "jax:scan torch:nn_gru torch:compile"),
            r("resnet", "jit", "jax:jit " + both), r("unet", "jit", "jax:jit " + both),
            r("nbody", "scan", "jax:scan " + both), r("navier_stokes_f64", "scan", "jax:scan " + both),
            r("hmc_f64", "jit", "jax:jit " + both), r("gauss_newton_f64", "jit", "jax:jit " + both)]


SETS = ("workloads", "operations", "sizes", "untuned", "curves")


def all_rows(cores):
    return workloads() + operations() + sizes() + untuned() + curves() + thread_curve(cores)
