"""XLA as an oracle, where Python has jaxlib: run.py <xla_modules> <xla_training> [folder].

Modules of everything (tests/xla/modules.cpp), on one device and, with ANEW_LONG, split over four; what the acceptance
programs compile, where they have been built for that (target xla_programs); and steps of training on one device, on
four, and on two processes of two. Exit code 77, "skipped", without jaxlib. ANEW_PYTHON names the Python that has it.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools/anew-xla"
PYTHON = os.environ.get("ANEW_PYTHON", sys.executable)
LONG = bool(os.environ.get("ANEW_LONG"))
# Modules run once: compiling them takes all the time.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true")


def xla(*args, wait=True):
    process = subprocess.Popen([PYTHON, TOOL, *map(str, args)], stdout=subprocess.PIPE, text=True)
    return process.communicate()[0] if wait else process


def losses(printed):
    return [float(line.split(" = ")[1]) for line in printed.splitlines() if line.startswith("step")]


def training(program, folder):
    subprocess.run([program, folder], check=True)
    want = [float(line) for line in (folder / "losses.txt").read_text().split()]
    steps = [folder / "start.npz", "--steps", len(want)]
    two = ["--processes", 2, "--coordinator", f"localhost:{20000 + os.getpid() % 20000}"]
    second = xla("run", folder / "sharded.mlir", *steps, *two, "--process", 1, wait=False)
    got = {"two processes": xla("run", folder / "sharded.mlir", *steps, *two, "--process", 0),
           "one device": xla("run", folder / "train.mlir", *steps),
           "four devices": xla("run", folder / "sharded.mlir", *steps),
           "a file per argument": xla("run", folder / "train.mlir", *(folder / n for n in ("state.npz", "x.npy", "y.npy")),
                                      "--steps", len(want))}
    second.communicate()
    failed = 0
    for name, printed in got.items():
        found = losses(printed)
        close = len(found) == len(want) and all(abs(a - b) <= 1e-9 * abs(b) for a, b in zip(found, want))
        print(f"training, {name}: {'agrees' if close else 'DIFFERS'}: {found[:3]}..., here {want[:3]}...")
        failed += not close
    return failed


def programs(folder, build):
    failed = 0
    for program in sorted(build.glob("xla_*")):
        if program.name in ("xla_modules", "xla_training") or not os.access(program, os.X_OK) or program.is_dir():
            continue
        cases = folder / program.name
        cases.mkdir(parents=True)
        environment = {**os.environ, "ANEW_XLA_CASES": str(cases)}
        run = subprocess.run([program], env=environment, cwd=cases, capture_output=True)
        print(f"{program.name}:", flush=True)
        failed += run.returncode != 0 or subprocess.run([PYTHON, TOOL, "check", cases, "-v"]).returncode != 0
    return failed


def main():
    modules, trainer = sys.argv[1:3]
    if subprocess.run([PYTHON, "-c", "import jaxlib"], capture_output=True).returncode:
        print(f"skipped: {PYTHON} has no jaxlib (pip install jaxlib, or ANEW_PYTHON=<a Python that has it>)")
        return 77
    with tempfile.TemporaryDirectory() as work:
        folder = pathlib.Path(sys.argv[3] if len(sys.argv) > 3 else work)
        failed = training(trainer, folder / "training") + programs(folder / "programs", pathlib.Path(modules).parent)
        for devices in [1, 4] if LONG else [1]:
            cases = folder / f"devices_{devices}"
            number = "2000" if LONG else "25"
            subprocess.run([modules, cases, "--programs", number, "--devices", str(devices)], check=True)
            run = subprocess.run([PYTHON, TOOL, "check", cases, "--devices", str(devices), "-v"])
            failed += run.returncode != 0
    return 1 if failed else 0


sys.exit(main())
