"""Captures: one folder per pallas_call that a JAX function runs, with the module JAX would send to a TPU, the operands
as they arrive, and, if asked for, what JAX's own interpreter makes of them. Needs no TPU and no Tilecheck executor.

A folder holds module.mlir, operand_I.npy (operand_I.devK.npy on several devices) in the custom call's order (dynamic grid
bounds, scalar prefetch, inputs), result_I.npy where results were computed, and call.json, which describes them.
"""

import contextlib
import json
import pathlib
import re
import threading

import jax
import numpy as np
from jax._src.interpreters import mlir
from jax._src.pallas import hlo_interpreter, mpmd
from jax._src.pallas.mosaic.interpret import interpret_pallas_call
from jax.experimental.pallas import tpu as pltpu

from tilecheck import _lowering

# What a captured call's results are: computed by JAX's TPU interpret mode, by its HLO interpreter, or not at all (zeros
# go on into the program, so only programs whose control flow does not depend on them are captured right).
GOLDENS = ("tpu-interpret", "hlo-interpret", "none")


def tolerance(dtype) -> tuple[float, float]:
    """atol, rtol of a comparison with results of this type: some roundings of it; integers and booleans exactly."""
    import ml_dtypes

    dtype = np.dtype(dtype)
    if dtype.kind in "biu" or "int" in dtype.name:
        return 0.0, 0.0
    eps = float(ml_dtypes.finfo(dtype).eps)
    return 16 * eps, 64 * eps


def _stored(array):
    """As it is written: bool as the int32 that the kernel sees, float8_e5m2 as bytes that numpy can read anywhere."""
    array = np.asarray(array)
    if array.dtype == np.bool_:
        return array.astype(np.int32)
    if array.dtype.name == "float8_e5m2":
        return array.view("V1")
    return array


class _Recorder:
    """Writes folders while a captured program runs."""

    def __init__(self, directory, target, golden):
        self.directory = pathlib.Path(directory)
        self.target, self.golden = target, golden
        # Ordered effects of the TPU interpret mode must be known when a call is traced, so that mode is asked for then.
        self.forced = pltpu.InterpretParams() if golden == "tpu-interpret" else None
        self.lock = threading.Lock()
        self.names = {}
        self.folders = []

    def takes(self, interpret):
        """Calls that a program itself asks to be interpreted are not TPU kernels; _forced is our own asking."""
        return interpret is self.forced or not interpret

    def lower(self, ctx, *in_nodes, interpret, **params):
        """The lowering of pallas_call on the CPU while capturing."""
        module = _lowering.standalone_module(ctx, [node.type for node in in_nodes], self.target, **params)
        name = re.search(r'kernel_name = "([^"]*)"', module)[1]
        mapping = params.get("grid_mapping")  # None: a core_map
        bounds, prefetch = (mapping.num_dynamic_grid_bounds, mapping.num_index_operands) if mapping else (0, 0)
        roles = ["grid_bound"] * bounds + ["scalar_prefetch"] * prefetch
        roles += ["input"] * (len(in_nodes) - len(roles))
        mesh = getattr(ctx.module_context.axis_context, "mesh", None)
        axes = dict(mesh.shape) if mesh is not None else {}
        out_avals = params["out_avals"]

        def program(*operands):
            if self.golden == "none":
                results = [jax.numpy.zeros(aval.shape, aval.dtype) for aval in out_avals]
            elif mapping is None:
                results = mpmd.mpmd_map_p.bind(*operands, interpret=True, **params)
            elif self.golden == "hlo-interpret":
                results = hlo_interpreter.pallas_call_hlo_interpret(*operands, **params)
            else:
                results = interpret_pallas_call.interpret_pallas_call(*operands, interpret_params=interpret, **params)
            device = 0
            for axis, size in axes.items():
                device = device * size + jax.lax.axis_index(axis)

            def record(device, operands, results):
                self.write(name, module, roles, axes, int(device), operands, results)

            jax.debug.callback(record, device, operands, results)
            return results

        return mlir.lower_fun(program, multiple_results=True)(ctx, *in_nodes)

    def write(self, name, module, roles, axes, device, operands, results):
        with self.lock:
            # The n-th call of one kernel on each device belongs to one folder.
            count = self.names.setdefault((name, device), 0)
            self.names[name, device] += 1
            folder = self.directory / (name if count == 0 else f"{name}.{count}")
            folder.mkdir(parents=True, exist_ok=True)
            if folder not in self.folders:
                self.folders.append(folder)
            suffix = f".dev{device}.npy" if len(axes) and np.prod(list(axes.values())) > 1 else ".npy"
            described = {"operands": [], "results": []}
            for index, (operand, role) in enumerate(zip(operands, roles)):
                np.save(folder / f"operand_{index}{suffix}", _stored(operand))
                described["operands"].append(_describe(operand) | {"role": role})
            for index, result in enumerate(results):
                entry = _describe(result) | {"golden": self.golden}
                if self.golden != "none":
                    np.save(folder / f"result_{index}{suffix}", _stored(result))
                    entry["atol"], entry["rtol"] = tolerance(np.asarray(result).dtype)
                    entry["valid"] = "all"
                described["results"].append(entry)
            (folder / "module.mlir").write_text(module)
            call = {"name": folder.name, "kernel": name, "jax": jax.__version__, "target": f"TPU {self.target}"}
            call["devices"] = int(np.prod(list(axes.values()))) if axes else 1
            if call["devices"] > 1:
                call["mesh"] = axes
            (folder / "call.json").write_text(json.dumps(call | described, indent=1) + "\n")


def _describe(array):
    array = np.asarray(array)
    entry = {"dtype": array.dtype.name, "shape": list(array.shape)}
    if array.dtype == np.bool_:
        entry |= {"dtype": "int32", "logical_dtype": "bool"}
    return entry


def capture(fn, *args, dir, target="v5e", golden="tpu-interpret"):
    """Runs fn(*args) on the CPU and writes a folder under `dir` for each pallas_call run on the way, be it under jit,
    grad, custom_vjp, scan or shard_map. Returns the folders. golden: see GOLDENS."""
    if golden not in GOLDENS:
        raise ValueError(f"golden is {golden!r}; expected one of {', '.join(GOLDENS)}")
    recorder = _Recorder(dir, target, golden)
    force = pltpu.force_tpu_interpret_mode(recorder.forced) if recorder.forced else contextlib.nullcontext()
    with _lowering.in_this_thread(recorder, target), force:
        jax.block_until_ready(jax.jit(lambda *a: fn(*a))(*args))
        jax.effects_barrier()
    return recorder.folders
