"""From a pallas_call inside a JAX lowering to the module that JAX would send to the TPU compiler. No TPU is needed."""

import contextlib
import dataclasses
import functools
import json
import threading

import jax

from tilecheck import _jax_version

_jax_version.check(jax.__version__)

with _jax_version.explained():
    from jax._src import config, sharding_impls
    from jax._src.interpreters import mlir
    from jax._src.lib.mlir import ir
    from jax._src.lib.mlir.dialects import func as func_dialect
    from jax._src.lib.mlir.dialects import hlo
    from jax._src.pallas import core as pallas_core
    from jax._src.pallas import mpmd
    from jax._src.pallas import pallas_call as pallas_call_module
    from jax._src.pallas.mosaic import pallas_call_registration

    try:
        from jax._src import tpu_info  # since 0.11
    except ImportError:
        from jax._src.pallas.mosaic import tpu_info

pallas_call_p = pallas_call_module.pallas_call_p

# What the chips of `tilecheck targets` call themselves in JAX, and how many cores one JAX device has there.
DEVICE_KINDS = {
    "v2": ("TPU v2", 1),
    "v3": ("TPU v3", 1),
    "v4": ("TPU v4", 2),
    "v5e": ("TPU v5 lite", 1),
    "v5p": ("TPU v5", 2),
    "v6e": ("TPU v6 lite", 1),
    "v7x": ("TPU7x", 1),
}


def device_kind(target: str) -> tuple[str, int]:
    """JAX's name of a target, and its cores per device. Names that JAX itself uses pass through."""
    if target in DEVICE_KINDS:
        return DEVICE_KINDS[target]
    for kind, cores in DEVICE_KINDS.values():
        if kind == target:
            return kind, cores
    raise ValueError(f"unknown target {target!r}; known: {', '.join(DEVICE_KINDS)}")


# Who lowers pallas_calls (and what core_map becomes, mpmd_map) on the CPU: an object with takes(interpret) and
# lower(ctx, *nodes, interpret, **params), or None for JAX itself. A thread's own choice outranks the process's. JAX
# compiles anew when it changes, as for its own configuration.
_lowered_by = config.config_ext.Config("tilecheck", None, include_in_jit_key=True, include_in_trace_context=True)
_lock = threading.Lock()
_switched_on = []  # for the process: who and target; the last counts
_own = threading.local()  # .target: of this thread's choice


@dataclasses.dataclass(eq=False)
class _Switch:
    who: object
    target: str


def switch_on(who, target):
    """For the process, which then takes itself for `target`, until the result is given to switch_off."""
    _patch_answers()
    switch = _Switch(who, target)
    with _lock:
        _switched_on.append(switch)
        _lowered_by.set_global(who)
    return switch


def switch_off(switch):
    """What was switched on before and after it stays."""
    with _lock:
        _switched_on.remove(switch)
        _lowered_by.set_global(_switched_on[-1].who if _switched_on else None)


@contextlib.contextmanager
def in_this_thread(who, target):
    """The same for what this thread traces meanwhile."""
    _patch_answers()
    before = _lowered_by.swap_local(who), getattr(_own, "target", None)
    _own.target = target
    try:
        yield
    finally:
        _lowered_by.set_local(before[0])
        _own.target = before[1]


def _lower_on_cpu(ctx: mlir.LoweringRuleContext, *in_nodes, interpret, **params):
    who = _lowered_by.value
    if who is None or not who.takes(interpret):
        return pallas_call_module._pallas_call_lowering(ctx, *in_nodes, interpret=interpret, **params)
    return who.lower(ctx, *in_nodes, interpret=interpret, **params)


def _lower_mpmd_on_cpu(ctx: mlir.LoweringRuleContext, *in_nodes, interpret, **params):
    who = _lowered_by.value
    if who is None or not who.takes(interpret):
        return mpmd._mpmd_map_lowering(ctx, *in_nodes, interpret=interpret, **params)
    return who.lower(ctx, *in_nodes, interpret=interpret, **params)


mlir.register_lowering(pallas_call_p, _lower_on_cpu, platform="cpu")
mlir.register_lowering(mpmd.mpmd_map_p, _lower_mpmd_on_cpu, platform="cpu")


@contextlib.contextmanager
def as_target(target: str):
    """While it lasts, the chip that JAX's lowering rules ask about is `target`."""
    kind, cores = device_kind(target)
    device = jax.sharding.AbstractDevice(kind, cores, "tpu")
    if not jax.sharding.get_abstract_mesh().empty:  # inside shard_map types name this mesh; _answer tells the chip
        yield
        return
    with jax.sharding.use_abstract_mesh(jax.sharding.AbstractMesh((), (), abstract_device=device)):
        yield


def lower_as_tpu(ctx: mlir.LoweringRuleContext, *in_nodes, **params):
    """Emits what JAX emits for a TPU: a tpu_custom_call and, around it, conversions of booleans."""
    if "meshes" in params:
        return mpmd._mpmd_map_tpu_lowering(ctx, *in_nodes, interpret=False, **params)
    compiler_params = params.get("compiler_params")
    rule = None
    if compiler_params is not None:
        rule = pallas_core.get_lowering_rule(type(compiler_params), "tpu")
    if rule is None:
        rule = pallas_call_registration.pallas_call_tpu_lowering_rule
    return rule(ctx, *in_nodes, interpret=False, **params)


