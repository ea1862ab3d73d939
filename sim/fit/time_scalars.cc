#include "sim/fit/time_scalars.h"

#include <limits>

namespace tilecheck::fit {
namespace {

// Deep chains are cut: a scalar that takes more operations than this counts as not known.
constexpr int kMaxDepth = 200;

std::optional<int64_t> apply(Fn fn, int64_t a, int64_t b) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  int64_t r = 0;
  switch (fn) {
    case Fn::add:
      return __builtin_add_overflow(a, b, &r) ? std::nullopt : std::optional(r);
    case Fn::sub:
      return __builtin_sub_overflow(a, b, &r) ? std::nullopt : std::optional(r);
    case Fn::mul:
      return __builtin_mul_overflow(a, b, &r) ? std::nullopt : std::optional(r);
    case Fn::div:
      return b == 0 || (b == -1 && a == kMin) ? std::optional<int64_t>(-1) : a / b;
    case Fn::rem:
      return b == 0 || b == -1 ? std::optional(b == 0 ? a : 0) : a % b;
    case Fn::min:
      return std::min(a, b);
    case Fn::max:
      return std::max(a, b);
    case Fn::bit_and:
      return a & b;
    case Fn::bit_or:
      return a | b;
    case Fn::bit_xor:
      return a ^ b;
    case Fn::shift_left:
      return b < 0 || b > 62 ? std::nullopt : std::optional(static_cast<int64_t>(static_cast<uint64_t>(a) << b));
    case Fn::shift_right_logical:
      return b < 0 || b > 62 || a < 0 ? std::nullopt : std::optional(a >> b);
    case Fn::shift_right_arithmetic:
      return b < 0 || b > 62 ? std::nullopt : std::optional(a >> b);
    case Fn::eq:
      return a == b;
    case Fn::ne:
      return a != b;
    case Fn::lt:
      return a < b;
    case Fn::le:
      return a <= b;
    case Fn::gt:
      return a > b;
    case Fn::ge:
      return a >= b;
    default:
      return std::nullopt;
  }
}

}  // namespace

ScalarValues::ScalarValues(const Body& body)
    : body_(body), definitions_(body.values.size()), known_(body.values.size()), set_epoch_(body.values.size()) {
  index(body.top);
}

void ScalarValues::index(const Block& block) {
  for (const Op& op : block.ops) {
    for (ValueId v : op.out) definitions_[static_cast<size_t>(v)] = &op;
    for (const Block& inner : op.blocks) index(inner);
  }
}

void ScalarValues::move_to(std::span<const int64_t> step, std::span<const int64_t> grid) {
  step_ = step;
  grid_ = grid;
  step_epoch_ = ++epoch_;
}

void ScalarValues::set(ValueId value, std::optional<int64_t> number) {
  ++epoch_;  // what was computed from the old number is out of date
  known_[static_cast<size_t>(value)] = {epoch_, number};
  set_epoch_[static_cast<size_t>(value)] = epoch_;
}

std::optional<int64_t> ScalarValues::get(ValueId value) { return get(value, 0); }

std::optional<int64_t> ScalarValues::get(ValueId value, int depth) {
  if (value == kNone || depth > kMaxDepth || type_of(body_, value).shape.rank() != 0) return std::nullopt;
  const size_t v = static_cast<size_t>(value);
  if (set_epoch_[v] >= step_epoch_ && definitions_[v] == nullptr) return known_[v].number;
  if (known_[v].epoch == epoch_) return known_[v].number;
  const Op* op = definitions_[v];
  known_[v] = {epoch_, op == nullptr ? std::nullopt : evaluate(*op, depth + 1)};
  return known_[v].number;
}

std::optional<int64_t> ScalarValues::evaluate(const Op& op, int depth) {
  const auto in = [&](size_t i) { return i < op.in.size() ? get(op.in[i], depth) : std::nullopt; };
  switch (op.kind) {
    case OpKind::constant:
      if (is_floating(type_of(body_, op.out[0]).dtype)) return std::nullopt;
      return static_cast<int64_t>(op.number);
    case OpKind::grid_index:
      if (op.axes.empty() || static_cast<size_t>(op.axes[0]) >= step_.size()) return std::nullopt;
      if (step_[static_cast<size_t>(op.axes[0])] == kUnknownCoordinate) return std::nullopt;
      return step_[static_cast<size_t>(op.axes[0])];
    case OpKind::grid_size:
      if (op.axes.empty() || static_cast<size_t>(op.axes[0]) >= grid_.size()) return std::nullopt;
      return grid_[static_cast<size_t>(op.axes[0])];
    case OpKind::elementwise:
    case OpKind::compare: {
      if (op.in.size() == 1) {
        const std::optional<int64_t> a = in(0);
        if (!a) return std::nullopt;
        if (op.fn == Fn::neg) return -*a;
        if (op.fn == Fn::abs) return *a < 0 ? -*a : *a;
        if (op.fn == Fn::copy) return a;
        return std::nullopt;
      }
      if (op.in.size() != 2 || is_floating(type_of(body_, op.in[0]).dtype)) return std::nullopt;
      const std::optional<int64_t> a = in(0), b = in(1);
      if (op.fn == Fn::bit_and && ((a && *a == 0) || (b && *b == 0))) return 0;
      if (op.fn == Fn::mul && ((a && *a == 0) || (b && *b == 0))) return 0;
      if (op.fn == Fn::bit_or && type_of(body_, op.out[0]).dtype == DType::b1 && ((a && *a) || (b && *b))) return 1;
      if (!a || !b) return std::nullopt;
      return apply(op.fn, *a, *b);
    }
    case OpKind::select: {
      const std::optional<int64_t> c = in(0);
      if (!c) return std::nullopt;
      return *c != 0 ? in(1) : in(2);
    }
    case OpKind::convert: {
      if (is_floating(type_of(body_, op.in[0]).dtype) || is_floating(type_of(body_, op.out[0]).dtype))
        return std::nullopt;
      const std::optional<int64_t> a = in(0);
      // A true condition is 1 once widened, whatever its storage.
      if (a && type_of(body_, op.in[0]).dtype == DType::b1) return *a != 0;
      return a;
    }
    case OpKind::lookup: {
      std::vector<int64_t> inputs;
      for (size_t i = 0; i < op.in.size(); ++i) {
        const std::optional<int64_t> number = in(i);
        if (!number) return std::nullopt;
        inputs.push_back(*number);
      }
      return look_up(body_.lookups[static_cast<size_t>(op.lookup)], inputs);
    }
    case OpKind::marker:
    case OpKind::reshape:
    case OpKind::broadcast:
    case OpKind::extract:
      return in(0);
    default:
      return std::nullopt;
  }
}

}  // namespace tilecheck::fit
