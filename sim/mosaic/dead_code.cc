#include "sim/mosaic/dead_code.h"

#include <algorithm>
#include <vector>

namespace tilecheck::mosaic {
namespace {

class Remover {
 public:
  Remover(Function& function, RemovedOps& removed) : function_(function), removed_(removed) {
    uses_.assign(function.value_types.size(), 0);
    walk(function.body, [&](const Op& op) {
      for (ValueId id : op.operands) ++uses_[id];
    });
  }

  // Users stand after what they use, so one pass from the end sees each operation after all its users.
  void run(Region& region) {
    for (Block& block : region.blocks) {
      size_t kept = block.ops.size();
      for (size_t i = block.ops.size(); i-- > 0;) {
        Op& op = block.ops[i];
        for (Region& inner : op.regions) run(inner);
        if (is_dead(op)) {
          forget(op);
        } else if (--kept != i) {
          block.ops[kept] = op;
        }
      }
      block.ops = block.ops.subspan(kept);
    }
  }

 private:
  bool is_dead(const Op& op) const {
    for (uint32_t i = 0; i < op.result_count; ++i)
      if (uses_[op.result(i)] != 0) return false;
    return is_removable(op);
  }

  static bool is_removable(const Op& op) {
    if (op.code == OpCode::unknown) return false;
    switch (info(op.code).effect) {
      case Effect::pure:
      case Effect::read:
      case Effect::allocate:
        return true;
      case Effect::control:
        if (op.code == OpCode::scf_while || op.code == OpCode::func_call) return false;
        for (const Region& region : op.regions)
          for (const Block& block : region.blocks)
            for (const Op& inner : block.ops)
              if (!is_removable(inner) && !is_terminator(inner)) return false;
        return true;
      case Effect::write:
      case Effect::sync:
      case Effect::annotation:
      case Effect::terminator:
        return false;
    }
    return false;
  }
  static bool is_terminator(const Op& op) {
    return op.code != OpCode::unknown && info(op.code).effect == Effect::terminator;
  }

  void forget(const Op& op) {
    ++removed_.ops;
    if (is_load(op.code)) {
      ++removed_.loads;
      removed_.load_bytes += load_bytes(function_, op);
    }
    for (ValueId id : op.operands) --uses_[id];
    for (const Region& region : op.regions)
      for (const Block& block : region.blocks)
        for (const Op& inner : block.ops) forget(inner);
  }

  Function& function_;
  RemovedOps& removed_;
  std::vector<uint32_t> uses_;
};

}  // namespace

bool is_load(OpCode code) {
  switch (code) {
    case OpCode::vector_load:
    case OpCode::memref_load:
    case OpCode::tpu_vector_load:
    case OpCode::tpu_strided_load:
    case OpCode::tpu_load:
      return true;
    default:
      return false;
  }
}

int64_t load_bytes(const Function& function, const Op& op) {
  const Type& type = function.type_of(op.result());
  const int64_t elements = type.is_vector() ? element_count(type.shape) : 1;
  return (elements * bits(type.dtype) + 7) / 8;
}

RemovedOps remove_dead_code(Module& module) {
  RemovedOps removed;
  for (Function& function : module.functions) Remover(function, removed).run(function.body);
  return removed;
}

}  // namespace tilecheck::mosaic
