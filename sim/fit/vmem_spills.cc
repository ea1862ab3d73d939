#include "sim/fit/vmem_spills.h"

#include <algorithm>
#include <cmath>

#include "sim/fit/vmem_blocks.h"
#include "sim/fit/vmem_rows.h"

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
int64_t matmul_partials(const MatmulDims& mm, int operand_bits, bool is_integer, const Target& target) {
  // Integers of 8 bits pass two to a place: the contraction is half as deep. Then the rule of 16 bits holds from 2048
  // on, that of 32 bits below (k of 1024 and 2048).
  const bool is_integer8 = is_integer && operand_bits <= 8;
  if (is_integer8 && target.generation() != 6) operand_bits = 32;
  if (is_integer8 && target.generation() == 6) operand_bits = mm.k >= 2048 ? 16 : 32;
  if (operand_bits < 16) operand_bits = 16;
  const int64_t k = is_integer8 && operand_bits == 16 ? mm.k / 2 : mm.k;
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

// The share, in registers of 32 bits, of a matmul's turned operand that waits in memory until the matmul takes it: by
// what libtpu 0.0.42.1 spills for m, k, n of 128 to 1024.
double turned_share(const Target& target) { return target.generation() <= 4 ? 0.4 : 0.225; }

// The share of a spread row (below) that waits: the `number`-th of its block, from 0. Measured from libtpu 0.0.42.1 on
// layer norms and softmaxes with one to three such rows of 16 to 64 registers over 1 to 16 groups of 8 rows: from v6e
// on each waits; before, the first is taken as it is used, though half of it waits where 16 bits are unpacked.
double waiting_share(int number, bool is_packed, const Target& target) {
  if (target.generation() >= 6 || number > 0) return 1;
  return is_packed ? 0.5 : 0;
}

// Registers of the file that are never free for values that wait.
constexpr double kRegistersInUse = 12;

// Two matmul results of at most so many registers meet without either waiting as a whole (measured: 128 do, 512 do
// not).
constexpr double kPiecemealRegisters = 128;

// What the compiler's schedule makes of an estimate: nine in ten measured rows lie between.
constexpr double kLowShare = 0.5, kLowRegisters = 16, kHighShare = 1.3, kHighRegisters = 64;

// Registers that a loop's carried values take in memory: the old and the new ones, less what the register file holds
// of them while they are few. Measured from 32 to 1024 registers carried.
double carried_registers(double carried, double register_file) {
  return carried > 0 ? std::max(0.0, 2 * carried - std::max(0.0, 1.06 * register_file - 0.43 * carried)) : 0;
}

// The most registers alive at once, block by block. A block is cut into phases at its barriers: an operation belongs to
// the phase in which its last operand is there, sunk to where its result is first needed.
class Pressure {
 public:
  Pressure(const Body& body, const std::vector<Survival>& survival, const Target& target)
      : body_(body), survival_(survival), target_(target), source_(body.values.size(), kNone) {}

  double run() { return block(body_.top, 0); }
  // Registers' worth that goes to memory however many are free.
  double kept() const { return kept_; }
  // The most alive where nothing but unpacking holds values: little is left to the scheduler there.
  double unpacked_peak() const { return unpacked_peak_; }

 private:
  // Chips before v4 have no arithmetic on packed floats: what is computed of them is unpacked, as a whole.
  bool is_unpacked(ValueId v) const {
    const TileType& type = type_of(body_, v);
    return target_.generation() < 4 && !type.shape.empty() && is_floating(type.dtype) && memory_bits(type.dtype) < 32;
  }
  // Results of these come late and together.
  bool is_late(const Op& op) const {
    if (is_barrier(op.kind)) return true;
    const bool computes = op.kind == OpKind::elementwise || op.kind == OpKind::compare || op.kind == OpKind::select ||
                          op.kind == OpKind::convert || op.kind == OpKind::transpose;
    return computes && std::any_of(op.in.begin(), op.in.end(), [&](ValueId v) { return is_unpacked(v); });
  }
  int64_t unpacked_registers(ValueId v) const {
    return vector_registers({DType::f32, type_of(body_, v).shape}, target_);
  }
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
          p = std::max(p, phase[static_cast<size_t>(at)] + (is_late(block.ops[static_cast<size_t>(at)]) ? 1 : 0));
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

    const std::vector<double> spread = spread_rows(block, users);

    // Sink what waits for no barrier to its first use.
    for (size_t i = n; i-- > 0;) {
      const Op& op = block.ops[i];
      if (is_late(op) || op.kind == OpKind::store || op.kind == OpKind::load || op.kind == OpKind::dma_start ||
          op.kind == OpKind::dma_wait || users[i].empty() || is_yielded[i] || spread[i] > 0)
        continue;
      int first = INT32_MAX;
      for (int user : users[i]) first = std::min(first, phase[static_cast<size_t>(user)]);
      phase[i] = std::max(phase[i], first);
    }

    const bool only_reduces = std::all_of(block.ops.begin(), block.ops.end(), [&](const Op& op) {
      return !is_late(op) || op.kind == OpKind::reduce || op.kind == OpKind::reduce_index;
    });
    const RowStream rows = only_reduces ? row_stream(body_, block, phase, latest, target_) : RowStream(latest);
    const Waits waits = waiting_values(block, rows, phase, latest, users, is_yielded, spread);
    std::vector<double> live(static_cast<size_t>(latest) + 2, 0);
    for (size_t p = 0; p < live.size(); ++p) live[p] = waits.at(static_cast<double>(p) + 1);
    double peak = inherited + waits.most();
    peak = std::max(peak, inherited + meeting_products(block, phase));
    const bool only_unpacks =
        std::none_of(block.ops.begin(), block.ops.end(), [](const Op& op) { return is_barrier(op.kind); }) &&
        std::any_of(block.ops.begin(), block.ops.end(), [&](const Op& op) { return is_late(op); });
    if (only_unpacks) unpacked_peak_ = std::max(unpacked_peak_, peak);
    // Where several things are waited for one after the other, some of the file serves what goes on meanwhile.
    if (rows.row_count > 0)
      peak += row_registers_in_use(target_);
    else if (latest > 1 && target_.generation() >= 4 &&
             peak > static_cast<double>(target_[FigureId::spill_free_registers]))
      peak += kRegistersInUse;
    std::vector<const Op*> maker(turned_matmuls(block) ? body_.values.size() : 0, nullptr);
    if (!maker.empty())
      for (const Op& op : block.ops)
        for (ValueId v : op.out) maker[static_cast<size_t>(v)] = &op;
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
        const bool is_integer = !is_floating(type_of(body_, op.in[0]).dtype);
        peak = std::max(peak, inherited + static_cast<double>(
                                              groups * matmul_partials(op.matmul, operand_bits, is_integer, target_)));
      }
      if (op.kind == OpKind::matmul)
        for (size_t side = 0; side < 2; ++side)
          if ((side == 0 && op.matmul.lhs_transposed) || is_turned(op.in[side], maker))
            keep_turned(static_cast<double>(unpacked_registers(op.in[side])));
      if (op.kind == OpKind::store && widens_store(op)) {
        unpacked_peak_ = std::max(unpacked_peak_, inherited + static_cast<double>(unpacked_registers(op.in[0])));
        peak = std::max(peak, unpacked_peak_);
      }
      if (!is_control(op.kind)) continue;
      double carried = 0;
      if (op.kind == OpKind::loop || op.kind == OpKind::while_loop)
        for (ValueId v : op.out) carried += static_cast<double>(registers(v));
      if (carried > 0) peak = std::max(peak, inherited + 2 * carried);
      kept_ = std::max(kept_, carried_registers(carried, static_cast<double>(target_[FigureId::spill_free_registers])));
      for (const Block& inner : op.blocks) peak = std::max(peak, this->block(inner, here + carried));
    }
    return peak;
  }

  Waits waiting_values(const Block& block, const RowStream& rows, const std::vector<int>& phase, int latest,
                       const std::vector<std::vector<int>>& users, const std::vector<bool>& is_yielded,
                       const std::vector<double>& spread) const {
    Waits waits(rows.under_way);
    for (size_t i = 0; i < block.ops.size(); ++i) {
      const Op& op = block.ops[i];
      const bool is_unpacked_load = op.kind == OpKind::load && !op.out.empty() && is_unpacked(op.out[0]);
      if (spread[i] == kCountedSpread) continue;
      const bool is_kept_load = op.kind == OpKind::load && !op.out.empty() && rows.keeps_loads &&
                                rows.has_rows_of(type_of(body_, op.out[0]).shape);
      const bool is_remade_here = is_remade(op.kind) && !is_unpacked_load && !is_kept_load;
      if (spread[i] == 0 && (is_view(op.kind) || is_remade_here)) continue;
      const int last = is_yielded[i] ? latest + 1 : last_use(static_cast<int>(i), block, phase, users);
      if (rows.pushes_early && op.kind == OpKind::reduce && phase[i] > 0) {
        const int taken = definition(op.in[0]);
        const bool waits_anyway =
            !rows.folds_registers && taken >= 0 && last_use(taken, block, phase, users) > phase[i];
        const auto groups = static_cast<double>(registers(op.out[0]));
        if (!waits_anyway) waits.add_as_back(groups, phase[i] - 1);
        if (!waits_anyway) waits.add_as_pushed(-groups, phase[i]);
      }
      const int made = phase[i] + (is_barrier(op.kind) ? 1 : 0);
      for (ValueId v : op.out) {
        const double size =
            spread[i] > 0 ? spread[i] : static_cast<double>(is_unpacked(v) ? unpacked_registers(v) : registers(v));
        if (spread[i] == 0 && rows.has_rows_of(type_of(body_, v).shape) && last <= latest)
          wait_for_rows(op,
                        op.kind != OpKind::convert || last == latest || !is_widened_load(op, block) ? size : size / 2,
                        made, last, latest, rows, waits);
        else if (made < last)
          waits.add(size, made, last);
      }
    }
    waits.settle();
    return waits;
  }

  int last_use(int at, const Block& block, const std::vector<int>& phase,
               const std::vector<std::vector<int>>& users) const {
    int last = -1;
    for (int user : users_through_views(at, block, users)) last = std::max(last, phase[static_cast<size_t>(user)]);
    return last;
  }

  // Registers that wait group by group, from phase `made` to phase `last`.
  static void wait_for_rows(const Op& op, double size, int made, int last, int latest, const RowStream& rows,
                            Waits& waits) {
    const bool is_result = is_barrier(op.kind);
    if (is_result ? last < made : last <= made) return;
    const double made_early = is_result ? 1 : rows.early_share[static_cast<size_t>(made)];
    const double used_early = last == latest ? 1 : rows.early_share[static_cast<size_t>(last)];
    waits.add_as_back(size * made_early, made - 1);
    waits.add_as_pushed(size * (1 - made_early), made);
    waits.add_as_back(-size * used_early, last - 1);
    waits.add_as_pushed(-size * (1 - used_early), last);
  }

  // 16 bits of a load, widened: the packed half is kept and widened again where it is needed much later.
  bool is_widened_load(const Op& op, const Block& block) const {
    if (op.kind != OpKind::convert || memory_bits(type_of(body_, op.in[0]).dtype) != 16) return false;
    const int at = definition(op.in[0]);
    return at >= 0 && block.ops[static_cast<size_t>(at)].kind == OpKind::load;
  }

  static constexpr double kCountedSpread = -1;
  // By operation: the registers that a row waits in which is loaded and then spread over the rows of a block, as a
  // layer norm's scale and bias are. It is there from the start, unlike what is loaded to be used once.
  std::vector<double> spread_rows(const Block& block, const std::vector<std::vector<int>>& users) const {
    std::vector<double> waiting(block.ops.size(), 0);
    int number = 0;
    for (size_t i = 0; i < block.ops.size(); ++i) {
      const Op& op = block.ops[i];
      if (op.kind != OpKind::broadcast || users[i].empty()) continue;
      const Shape &from = type_of(body_, op.in[0]).shape, &to = type_of(body_, op.out[0]).shape;
      const bool is_row = !from.empty() && to.rank() >= 2 && from.back() == to.back() && to.back() > 1 &&
                          (from.rank() == 1 || from[from.rank() - 2] == 1);
      const int64_t groups = is_row ? round_up(to[to.rank() - 2], target_.sublanes()) / target_.sublanes() : 0;
      // v4 reads one register a cycle: with a single group of rows it reads each as it is used.
      if (!is_row || to[to.rank() - 2] == 1 || (target_.generation() == 4 && groups == 1)) continue;
      int at = definition(op.in[0]);
      const bool is_converted = at >= 0 && block.ops[static_cast<size_t>(at)].kind == OpKind::convert;
      bool is_packed = false;
      if (is_converted) {
        is_packed = memory_bits(type_of(body_, block.ops[static_cast<size_t>(at)].in[0]).dtype) < 32;
        at = definition(block.ops[static_cast<size_t>(at)].in[0]);
      }
      if (at < 0 || block.ops[static_cast<size_t>(at)].kind != OpKind::load) continue;
      if (is_converted) waiting[static_cast<size_t>(definition(op.in[0]))] = kCountedSpread;
      const auto row_registers = static_cast<double>(round_up(to.back(), target_.lanes()) / target_.lanes());
      waiting[i] = waiting_share(number++, is_packed, target_) * row_registers;
    }
    return waiting;
  }

  // The largest matmul result that waits for another matmul of the same phase to be combined with it. Small ones are
  // made piece by piece, side by side.
  double meeting_products(const Block& block, const std::vector<int>& phase) {
    std::vector<int> product(body_.values.size(), -1);  // by value: the matmul it is computed from, element by element
    double most = 0;
    for (size_t i = 0; i < block.ops.size(); ++i) {
      const Op& op = block.ops[i];
      if (op.out.empty()) continue;
      int from = op.kind == OpKind::matmul ? static_cast<int>(i) : -1;
      const bool passes_on =
          op.kind == OpKind::elementwise || op.kind == OpKind::select || op.kind == OpKind::convert || is_view(op.kind);
      for (ValueId v : op.in) {
        const int other = passes_on ? product[static_cast<size_t>(v)] : -1;
        if (other < 0) continue;
        if (from >= 0 && from != other && phase[static_cast<size_t>(from)] == phase[static_cast<size_t>(other)])
          most = std::max(most, static_cast<double>(registers(v)));
        from = std::max(from, other);
      }
      product[static_cast<size_t>(op.out[0])] = from;
    }
    return most > kPiecemealRegisters ? most : 0;
  }
  // What fits the register file waits there.
  void keep_turned(double turned) {
    if (turned > static_cast<double>(target_[FigureId::spill_free_registers]) + kRegistersInUse)
      kept_ = std::max(kept_, turned_share(target_) * turned);
  }
  static bool turned_matmuls(const Block& block) {
    return std::any_of(block.ops.begin(), block.ops.end(), [](const Op& op) { return op.kind == OpKind::transpose; });
  }
  // Whether a value is a transposed one, but for operations element by element.
  static bool is_turned(ValueId v, const std::vector<const Op*>& maker) {
    constexpr int kMaxDepth = 4;
    if (maker.empty()) return false;
    for (int depth = 0; depth < kMaxDepth; ++depth) {
      const Op* op = maker[static_cast<size_t>(v)];
      if (op == nullptr || op->in.empty()) return false;
      if (op->kind == OpKind::transpose) return true;
      if (op->kind != OpKind::convert && op->kind != OpKind::elementwise && !is_view(op->kind)) return false;
      v = op->in[0];
    }
    return false;
  }
  // v4 has no masks inside a register: the last lanes of whole tiles of 8-bit rows are stored unpacked.
  bool widens_store(const Op& op) const {
    const TileType& type = type_of(body_, op.in[0]);
    const int rank = type.shape.rank();
    if (target_.generation() != 4 || rank < 2 || memory_bits(type.dtype) != 8) return false;
    const int64_t tile_rows = target_.sublanes() * packing(type.dtype);
    return type.shape[rank - 2] % tile_rows == 0 && type.shape[rank - 1] % target_.lanes() != 0;
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
  double kept_ = 0, unpacked_peak_ = 0;
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
  Pressure pressure(body, survival, target);
  estimate.pressure_registers = pressure.run();
  const double spilled = std::max(
      pressure.kept(), estimate.pressure_registers - static_cast<double>(target[FigureId::spill_free_registers]));
  const auto bytes = [&](double registers) {
    return static_cast<int64_t>(std::llround(std::max(0.0, registers))) * target.vector_register_bytes();
  };
  const bool is_sure = pressure.unpacked_peak() > 0 && pressure.unpacked_peak() >= estimate.pressure_registers &&
                       pressure.kept() < spilled;
  const double range = is_sure ? 0.02 : 0.15;
  estimate.bytes = bytes(spilled);
  estimate.min_bytes = bytes(spilled * (1 - range));
  estimate.max_bytes = bytes(spilled * (1 + range));
  estimate.low_bytes = is_sure ? estimate.min_bytes : bytes(kLowShare * spilled - kLowRegisters);
  estimate.high_bytes = is_sure ? estimate.max_bytes : bytes(kHighShare * spilled + kHighRegisters);
  if (estimate.bytes == 0) estimate.low_bytes = estimate.high_bytes = 0;
  return estimate;
}

}  // namespace tilecheck::fit
