"""pallas_calls handed to Tilecheck: JAX's TPU lowering, retargeted to an XLA FFI handler on the CPU."""

import json

from jax._src import sharding_impls
from jax._src.interpreters import mlir
from jax._src.lib.mlir import ir
from jax._src.lib.mlir.dialects import hlo

from tilecheck import _lowering

FFI_TARGET = "tilecheck_call"


class Executor:
    """Lowers pallas_calls while it is the one of _lowering.pallas_calls_lowered_by. options: what the handler reads."""

    def __init__(self, target: str, options: dict, take_over_interpret: bool = False):
        self.target = target
        self.options = json.dumps(options | {"target": target}, sort_keys=True)
        self.take_over_interpret = take_over_interpret

    # Equal executors share what JAX compiled.
    def _key(self):
        return self.target, self.options, self.take_over_interpret

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
        new = self._retarget(ctx, old)
        renamed = {before: after for before, after in zip(old.results, new.results)}
        for before, after in renamed.items():
            before.replace_all_uses_with(after)
        results = [[renamed.get(r, r) for r in group] if isinstance(group, (list, tuple)) else renamed.get(group, group) for group in results]
        old.erase()
        return results

    def _retarget(self, ctx, old: ir.Operation) -> ir.Operation:
        """The same call to the FFI handler. Where devices meet in the kernel, its number comes as one more operand."""
        config = ir.StringAttr(old.attributes["backend_config"]).value
        axis_context = ctx.module_context.axis_context
        mesh = axis_context.mesh if isinstance(axis_context, sharding_impls.SPMDAxisContext) else None
        devices, mesh_shape = 1, []
        if mesh is not None and json.loads(config)["custom_call_config"].get("has_communication"):
            devices, mesh_shape = mesh.size, list(mesh.shape.values())
        i32, i64 = ir.IntegerType.get_signless(32), ir.IntegerType.get_signless(64)
        attributes = {name: old.attributes[name] for name in old.attributes}
        kernel = attributes.pop("kernel_name", None)
        attributes |= {
            "call_target_name": ir.StringAttr.get(FFI_TARGET),
            "api_version": ir.IntegerAttr.get(i32, 4),
            "backend_config": ir.DictAttr.get({
                "config": ir.StringAttr.get(config),
                "devices": ir.IntegerAttr.get(i64, devices),
                "options": ir.StringAttr.get(self.options),
            }),
        }
        operands = list(old.operands)
        with ir.InsertionPoint(old), old.location:
            if devices > 1:
                operands.append(hlo.partition_id())
                if "operand_layouts" in attributes:
                    scalar = ir.Attribute.parse("dense<> : tensor<0xindex>")
                    attributes["operand_layouts"] = ir.ArrayAttr.get([*ir.ArrayAttr(attributes["operand_layouts"]), scalar])
            return ir.Operation.create("stablehlo.custom_call", results=[r.type for r in old.results], operands=operands, attributes=attributes)

