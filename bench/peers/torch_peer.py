"""PyTorch on a CPU, eager and torch.compile: see common.py. Programs are in torch_workloads.py, torch_operations.py and
torch_untuned.py."""
import os
import time

import common as C

JOB = C.job()
os.environ["TORCHINDUCTOR_FORCE_DISABLE_CACHES"] = "1"  # the time of compiling is one of the results

import torch

import torch_operations
import torch_untuned
import torch_workloads


def leaves(result):
    if isinstance(result, torch.Tensor):
        return [result.detach().resolve_conj().numpy()]
    return [a for part in result for a in leaves(part)]


def start(a):
    torch.set_num_threads(a.threads)
    torch._dynamo.config.recompile_limit = 64
    programs = {**torch_workloads.PROGRAMS, **torch_operations.PROGRAMS, **torch_untuned.PROGRAMS}
    call = programs[a.workload](a.variant, a.sizes)
    info = {"version": torch.__version__.split("+")[0]}
    if a.variant.endswith("_part"):
        info["part"] = torch_workloads.PART
    if a.workload == "random":
        info["comparable"] = False  # another generator
    if a.variant.startswith("compile"):
        cpu, wall = C.cpu_seconds(), time.perf_counter()
        call()
        info.update(compile_s=time.perf_counter() - wall, compile_cpu_s=C.cpu_seconds() - cpu)
    return call, leaves, info


if __name__ == "__main__":
    C.serve("torch", JOB, start)