def find_custom_call(block: ir.Block) -> ir.Operation:
    """The last tpu_custom_call in a block."""
    found = None
    for op in block.operations:
        if op.operation.name == "stablehlo.custom_call":
            if ir.StringAttr(op.operation.attributes["call_target_name"]).value == "tpu_custom_call":
                found = op.operation
    if found is None:
        raise RuntimeError("JAX's TPU lowering made no tpu_custom_call")
    return found


def standalone_module(ctx: mlir.LoweringRuleContext, in_types: list[ir.Type], target: str, **params) -> str:
    """StableHLO text of a module whose only function is one tpu_custom_call: this pallas_call, lowered for a TPU."""
    context = ctx.module_context.context
    with context, ir.Location.unknown(context), as_target(target):
        # Lowered into a scratch function, so that the program around it is left as it is.
        scratch = ir.Module.create()
        with ir.InsertionPoint(scratch.body):
            holder = func_dialect.FuncOp("scratch", (in_types, []))
        block = holder.add_entry_block()
        with ir.InsertionPoint(block):
            lower_as_tpu(ctx, *block.arguments, **params)
        call = find_custom_call(block)

        module = ir.Module.create()
        partitions = ctx.module_context.axis_context
        count = getattr(getattr(partitions, "mesh", None), "size", 1)
        i32 = ir.IntegerType.get_signless(32)
        module.operation.attributes["sym_name"] = ir.StringAttr.get("tilecheck_capture")
        module.operation.attributes["mhlo.num_partitions"] = ir.IntegerAttr.get(i32, count)
        module.operation.attributes["mhlo.num_replicas"] = ir.IntegerAttr.get(i32, 1)
        types = [operand.type for operand in call.operands], [result.type for result in call.results]
        with ir.InsertionPoint(module.body):
            main = func_dialect.FuncOp("main", types, visibility="public")
        entry = main.add_entry_block()
        with ir.InsertionPoint(entry):
            alone = call.clone()
            for index, argument in enumerate(entry.arguments):
                alone.operands[index] = argument
            func_dialect.ReturnOp(list(alone.results))
        module.operation.verify()
        return str(module) + "\n"


def _answer():
    """What kernels that ask JAX which chip this is (when they are traced: pltpu.get_tpu_info(), the device_kind of a
    device) hear: name and cores. None: what JAX says."""
    own = getattr(_own, "target", None)
    if own is None:
        switches = _switched_on[-1:]
        own = switches[0].target if switches else None
    return device_kind(own) if own is not None else None


@functools.cache
def _patch_answers():
    """Puts _answer before JAX's own answers, for good."""
    device, abstract = jax.Device, jax.sharding.AbstractDevice
    kind, cores = tpu_info.get_device_kind, tpu_info.get_num_device_cores
    device_kind_of, abstract_cores = device.device_kind, abstract.num_cores  # the latter is None for a CPU

    def is_answered(asked):
        return asked.platform == "cpu" and _answer() is not None

    def num_cores(asked):  # a CPU has none, as a TPU's has
        if not is_answered(asked):
            raise AttributeError(f"{type(asked).__name__!r} object has no attribute 'num_cores'")
        return _answer()[1]

    tpu_info.get_device_kind = lambda: (_answer() or (kind(),))[0]
    tpu_info.get_num_device_cores = lambda: _answer()[1] if _answer() else cores()
    device.num_cores = property(num_cores)
    device.device_kind = property(lambda asked: _answer()[0] if is_answered(asked) else device_kind_of.__get__(asked))
    abstract.num_cores = property(lambda asked: _answer()[1] if is_answered(asked) else abstract_cores.__get__(asked),
                                  abstract_cores.__set__)


@dataclasses.dataclass
class Call:
    """What a tpu_custom_call says about its kernel."""

    name: str
    config: str  # backend_config
    aliases: list[tuple[int, int]]  # (operand, result)
    mesh: list[int]  # of the devices that meet in the kernel; empty: it runs alone
    operands: list[dict]  # dtype and shape
    results: list[dict]


def array_type(mlir_type):
    array = ir.ShapedType(mlir_type)  # a tensor, or the memref of a pinned buffer
    name = str(array.element_type)
    name = "u" + name[2:] if name.startswith("ui") else name
    return {"dtype": name, "shape": list(array.shape)}


def describe(ctx: mlir.LoweringRuleContext, call: ir.Operation) -> Call:
    config = ir.StringAttr(call.attributes["backend_config"]).value
    name = ir.StringAttr(call.attributes["kernel_name"]).value if "kernel_name" in call.attributes else ""
    aliases = []
    if "output_operand_aliases" in call.attributes:
        for alias in ir.ArrayAttr(call.attributes["output_operand_aliases"]):
            alias = hlo.OutputOperandAlias(alias)
            aliases.append((alias.operand_index, (alias.output_tuple_indices or [0])[0]))
    mesh = []
    axis_context = ctx.module_context.axis_context
    if isinstance(axis_context, sharding_impls.SPMDAxisContext) and axis_context.mesh.size > 1:
        if json.loads(config)["custom_call_config"].get("has_communication"):
            mesh = list(axis_context.mesh.shape.values())
    operands, results = [[array_type(v.type) for v in values] for values in (call.operands, call.results)]
    return Call(name, config, aliases, mesh, operands, results)
