"""Checking, sizing and sweeping kernels of JAX functions, and running bare payloads."""

import ctypes
import dataclasses
import itertools
import json
import sys

import jax
import numpy as np
from jax._src.interpreters import mlir
from jax._src.lib.mlir import ir

from tilecheck import _lowering, _native, _options, _report
from tilecheck import jax as door


def check(fn, *args, **options):
    """Runs fn(*args) with every pallas_call in Tilecheck. Returns its value and a Report; nothing is raised for findings.
    options: as tilecheck.jax.enable takes them."""
    mark = _native.library().tilecheck_mark()
    options.setdefault("on_finding", "collect")
    with door.enable(**options) as switched, switched.in_this_thread():
        value = jax.block_until_ready(fn(*args))
    return value, _report.report_of(_native.call("reports", mark))


class _Collector:
    """Lowers pallas_calls to zeros and remembers them: for analyses that run nothing."""

    def __init__(self, target):
        self.target, self.calls = target, []

    def takes(self, interpret):
        return not interpret

    def lower(self, ctx, *in_nodes, interpret, **params):
        del interpret
        with _lowering.as_target(self.target):
            results = _lowering.lower_as_tpu(ctx, *in_nodes, **params)
        op = _lowering.find_custom_call(ir.InsertionPoint.current.block)
        call = _lowering.describe(ctx, op)
        self.calls.append(dataclasses.asdict(call))
        return results


def fit(fn, *args, **options):
    """Lowers fn for arguments of these shapes (jax.ShapeDtypeStruct or arrays; no data is read, nothing is run) and returns
    a Report with each kernel's VMEM need, verdict, compile-time findings and modelled time. An IncompleteError names what
    a kernel does that is not modelled; its report has the rest."""
    options = _options.resolve(options)
    collector = _Collector(options["target"])
    with _lowering.in_this_thread(collector, options["target"]):
        jax.jit(lambda *a: fn(*a)).lower(*args)
    kernels = []
    for call in collector.calls:
        reply = _native.call("analyse", json.dumps(call | {"options": options}).encode())
        if "report" in reply:
            kernels.append(_report.KernelReport(reply["report"], reply["text"], calls=0))
        _report.raise_for(reply["status"], reply["message"], _report.Report(kernels))
    return _report.Report(kernels)


def sweep(make_fn, grid, *args, **options):
    """Sizes a family of kernels: make_fn(**point) for each point of `grid`, a dict from parameter to values. Returns one
    dict per point: the parameters, need_bytes, limit_bytes, verdict, time_us of all kernels together, and the report; or
    `error` where the function cannot be lowered. Rows that fit come first, the fastest on top."""
    rows = []
    for values in itertools.product(*grid.values()):
        row = dict(zip(grid, values))
        try:
            report = fit(make_fn(**row), *args, **options)
        except _report.TilecheckError as error:
            row |= {"verdict": "error", "error": str(error)}
        except (ValueError, TypeError, NotImplementedError) as error:  # JAX refuses this tile
            row |= {"verdict": "error", "error": str(error).strip().splitlines()[0]}
        else:
            fits = [k.fit for k in report.kernels if k.fit]
            times = [k.time["us"] for k in report.kernels if k.time]
            row |= {
                "need_bytes": max((f["need_bytes"] for f in fits), default=0),
                "limit_bytes": min((f["limit_bytes"] for f in fits), default=0),
                "verdict": max((f["verdict"] for f in fits), key=("fits", "thin", "cannot-fit").index, default="fits"),
                "time_us": sum(times) if times else None,
                "report": report,
            }
        rows.append(row)
    order = {"fits": 0, "thin": 1, "cannot-fit": 2, "error": 3}
    return sorted(rows, key=lambda r: (order[r["verdict"]], r.get("time_us") or float("inf")))


def _torch_as_numpy(tensor):
    """Its values, whatever it remembers of how they came about, and in which order they lie."""
    torch = sys.modules["torch"]
    tensor = tensor.detach().cpu().contiguous()
    dtype = _dtype(tensor.dtype)
    if dtype.isbuiltin != 1:  # torch does not know what others call it: bfloat16, float8_e5m2
        return tensor.view({1: torch.uint8, 2: torch.int16}[tensor.element_size()]).numpy().view(dtype)
    return tensor.resolve_conj().resolve_neg().numpy()


def _numpy(array):
    """Any array that speaks DLPack or the array protocol, as a C-ordered numpy array of its shape."""
    torch = sys.modules.get("torch")
    if torch and isinstance(array, torch.Tensor):
        array = _torch_as_numpy(array)
    elif not hasattr(array, "__array__"):
        if not hasattr(array, "__dlpack__"):
            raise TypeError("it is no array")
        try:
            array = np.from_dlpack(array)
        except (BufferError, RuntimeError, TypeError):  # a type that numpy has no name for, such as bfloat16
            array = jax.dlpack.from_dlpack(array)
    return np.asarray(array, order="C")


def _operand(number, array):
    try:
        return _numpy(array)
    except (BufferError, NotImplementedError, RuntimeError, TypeError, ValueError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise _report.InputError(f"operand {number}, of type {type(array).__name__}, cannot be read as an array: {reason}") from error


def _dtype(name):
    """numpy's, of a name, a numpy or jax type, or torch.float32."""
    if type(name).__module__.startswith("torch"):
        name = str(name).removeprefix("torch.")
    return np.dtype(getattr(jax.numpy, np.dtype(name).name if not isinstance(name, str) else name, name))


def run_payload(config, *arrays, out_shape, aliases=None, name="payload", mesh=(), **options):
    """Runs a kernel as it stands in a tpu_custom_call's backend_config (the JSON string that torch_xla's trace_pallas
    returns): arrays are its operands (numpy, jax, torch), out_shape what it results in (objects with shape and dtype),
    aliases maps operands to results. Returns (results, Report); findings are raised unless on_finding says otherwise."""
    single = not isinstance(out_shape, (list, tuple))
    outs = [out_shape] if single else list(out_shape)
    operands = [_operand(i, a) for i, a in enumerate(arrays)]
    results = [np.zeros(o.shape, _dtype(o.dtype)) for o in outs]
    described = [[{"dtype": a.dtype.name, "shape": list(a.shape)} for a in group] for group in (operands, results)]
    request = {
        "config": config if isinstance(config, str) else json.dumps(config), "name": name, "mesh": list(mesh),
        "operands": described[0], "results": described[1], "aliases": list((aliases or {}).items()),
        "options": _options.resolve(options),
    }
    pointers = (ctypes.c_void_p * (len(operands) + len(results)))(*[a.ctypes.data for a in operands + results])
    reply = _native.call("run", json.dumps(request).encode(), pointers)
    report = _report.Report([_report.KernelReport(reply["report"], reply["text"])] if "report" in reply else [])
    _report.raise_for(reply["status"], reply["message"], report)
    return (results[0] if single else results), report
