#include "sim/fit/vmem_spills.h"

#include <algorithm>
#include <cmath>

#include "sim/fit/vmem_blocks.h"

namespace tilecheck::fit {
namespace {

constexpr int64_t round_up(int64_t value, int64_t granule) { return (value + granule - 1) / granule * granule; }

bool is_control(OpKind kind) {
  return kind == OpKind::loop || kind == OpKind::while_loop || kind == OpKind::branch || kind == OpKind::scope;
}
// Results of these come late and together: what waits for them, waits in registers.
bool is_barrier(OpKind kind) {
  return kind == OpKind::reduce || kind == OpKind::reduce_index || kind == OpKind::matmul || is_control(kind);
}
// Shows other values' registers; takes none of its own.
bool is_view(OpKind kind) {
  return kind == OpKind::broadcast || kind == OpKind::reshape || kind == OpKind::concatenate || kind == OpKind::marker;
}
// Cheaper to make again than to keep.
bool is_remade(OpKind kind) { return kind == OpKind::constant || kind == OpKind::iota || kind == OpKind::load; }

// Partial results that a matmul keeps while it runs through its contraction, in (8,128) tiles per 8 rows of the result.
// Measured from libtpu 0.0.42.1 over m, k, n of 128 to 2048, operands of 16 and 32 bits.
int64_t matmul_partials(const MatmulDims& mm, int operand_bits, const Target& target) {
  if (operand_bits < 16) operand_bits = 16;
  const int64_t k = mm.k;
  const bool is_deep = k >= 1024;
  if (target.generation() >= 7) return operand_bits == 16 && is_deep && mm.n >= 1024 ? k / 256 : 0;
  if (target.generation() == 6) {
    if (mm.n <= 128) return is_deep ? 1 : 0;
    if (operand_bits == 16) return is_deep ? k / 256 + 2 : 0;
    return is_deep ? 2 : 0;
  }
  if (target.generation() < 4) return 0;
  if (operand_bits == 32 || mm.n <= 128) return is_deep ? 1 : 0;
  return k < 256 ? 0 : k / 256 + (is_deep ? 1 : 0);
}

// The most registers alive at once, block by block. A block is cut into phases at its barriers: an operation belongs to
// the phase in which its last operand is there, sunk to where its result is first needed.
class Pressure {
 public:
  Pressure(const Body& body, const std::vector<Survival>& survival, const Target& target)
      : body_(body), survival_(survival), target_(target), source_(body.values.size(), kNone) {}

  double run() { return block(body_.top, 0); }

 private:
  int64_t registers(ValueId v) const { return vector_registers(type_of(body_, v), target_); }

  // The tile values an operation needs, those of its blocks included.
  void collect_uses(const Op& op, std::vector<ValueId>& uses) const {
    for (ValueId v : op.in)
      if (!type_of(body_, v).shape.empty()) uses.push_back(v);
    for (const Block& inner : op.blocks) {
      for (ValueId v : inner.yields)
        if (!type_of(body_, v).shape.empty()) uses.push_back(v);
      for (const Op& nested : inner.ops) collect_uses(nested, uses);
    }
  }

