"""pallas_calls handed to Tilecheck: JAX's TPU lowering, retargeted to an XLA FFI handler on the CPU."""

import dataclasses
import functools
import itertools
import json
import re
import threading

import jax
from jax._src import sharding_impls
from jax._src.interpreters import mlir
from jax._src.lib.mlir import ir
from jax._src.lib.mlir.dialects import hlo

from tilecheck import _lowering, _native, _options, _report

FFI_TARGET = "tilecheck_call"
_sites = itertools.count()


_registering = threading.Lock()


def register():
    """Tells XLA of the handler, once."""
    with _registering:
        _register()


@functools.cache
def _register():
    jax.ffi.register_ffi_target(FFI_TARGET, jax.ffi.pycapsule(_native.library().tilecheck_call), platform="cpu")


def translate(error):
    """The TilecheckError that an XLA error of the handler stands for; None for others."""
    match = re.match(r"(FAILED_PRECONDITION|UNIMPLEMENTED|INVALID_ARGUMENT): (.*)", str(error), re.S)
    if not match:
        return None
    kinds = {"FAILED_PRECONDITION": _report.FindingError, "UNIMPLEMENTED": _report.IncompleteError, "INVALID_ARGUMENT": _report.InputError}
    return kinds[match[1]](match[2])


class CompileError(_report.FindingError, jax.errors.JaxRuntimeError):
    """A kernel that no TPU compiler would take. Raised when JAX compiles the program, not when it runs."""

    def __init__(self, message):
        _report.FindingError.__init__(self, message)
        jax.errors.JaxRuntimeError.__init__(self, message)


class Executor:
    """Lowers pallas_calls while _lowering.switch_on has it. Equal ones share what JAX compiled."""

    def __init__(self, given: dict, take_over_interpret: bool = False):
        options = _options.resolve(given)
        self.target = options["target"]
        self.options = json.dumps(options, sort_keys=True, separators=(",", ":"))  # as the native side writes it
        self.take_over_interpret = take_over_interpret
        _lowering.device_kind(self.target)
        reply = _native.call("check_options", self.options.encode())
        _report.raise_for(reply["status"], reply["message"])

    def _key(self):
        return self.options, self.take_over_interpret

    def __eq__(self, other):
        return isinstance(other, Executor) and self._key() == other._key()

    def __hash__(self):
        return hash(self._key())

    def takes(self, interpret):
        return not interpret or self.take_over_interpret

    def lower(self, ctx: mlir.LoweringRuleContext, *in_nodes, interpret, **params):
        del interpret
        with _lowering.as_target(self.target):
            results = _lowering.lower_as_tpu(ctx, *in_nodes, **params)
        old = _lowering.find_custom_call(ir.InsertionPoint.current.block)
        call = _lowering.describe(ctx, old)
        self._refuse(call)
        new = _retarget(call, old, self.options)
        renamed = {}
        for before, after in zip(old.results, new.results):
            before.replace_all_uses_with(after)
            renamed[before] = after
        results = [
            [renamed.get(r, r) for r in group] if isinstance(group, (list, tuple)) else renamed.get(group, group)
            for group in results
        ]
        old.erase()
        return results

    def _refuse(self, call: _lowering.Call):
        """Raises for findings that need no run. What cannot be read is said when it is run."""
        reply = _native.call("compile", json.dumps(dataclasses.asdict(call) | {"options": json.loads(self.options)}).encode())
        if reply["status"] == "findings":
            raise CompileError(reply["message"])


def _retarget(call: _lowering.Call, old: ir.Operation, options: str) -> ir.Operation:
    """The same call to the FFI handler. Where devices meet in the kernel, its number comes as one more operand."""
    i32, i64 = ir.IntegerType.get_signless(32), ir.IntegerType.get_signless(64)
    numbers = ir.DenseI64ArrayAttr.get
    attributes = {name: old.attributes[name] for name in old.attributes}
    attributes.pop("kernel_name", None)
    attributes |= {
        "call_target_name": ir.StringAttr.get(FFI_TARGET),
        "api_version": ir.IntegerAttr.get(i32, 4),
        "backend_config": ir.DictAttr.get({
            "config": ir.StringAttr.get(call.config),
            "name": ir.StringAttr.get(call.name),
            "options": ir.StringAttr.get(options),
            "aliases": numbers([n for pair in call.aliases for n in pair]),
            "mesh": numbers(call.mesh),
            "site": ir.IntegerAttr.get(i64, next(_sites)),
        }),
    }
    operands = list(old.operands)
    with ir.InsertionPoint(old), old.location:
        if call.mesh:
            operands.append(hlo.partition_id())
            if "operand_layouts" in attributes:
                scalar = ir.Attribute.parse("dense<> : tensor<0xindex>")
                attributes["operand_layouts"] = ir.ArrayAttr.get([*ir.ArrayAttr(attributes["operand_layouts"]), scalar])
        return ir.Operation.create(
            "stablehlo.custom_call", results=[r.type for r in old.results], operands=operands, attributes=attributes)
