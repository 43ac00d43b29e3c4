"""NumPy, safetensors and PyTorch read what anew writes, and write what anew reads.

usage: peers.py write FOLDER     files for anew to read
       peers.py read FOLDER      checks the files that anew wrote
       peers.py dlpack LIBRARY   arrays through the library of dlpack_module.cpp, both ways

Every array has the elements that `elements` says, so both sides know them. The Python that has the packages is this one,
$ANEW_PYTHON, or that of `./dev bench --peers`; without NumPy the exit code is 77, and nothing was tested.
"""
import ctypes
import importlib.util
import os
import sys
from pathlib import Path

SKIPPED = 77

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"]


def elements(name):
    import numpy as np
    x = np.arange(24).reshape(2, 3, 4)
    if name == "bool":
        return x % 3 == 0
    return (x - (0 if name.startswith("u") else 5)).astype(name)


def write(folder):
    import numpy as np
    arrays = {name: elements(name) for name in DTYPES}
    for name, x in arrays.items():
        np.save(folder / f"{name}.npy", x)
        np.save(folder / f"{name}_fortran.npy", np.asfortranarray(x))
        np.save(folder / f"{name}_big.npy", x.astype(x.dtype.newbyteorder(">")))
    np.save(folder / "objects.npy", np.array([{}, 1], dtype=object), allow_pickle=True)
    np.savez(folder / "stored.npz", **arrays)
    np.savez_compressed(folder / "packed.npz", **arrays)
    with open(folder / "long.npy", "wb") as f:
        np.lib.format.write_array(f, arrays["float32"], version=(2, 0))
    if importlib.util.find_spec("safetensors"):
        from safetensors.numpy import save_file
        save_file(arrays, folder / "numpy.safetensors", metadata={"by": "numpy"})
    if importlib.util.find_spec("safetensors") and importlib.util.find_spec("torch"):
        import torch
        from safetensors.torch import save_file
        x = torch.arange(24).reshape(2, 3, 4) - 5
        save_file({"bf16": x.to(torch.bfloat16), "f16": x.to(torch.float16)}, folder / "torch.safetensors")
        torch.save({"a": x}, folder / "torch.pt")


def read(folder):
    import numpy as np

    def same(got, name):
        want = elements(name)
        assert got.dtype == want.dtype and got.shape == want.shape and (got == want).all(), name

    for name in DTYPES:
        same(np.load(folder / f"{name}.npy", allow_pickle=False), name)
    for file in ("stored.npz", "packed.npz"):
        with np.load(folder / file, allow_pickle=False) as z:
            assert sorted(z.files) == sorted(["nested.1." + n for n in DTYPES] + ["bf16"]), z.files
            for name in DTYPES:
                same(z["nested.1." + name], name)
            bits = z["bf16"].view(np.uint16)
            assert ((bits.astype(np.uint32) << 16).view(np.float32) == elements("float32")).all()
    if importlib.util.find_spec("safetensors"):
        from safetensors import safe_open
        from safetensors.numpy import load_file
        tensors = load_file(folder / "plain.safetensors")
        for name in DTYPES:
            same(tensors["nested.1." + name], name)
        with safe_open(folder / "plain.safetensors", "np") as f:
            assert f.metadata() == {"by": "anew"}, f.metadata()
    if importlib.util.find_spec("safetensors") and importlib.util.find_spec("torch"):
        import torch
        from safetensors.torch import load_file
        bf16 = load_file(folder / "all.safetensors")["bf16"]
        assert bf16.dtype == torch.bfloat16 and (bf16.to(torch.float32).numpy() == elements("float32")).all()


def dlpack(library):
    """An object of Python that offers the tensor of ours, and a tensor of theirs for us, with NumPy and PyTorch."""
    import numpy as np
    lib, api = ctypes.CDLL(str(library)), ctypes.pythonapi
    api.PyCapsule_New.restype, api.PyCapsule_New.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    api.PyCapsule_GetPointer.restype, api.PyCapsule_GetPointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
    lib.give.restype = lib.give_versioned.restype = ctypes.c_void_p
    lib.take.restype, lib.take.argtypes = ctypes.c_double, [ctypes.c_void_p]
    lib.take_versioned.restype, lib.take_versioned.argtypes = ctypes.c_double, [ctypes.c_void_p]

    class Ours:
        def __init__(self, versioned):
            self.versioned = versioned

        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **options):
            if self.versioned:
                return api.PyCapsule_New(lib.give_versioned(), b"dltensor_versioned", None)
            return api.PyCapsule_New(lib.give(), b"dltensor", None)

    def offer(x, versioned):
        capsule = x.__dlpack__(max_version=(1, 0)) if versioned else x.__dlpack__()
        name = b"dltensor_versioned" if versioned else b"dltensor"
        pointer = api.PyCapsule_GetPointer(capsule, name)
        total = (lib.take_versioned if versioned else lib.take)(pointer)
        api.PyCapsule_SetName(capsule, b"used_" + name)
        return total

    want = np.arange(12, dtype=np.float32).reshape(3, 4).T
    for versioned in (False, True):
        x = np.from_dlpack(Ours(versioned))
        assert x.shape == (4, 3) and (x == want).all() and not x.flags.writeable
        del x
        y = np.arange(12, dtype=np.float32).reshape(3, 4)[:, ::2]
        if not versioned or int(np.__version__.split(".")[0]) >= 2:
            assert offer(y, versioned) == y.sum()
    if importlib.util.find_spec("torch"):
        import torch
        x = torch.from_dlpack(Ours(False))
        assert (x.numpy() == want).all()
        del x
        assert offer(torch.arange(12.0).reshape(3, 4).t(), False) == 66
    assert lib.alive() == 0, "tensors of ours that nobody deleted"


def main():
    if not importlib.util.find_spec("numpy"):
        for python in (os.environ.get("ANEW_PYTHON"), "build/peers/bin/python"):
            if python and os.path.exists(python) and not os.environ.get("ANEW_PEERS"):
                os.environ["ANEW_PEERS"] = "1"  # once
                os.execv(python, [python, *sys.argv])
        print("skipped: no Python with NumPy; set ANEW_PYTHON to one that has numpy, safetensors and torch")
        sys.exit(SKIPPED)
    command, argument = sys.argv[1:]
    {"write": write, "read": read, "dlpack": dlpack}[command](Path(argument))
    for package in ("safetensors", "torch"):
        if not importlib.util.find_spec(package):
            print(f"{package} is not installed: what it reads and writes was not tested")


if __name__ == "__main__":
    main()