  double block(const Block& block, double inherited) {
    const size_t n = block.ops.size();
    if (n == 0) return inherited;
    std::vector<std::vector<ValueId>> uses(n);
    for (size_t i = 0; i < n; ++i) collect_uses(block.ops[i], uses[i]);

    // Phases, as early as operands allow.
    std::vector<int> phase(n, 0);
    std::vector<std::pair<RefId, int>> stored;    // root, phase of its last store
    std::vector<std::pair<RefId, ValueId>> held;  // promoted buffers: what they hold
    int after_control = 0, latest = 0;
    for (size_t i = 0; i < n; ++i) {
      const Op& op = block.ops[i];
      int p = after_control;
      for (ValueId v : uses[i]) {
        const int at = definition(v);
        if (at >= 0)
          p = std::max(p,
                       phase[static_cast<size_t>(at)] + (is_barrier(block.ops[static_cast<size_t>(at)].kind) ? 1 : 0));
      }
      if (op.kind == OpKind::load || op.kind == OpKind::store) {
        const RefId root = root_of(body_, op.ref);
        for (const auto& [r, at] : stored)
          if (r == root) p = std::max(p, at);
        if (op.kind == OpKind::store) stored.push_back({root, p});
        if (survival_[static_cast<size_t>(root)] == Survival::promoted) {
          if (op.kind == OpKind::store) {
            held.push_back({root, op.in[0]});
          } else {
            for (auto it = held.rbegin(); it != held.rend(); ++it)
              if (it->first == root) {
                source_[static_cast<size_t>(op.out[0])] = it->second;
                break;
              }
          }
        }
      }
      if (is_control(op.kind)) {
        p = std::max(p, latest + 1);
        after_control = p + 1;
      } else if (op.kind == OpKind::dma_start || op.kind == OpKind::dma_wait) {
        p = std::max(p, latest);
      }
      phase[i] = p;
      latest = std::max(latest, p);
      for (ValueId v : op.out) define(v, static_cast<int>(i));
    }

    // Users of each operation's results, looking through views.
    std::vector<std::vector<int>> users(n);
    for (size_t i = 0; i < n; ++i)
      for (ValueId v : uses[i]) add_user(v, static_cast<int>(i), users);
    std::vector<bool> is_yielded(n, false);
    for (ValueId v : block.yields)
      if (definition(v) >= 0) is_yielded[static_cast<size_t>(definition(v))] = true;

    // Sink what waits for no barrier to its first use.
    for (size_t i = n; i-- > 0;) {
      const Op& op = block.ops[i];
      if (is_barrier(op.kind) || op.kind == OpKind::store || op.kind == OpKind::load || op.kind == OpKind::dma_start ||
          op.kind == OpKind::dma_wait || users[i].empty() || is_yielded[i])
        continue;
      int first = INT32_MAX;
      for (int user : users[i]) first = std::min(first, phase[static_cast<size_t>(user)]);
      phase[i] = std::max(phase[i], first);
    }

    // What lives over each phase's end.
    std::vector<double> live(static_cast<size_t>(latest) + 2, 0);
    for (size_t i = 0; i < n; ++i) {
      const Op& op = block.ops[i];
      if (is_view(op.kind) || is_remade(op.kind)) continue;
      int last = is_yielded[i] ? latest + 1 : -1;
      for (int user : users_through_views(static_cast<int>(i), block, users))
        last = std::max(last, phase[static_cast<size_t>(user)]);
      for (ValueId v : op.out) {
        const double size = static_cast<double>(registers(v));
        for (int p = phase[i] + (is_barrier(op.kind) ? 1 : 0); p < last; ++p) live[static_cast<size_t>(p)] += size;
      }
    }
    double peak = inherited + *std::max_element(live.begin(), live.end());
    // Positions are of this block; the blocks inside must not see them.
    for (const Op& op : block.ops)
      for (ValueId v : op.out) define(v, -1);

    for (size_t i = 0; i < n; ++i) {
      const Op& op = block.ops[i];
      const double here = inherited + live[static_cast<size_t>(phase[i])];
      if (op.kind == OpKind::matmul) {
        const int64_t groups = round_up(op.matmul.m, target_.sublanes()) / target_.sublanes();
        const int operand_bits =
            std::max(memory_bits(type_of(body_, op.in[0]).dtype), memory_bits(type_of(body_, op.in[1]).dtype));
        peak =
            std::max(peak, inherited + static_cast<double>(groups * matmul_partials(op.matmul, operand_bits, target_)));
      }
      if (!is_control(op.kind)) continue;
      double carried = 0;
      if (op.kind == OpKind::loop || op.kind == OpKind::while_loop)
        for (ValueId v : op.out) carried += static_cast<double>(registers(v));
      if (carried > 0) peak = std::max(peak, inherited + 2 * carried);
      for (const Block& inner : op.blocks) peak = std::max(peak, this->block(inner, here + carried));
    }
    return peak;
  }

  int definition(ValueId v) const {
    return static_cast<size_t>(v) < defined_at_.size() ? defined_at_[static_cast<size_t>(v)] : -1;
  }
  void define(ValueId v, int at) {
    if (defined_at_.empty()) defined_at_.assign(body_.values.size(), -1);
    defined_at_[static_cast<size_t>(v)] = at;
  }
  void add_user(ValueId v, int user, std::vector<std::vector<int>>& users) const {
    while (v != kNone) {
      if (const int at = definition(v); at >= 0 && at != user) users[static_cast<size_t>(at)].push_back(user);
      v = source_[static_cast<size_t>(v)];
    }
  }
  // Users of operation `at`, those of its views included.
  std::vector<int> users_through_views(int at, const Block& block, const std::vector<std::vector<int>>& users) const {
    std::vector<int> found, todo = {at};
    while (!todo.empty()) {
      const int i = todo.back();
      todo.pop_back();
      for (int user : users[static_cast<size_t>(i)]) {
        if (is_view(block.ops[static_cast<size_t>(user)].kind))
          todo.push_back(user);
        else
          found.push_back(user);
      }
    }
    return found;
  }

  const Body& body_;
  const std::vector<Survival>& survival_;
  const Target& target_;
  std::vector<ValueId> source_;  // loads of promoted buffers: the value stored
  std::vector<int> defined_at_;  // position in the block at hand, -1 elsewhere
};

}  // namespace

int64_t vector_registers(const TileType& type, const Target& target) {
  const Shape& shape = type.shape;
  if (shape.empty()) return 0;
  const int64_t lanes = target.lanes(), sublanes = target.sublanes();
  if (shape.rank() == 1) return round_up(shape[0], sublanes) / sublanes;  // as reductions over lanes leave them
  int64_t count = 1;
  for (int i = 0; i + 2 < shape.rank(); ++i) count *= shape[i];
  const int64_t rows = sublanes * packing(type.dtype);
  return count * (round_up(shape[shape.rank() - 2], rows) / rows) * (round_up(shape.back(), lanes) / lanes);
}

SpillEstimate spill_estimate(const Body& body, const std::vector<Survival>& survival, const Target& target) {
  SpillEstimate estimate;
  estimate.pressure_registers = Pressure(body, survival, target).run();
  const double spilled =
      std::max(0.0, estimate.pressure_registers - static_cast<double>(target[FigureId::spill_free_registers]));
  const auto bytes = [&](double registers) {
    return static_cast<int64_t>(std::llround(std::max(0.0, registers))) * target.vector_register_bytes();
  };
  estimate.bytes = bytes(spilled);
  estimate.min_bytes = bytes(spilled * 0.85);
  estimate.max_bytes = bytes(spilled * 1.15);
  return estimate;
}

}  // namespace tilecheck::fit
