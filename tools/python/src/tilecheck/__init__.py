"""Tilecheck from Python: Pallas TPU kernels captured, sized, checked and run on a CPU.

    tilecheck.jax.enable(target="v5e")          every pallas_call of this process runs in the simulator
    value, report = tilecheck.check(fn, x)      the same for one call
    tilecheck.fit(fn, shape)                    VMEM need and time, without data
    tilecheck.capture(fn, x, dir="captures")    a folder per kernel, for the tilecheck command
"""

import importlib

_WHERE = {
    "capture": "_capture", "check": "_analysis", "fit": "_analysis", "run_payload": "_analysis", "sweep": "_analysis",
    "FindingError": "_report", "IncompleteError": "_report", "InputError": "_report", "Report": "_report",
    "TilecheckError": "_report", "jax": "jax",
}
__all__ = list(_WHERE)


def __getattr__(name):
    if name == "__version__":
        return importlib.import_module("tilecheck._native").library().tilecheck_version().decode()
    if name not in _WHERE:
        raise AttributeError(f"module 'tilecheck' has no attribute {name!r}")
    module = importlib.import_module(f"tilecheck.{_WHERE[name]}")
    return module if name == "jax" else getattr(module, name)


def __dir__():
    return [*__all__, "__version__"]
