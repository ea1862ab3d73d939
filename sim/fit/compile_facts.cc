#include "sim/fit/compile_facts.h"

#include <algorithm>
#include <numeric>

namespace tilecheck::fit {
namespace {

constexpr int kMaxDepth = 64;

}  // namespace

CompileFacts::CompileFacts(const Body& body) : body_(body), scalars_(body), definitions_(body.values.size()) {
  index(body.top);
  for (int64_t extent : body.grid) step_.push_back(extent == 1 ? 0 : kUnknownCoordinate);
  scalars_.move_to(step_.span(), body.grid.span());
}

void CompileFacts::index(const Block& block) {
  for (const Op& op : block.ops) {
    for (ValueId v : op.out) definitions_[static_cast<size_t>(v)] = &op;
    for (const Block& inner : op.blocks) index(inner);
  }
}

std::optional<int64_t> CompileFacts::constant(ValueId value) {
  return value == kNone ? std::nullopt : scalars_.get(value);
}

std::optional<int64_t> CompileFacts::constant(const Offset& offset) {
  return offset.is_constant() ? std::optional(offset.constant) : constant(offset.value);
}

int64_t CompileFacts::divisor(ValueId value) { return divisor(value, 0); }

int64_t CompileFacts::divisor(const Offset& offset) {
  return offset.is_constant() ? std::abs(offset.constant) : divisor(offset.value, 0);
}

int64_t CompileFacts::divisor(ValueId value, int depth) {
  if (value == kNone || depth > kMaxDepth) return 1;
  if (const std::optional<int64_t> known = constant(value)) return std::abs(*known);
  const Op* op = definition(value);
  if (op == nullptr) return 1;
  const auto in = [&](size_t i) { return i < op->in.size() ? divisor(op->in[i], depth + 1) : 1; };
  switch (op->kind) {
    case OpKind::marker:
      return std::lcm(std::max<int64_t>(1, static_cast<int64_t>(op->number)), std::max<int64_t>(1, in(0)));
    case OpKind::convert:
    case OpKind::reshape:
    case OpKind::broadcast:
      return in(0);
    case OpKind::select:
      return std::gcd(in(1), in(2));
    case OpKind::elementwise:
      switch (op->fn) {
        case Fn::neg:
          return in(0);
        case Fn::add:
        case Fn::sub:
        case Fn::min:
        case Fn::rem:
          return std::gcd(in(0), in(1));
        case Fn::mul: {
          if (!constant(op->in[0]) && !constant(op->in[1])) return std::max(in(0), in(1));
          int64_t product = 0;
          return __builtin_mul_overflow(in(0), in(1), &product) ? 1 : product;
        }
        case Fn::div: {
          const std::optional<int64_t> by = constant(op->in[1]);
          return by && *by > 0 && in(0) % *by == 0 ? in(0) / *by : 1;
        }
        default:
          return 1;
      }
    default:
      return 1;
  }
}

bool CompileFacts::lanes_alike(ValueId value, int depth) const {
  if (value == kNone || depth > kMaxDepth) return false;
  const Op* op = definition(value);
  if (op == nullptr) return false;
  switch (op->kind) {
    case OpKind::constant:
      return op->is_splat;
    case OpKind::reduce:
    case OpKind::reduce_index:
      return std::find(op->axes.begin(), op->axes.end(), type_of(body_, op->in[0]).shape.rank() - 1) != op->axes.end();
    case OpKind::broadcast:
      return type_of(body_, op->in[0]).shape.rank() == 0 || lanes_alike(op->in[0], depth + 1);
    case OpKind::reshape:
      return lanes_alike(op->in[0], depth + 1);
    case OpKind::elementwise:
    case OpKind::convert:
    case OpKind::compare:
    case OpKind::select:
      return std::all_of(op->in.begin(), op->in.end(), [&](ValueId v) { return lanes_alike(v, depth + 1); });
    default:
      return false;
  }
}

CompileFacts::Slice CompileFacts::slice(RefId ref) {
  Slice s;
  const RefInfo* info = &body_.refs[static_cast<size_t>(ref)];
  const auto minor = [](const Shape& shape, int from_end) {
    return shape.rank() > from_end ? shape[shape.rank() - 1 - from_end] : 1;
  };
  s.rows = s.rows_multiple = minor(info->shape, 1);
  s.columns = s.columns_multiple = minor(info->shape, 0);
  while (info->base != kNone) {
    const RefInfo& base = body_.refs[static_cast<size_t>(info->base)];
    if (!info->starts.empty() && info->shape.rank() == base.shape.rank()) {
      if (!s.is_sliced && !info->sizes.empty()) {
        const auto measure = [&](int from_end, int64_t& extent, bool& is_known, int64_t& multiple) {
          const int axis = base.shape.rank() - 1 - from_end;
          if (axis < 0 || info->sizes[static_cast<size_t>(axis)].is_constant()) return;
          const Offset& size = info->sizes[static_cast<size_t>(axis)];
          is_known = constant(size).has_value();
          extent = constant(size).value_or(0);
          multiple = divisor(size);
        };
        measure(1, s.rows, s.rows_sized, s.rows_multiple);
        measure(0, s.columns, s.columns_sized, s.columns_multiple);
      }
      s.is_sliced = true;
      for (const Offset& start : info->starts) s.is_dynamic |= !constant(start).has_value();
      const auto add = [&](int from_end, int64_t& divisor_sum, bool& known, int64_t& at) {
        const int axis = base.shape.rank() - 1 - from_end;
        if (axis < 0) return;
        const Offset& start = info->starts[static_cast<size_t>(axis)];
        divisor_sum = std::gcd(divisor_sum, divisor(start));
        const std::optional<int64_t> number = constant(start);
        known &= number.has_value();
        at += number.value_or(0);
      };
      add(1, s.row_divisor, s.rows_known, s.row);
      add(0, s.column_divisor, s.columns_known, s.column);
    } else if (minor(info->shape, 0) != minor(base.shape, 0) || minor(info->shape, 1) != minor(base.shape, 1)) {
      // A squeeze of one of the last two dimensions (its extent is 1), or a reshape or bitcast that moves them.
      const bool squeezes_rows = info->shape.rank() + 1 == base.shape.rank() && minor(base.shape, 1) == 1 &&
                                 minor(info->shape, 0) == minor(base.shape, 0);
      if (!squeezes_rows || s.is_sliced) break;
      s.rows = 1;
    }
    info = &base;
  }
  s.root = static_cast<RefId>(info - body_.refs.data());
  return s;
}

std::string type_text(const TileType& type) {
  std::string text;
  for (int64_t d : type.shape) text += std::to_string(d) + "x";
  return text + std::string(tilecheck::name(type.dtype));
}

}  // namespace tilecheck::fit
