#include "sim/fit/internal_scratch.h"

#include <vector>

#include "sim/fit/vmem_blocks.h"

namespace tilecheck::fit {
namespace {

constexpr int kFirstWithRegisterRelayout = 6;
constexpr int kFirstWithRowRelayout = 5;  // from v5e on, one row needs no scratch
constexpr int64_t kMostSmallRows = 4;

class SmallTiles {
 public:
  SmallTiles(const Body& body, const Target& target)
      : body_(body),
        target_(target),
        small_(body.values.size(), false),
        fewest_rows_(target.generation() >= kFirstWithRowRelayout ? 2 : 1) {}
  bool needed() { return visit(body_.top); }

 private:
  int64_t rows(const Shape& shape) const { return shape.rank() < 2 ? 1 : shape[shape.rank() - 2]; }
  bool has_small_tile(const Shape& shape) const {
    if (shape.rank() < 2) return false;
    const int64_t r = rows(shape);
    return r >= fewest_rows_ && r <= kMostSmallRows && shape.back() > target_.lanes();
  }
  bool is_small(ValueId v) const { return small_[static_cast<size_t>(v)]; }
  bool any_small(const Op& op) const {
    for (ValueId v : op.in)
      if (is_small(v)) return true;
    return false;
  }
  const Shape& shape_of(ValueId v) const { return type_of(body_, v).shape; }

  // (r,1,c) to (r,c): the rows must come together.
  bool gathers_rows(const Op& op) const {
    const Shape& from = shape_of(op.in[0]);
    const Shape& to = shape_of(op.out[0]);
    if (from.rank() < 2 || to.rank() < 2 || from.back() != to.back() || from[from.rank() - 2] != 1) return false;
    const int64_t r = rows(to);
    return r >= 2 && r <= kMostSmallRows;
  }
  // (r,g,c) to (r g,c) with g of 1, 2 or 4: rows of different tiles must meet in one register (measured on v4, v5e and
  // v5p for r = 16, 16 and 32 bits).
  bool merges_rows(const Op& op) const {
    const Shape& from = shape_of(op.in[0]);
    const Shape& to = shape_of(op.out[0]);
    if (from.rank() < 3 || to.rank() < 2 || from.back() != to.back()) return false;
    const int64_t group = rows(from);
    return group <= kMostSmallRows && rows(to) > kMostSmallRows && rows(to) > group && rows(to) % group == 0;
  }
  bool splits_rows(const Op& op) const {
    const Shape& from = shape_of(op.in[0]);
    const Shape& to = shape_of(op.out[0]);
    if (from.rank() < 2 || to.rank() < 2 || from.back() != to.back() || to[to.rank() - 2] != 1) return false;
    const int64_t r = rows(from);
    return r >= 2 && r <= kMostSmallRows;
  }
  bool spreads_row(const Op& op) const {
    const Shape& from = shape_of(op.in[0]);
    const Shape& to = shape_of(op.out[0]);
    return from.rank() >= 2 && to.rank() >= 2 && rows(from) == 1 && rows(to) > 1 && from.back() == to.back() &&
           from.back() > target_.lanes() && is_small(op.in[0]);
  }

  bool visit(const Block& block) {
    for (const Op& op : block.ops) {
      for (const Block& inner : op.blocks)
        if (visit(inner)) return true;
      if (step(op)) return true;
    }
    return false;
  }
  // Whether `op` needs the scratch; else notes the tile of its result.
  bool step(const Op& op) {
    const bool is_old = target_.generation() < kFirstWithRowRelayout;
    bool result_small = false;
    switch (op.kind) {
      case OpKind::load:
        result_small = has_small_tile(shape_of(op.out[0]));
        break;
      case OpKind::reduce:
      case OpKind::reduce_index:
      case OpKind::matmul:
      case OpKind::transpose:
        if (any_small(op)) return true;
        break;
      case OpKind::elementwise:
        if (any_small(op) && packing(type_of(body_, op.out[0]).dtype) > 1) return true;
        result_small = any_small(op);
        break;
      case OpKind::convert:
        if (any_small(op) && packing(type_of(body_, op.out[0]).dtype) > packing(type_of(body_, op.in[0]).dtype))
          return true;
        if (any_small(op) && packing(type_of(body_, op.out[0]).dtype) < packing(type_of(body_, op.in[0]).dtype) &&
            target_.generation() < kFirstWithRowRelayout && rows(shape_of(op.in[0])) == 1)
          return true;
        result_small = any_small(op);
        break;
      case OpKind::reshape:
        if (gathers_rows(op) || merges_rows(op) || (is_old && splits_rows(op))) return true;
        result_small = any_small(op) && has_small_tile(shape_of(op.out[0]));
        break;
      case OpKind::broadcast:
        if (is_old && spreads_row(op)) return true;
        break;
      case OpKind::compare:
      case OpKind::select:
      case OpKind::marker:
        result_small = any_small(op);
        break;
      default:
        break;
    }
    for (ValueId v : op.out) small_[static_cast<size_t>(v)] = result_small;
    return false;
  }

  const Body& body_;
  const Target& target_;
  std::vector<bool> small_;
  int64_t fewest_rows_;
};

}  // namespace

int64_t internal_scratch_bytes(const Body& body, const Target& target) {
  if (target.generation() >= kFirstWithRegisterRelayout) return 0;
  return SmallTiles(body, target).needed() ? kInternalScratchBytes : 0;
}

}  // namespace tilecheck::fit
