#include "sim/spec/index_expr.h"

#include <algorithm>

namespace tilecheck {
namespace {

using Kind = IndexExpr::Kind;
using Range = BoundIndexExpr::Range;
__extension__ using Wide = __int128;

constexpr int64_t kLargest = int64_t{1} << 61;

int64_t quotient(int64_t a, int64_t b) { return b == 0 ? -1 : b == -1 ? -a : a / b; }
int64_t remainder(int64_t a, int64_t b) { return b == 0 ? a : b == -1 ? 0 : a % b; }

std::optional<Range> checked(Wide lo, Wide hi, bool is_i32) {
  const Wide least = is_i32 ? Wide{INT32_MIN} : Wide{-kLargest}, most = is_i32 ? Wide{INT32_MAX} : Wide{kLargest};
  if (lo < least || hi > most) return std::nullopt;
  return Range{static_cast<int64_t>(lo), static_cast<int64_t>(hi)};
}

bool is_fixed(const Range& r) { return r.lo == r.hi; }

Range quotients(const Range& a, const Range& b) {
  Range r{INT64_MAX, INT64_MIN};
  const auto see = [&](int64_t divisor) {
    if (divisor < b.lo || divisor > b.hi) return;
    for (int64_t n : {a.lo, a.hi}) {
      r.lo = std::min(r.lo, quotient(n, divisor));
      r.hi = std::max(r.hi, quotient(n, divisor));
    }
  };
  for (int64_t divisor : {b.lo, b.hi, int64_t{-1}, int64_t{0}, int64_t{1}}) see(divisor);
  return r;
}

Range remainders(const Range& a, const Range& b) {
  const int64_t largest = std::max(b.hi, -b.lo);  // of a divisor, without its sign
  if (b.lo <= 0 && b.hi >= 0) return {std::min<int64_t>(a.lo, 0), std::max<int64_t>(a.hi, 0)};
  return {a.lo < 0 ? std::max(a.lo, 1 - largest) : 0, a.hi > 0 ? std::min(a.hi, largest - 1) : 0};
}

// How many k >= 0 from 0 on have lo <= value + slope * k <= hi, which k = 0 has.
int64_t steps_within(int64_t value, int64_t slope, int64_t lo, int64_t hi) {
  if (slope == 0) return INT64_MAX;
  return (slope > 0 ? (hi - value) / slope : (value - lo) / -slope) + 1;
}

// The numbers that give `q` when divided by `b`, which is not 0.
Range dividends(int64_t q, int64_t b) {
  const int64_t size = b < 0 ? -b : b, towards = b < 0 ? -q : q;
  const Wide near = Wide{towards} * size;
  const auto clamped = [](Wide n) { return static_cast<int64_t>(std::clamp<Wide>(n, -2 * kLargest, 2 * kLargest)); };
  return {clamped(towards > 0 ? near : near - size + 1), clamped(towards < 0 ? near : near + size - 1)};
}

}  // namespace

int IndexExpr::constant(int64_t value) {
  nodes.push_back({.kind = Kind::constant, .value = value});
  return static_cast<int>(nodes.size()) - 1;
}

int IndexExpr::axis(int axis) {
  nodes.push_back({.kind = Kind::axis, .value = axis});
  return static_cast<int>(nodes.size()) - 1;
}

int IndexExpr::add(Kind kind, int a, int b, bool is_i32) {
  nodes.push_back({.kind = kind, .is_i32 = is_i32, .a = a, .b = b});
  return static_cast<int>(nodes.size()) - 1;
}

int IndexExpr::select(int condition, int a, int b) {
  nodes.push_back({.kind = Kind::select, .a = condition, .b = a, .c = b});
  return static_cast<int>(nodes.size()) - 1;
}

std::optional<BoundIndexExpr> BoundIndexExpr::over(const IndexExpr& expr, const Dims& lo, const Dims& extents) {
  BoundIndexExpr bound;
  if (!bound.bind(expr, lo, extents)) return std::nullopt;
  return bound;
}

bool BoundIndexExpr::bind(const IndexExpr& expr, const Dims& lo, const Dims& extents) {
  std::vector<int> now;  // of each node of `expr`
  for (IndexExpr::Node node : expr.nodes) {
    for (int* operand : {&node.a, &node.b, &node.c})
      if (*operand >= 0) *operand = now[static_cast<size_t>(*operand)];
    std::optional<Range> range;
    if (node.kind == Kind::constant) {
      range = checked(node.value, node.value, node.is_i32);
    } else if (node.kind == Kind::axis) {
      const int axis = static_cast<int>(node.value);
      range = checked(lo[axis], Wide{lo[axis]} + extents[axis] - 1, node.is_i32);
    } else {
      range = range_of(node);
    }
    if (!range) return false;
    const int same = is_fixed(*range) ? -1 : folded(node);
    if (is_fixed(*range)) node = {.kind = Kind::constant, .value = range->lo};
    now.push_back(same >= 0 ? same : keep(node, *range));
  }
  for (int result : expr.results) results_.push_back(now[static_cast<size_t>(result)]);
  parts_.resize(nodes_.size());
  return true;
}

int BoundIndexExpr::keep(const IndexExpr::Node& node, const Range& range) {
  uint32_t axes = node.kind == Kind::axis ? 1u << node.value : 0;
  for (int operand : {node.a, node.b, node.c})
    if (operand >= 0) axes |= axes_[static_cast<size_t>(operand)];
  nodes_.push_back(node);
  ranges_.push_back(range);
  axes_.push_back(axes);
  return static_cast<int>(nodes_.size()) - 1;
}

std::optional<Range> BoundIndexExpr::range_of(const IndexExpr::Node& node) const {
  const Range a = ranges_[static_cast<size_t>(node.a)], b = ranges_[static_cast<size_t>(node.b)];
  const auto truth = [](bool is_always, bool is_never) { return Range{is_always ? 1 : 0, is_never ? 0 : 1}; };
  switch (node.kind) {
    case Kind::add:
      return checked(Wide{a.lo} + b.lo, Wide{a.hi} + b.hi, node.is_i32);
    case Kind::sub:
      if (node.a == node.b) return Range{0, 0};
      return checked(Wide{a.lo} - b.hi, Wide{a.hi} - b.lo, node.is_i32);
    case Kind::mul: {
      const std::array<Wide, 4> ends{Wide{a.lo} * b.lo, Wide{a.lo} * b.hi, Wide{a.hi} * b.lo, Wide{a.hi} * b.hi};
      return checked(*std::ranges::min_element(ends), *std::ranges::max_element(ends), node.is_i32);
    }
    case Kind::div: {
      const Range r = quotients(a, b);
      return checked(r.lo, r.hi, node.is_i32);
    }
    case Kind::rem:
      return remainders(a, b);
    case Kind::min:
      return Range{std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    case Kind::max:
      return Range{std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    case Kind::eq:
      return truth(node.a == node.b || (is_fixed(a) && is_fixed(b) && a.lo == b.lo), a.hi < b.lo || b.hi < a.lo);
    case Kind::lt:
      return truth(a.hi < b.lo, a.lo >= b.hi);
    case Kind::le:
      return truth(a.hi <= b.lo, a.lo > b.hi);
    case Kind::both:
      return Range{std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    case Kind::either:
      return Range{std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    case Kind::select: {
      const Range c = ranges_[static_cast<size_t>(node.c)];
      return Range{std::min(b.lo, c.lo), std::max(b.hi, c.hi)};
    }
    case Kind::constant:
    case Kind::axis:
      break;
  }
  return std::nullopt;
}

// The node that always has the same value; -1: none.
int BoundIndexExpr::folded(const IndexExpr::Node& node) const {
  if (node.a < 0) return -1;
  const Range a = ranges_[static_cast<size_t>(node.a)], b = ranges_[static_cast<size_t>(node.b)];
  const auto is = [](const Range& r, int64_t value) { return r.lo == value && r.hi == value; };
  switch (node.kind) {
    case Kind::add:
      return is(a, 0) ? node.b : is(b, 0) ? node.a : -1;
    case Kind::sub:
      return is(b, 0) ? node.a : -1;
    case Kind::mul:
      return is(a, 1) ? node.b : is(b, 1) ? node.a : -1;
    case Kind::div:
      return is(b, 1) ? node.a : -1;
    case Kind::rem:
      return b.lo > 0 && a.lo > -b.lo && a.hi < b.lo ? node.a : -1;
    case Kind::min:
      return node.a == node.b || a.hi <= b.lo ? node.a : b.hi <= a.lo ? node.b : -1;
    case Kind::max:
      return node.a == node.b || a.lo >= b.hi ? node.a : b.lo >= a.hi ? node.b : -1;
    case Kind::both:
      return node.a == node.b || is(b, 1) ? node.a : is(a, 1) ? node.b : -1;
    case Kind::either:
      return node.a == node.b || is(b, 0) ? node.a : is(a, 0) ? node.b : -1;
    case Kind::select:
      if (node.b == node.c || a.lo > 0 || a.hi < 0) return node.b;
      return is(a, 0) ? node.c : -1;
    default:
      return -1;
  }
}

std::optional<BoundIndexExpr::Affine> BoundIndexExpr::affine(size_t result) const {
  std::vector<std::optional<Affine>> forms(nodes_.size());
  const auto last = static_cast<size_t>(results_[result]);
  for (size_t n = 0; n <= last; ++n) {
    const IndexExpr::Node& node = nodes_[n];
    Affine form;
    if (node.kind == Kind::constant) {
      form.offset = node.value;
    } else if (node.kind == Kind::axis) {
      form.per_axis[static_cast<size_t>(node.value)] = 1;
    } else if (node.kind == Kind::add || node.kind == Kind::sub || node.kind == Kind::mul) {
      const auto a = static_cast<size_t>(node.a), b = static_cast<size_t>(node.b);
      if (!forms[a] || !forms[b]) continue;
      const bool is_scaled = node.kind == Kind::mul, scales_b = axes_[a] == 0;
      if (is_scaled && axes_[a] != 0 && axes_[b] != 0) continue;
      const int64_t of_a = !is_scaled ? 1 : scales_b ? 0 : forms[b]->offset;
      const int64_t of_b = node.kind == Kind::add ? 1 : node.kind == Kind::sub ? -1 : scales_b ? forms[a]->offset : 0;
      bool fits = true;
      const auto combine = [&](int64_t x, int64_t y) {
        const Wide sum = Wide{x} * of_a + Wide{y} * of_b;
        fits = fits && sum < kLargest && sum > -kLargest;
        return fits ? static_cast<int64_t>(sum) : 0;
      };
      form.offset = combine(forms[a]->offset, forms[b]->offset);
      for (size_t axis = 0; axis < form.per_axis.size(); ++axis)
        form.per_axis[axis] = combine(forms[a]->per_axis[axis], forms[b]->per_axis[axis]);
      if (!fits) continue;
    } else {
      continue;
    }
    forms[n] = form;
  }
  return forms[last];
}

// Linear in the steps that come: where it would bend, its steps end.
BoundIndexExpr::Part BoundIndexExpr::part_of(const IndexExpr::Node& node, const Dims& step, int axis,
                                             int64_t most) const {
  if (node.kind == Kind::constant) return {node.value, 0, most};
  if (node.kind == Kind::axis) return {step[static_cast<int>(node.value)], node.value == axis && most > 1, most};
  const Part &a = parts_[static_cast<size_t>(node.a)], &b = parts_[static_cast<size_t>(node.b)];
  const int64_t steps = std::min(a.steps, b.steps);
  // What holds as long as the lesser stays the lesser.
  const int64_t apart = a.value - b.value, turn = a.slope - b.slope;
  const auto while_at_most = [&](int64_t limit) {
    return std::min(steps, steps_within(apart, turn, INT64_MIN / 2, limit));
  };
  const auto while_at_least = [&](int64_t limit) {
    return std::min(steps, steps_within(apart, turn, limit, INT64_MAX / 2));
  };
  switch (node.kind) {
    case Kind::add:
      return {a.value + b.value, a.slope + b.slope, steps};
    case Kind::sub:
      return {apart, turn, steps};
    case Kind::mul:
      if (a.slope != 0 && b.slope != 0) return {a.value * b.value, 0, 1};
      return {a.value * b.value, a.slope * b.value + b.slope * a.value, steps};
    case Kind::div:
    case Kind::rem: {
      const bool is_div = node.kind == Kind::div;
      const int64_t q = quotient(a.value, b.value), r = remainder(a.value, b.value);
      if (b.slope != 0) return {is_div ? q : r, 0, 1};
      if (b.value == 0 || a.slope == 0) return {is_div ? q : r, is_div ? 0 : a.slope, steps};
      if (remainder(a.slope, b.value) == 0) {
        const int64_t same_sign = a.value < 0 ? steps_within(a.value, a.slope, INT64_MIN / 2, -1)
                                              : steps_within(a.value, a.slope, 0, INT64_MAX / 2);
        return {is_div ? q : r, is_div ? quotient(a.slope, b.value) : 0, std::min(steps, same_sign)};
      }
      const Range same = dividends(q, b.value);
      return {is_div ? q : r, is_div ? 0 : a.slope, std::min(steps, steps_within(a.value, a.slope, same.lo, same.hi))};
    }
    case Kind::min:
      if (apart < 0 || (apart == 0 && turn <= 0)) return {a.value, a.slope, while_at_most(0)};
      return {b.value, b.slope, while_at_least(0)};
    case Kind::max:
      if (apart > 0 || (apart == 0 && turn >= 0)) return {a.value, a.slope, while_at_least(0)};
      return {b.value, b.slope, while_at_most(0)};
    case Kind::eq:
      if (apart == 0) return {1, 0, turn == 0 ? steps : 1};
      return {0, 0, apart < 0 ? while_at_most(-1) : while_at_least(1)};
    case Kind::lt:
      return apart < 0 ? Part{1, 0, while_at_most(-1)} : Part{0, 0, while_at_least(0)};
    case Kind::le:
      return apart <= 0 ? Part{1, 0, while_at_most(0)} : Part{0, 0, while_at_least(1)};
    case Kind::both:
      return {int64_t{a.value != 0 && b.value != 0}, 0, steps};
    case Kind::either:
      return {int64_t{a.value != 0 || b.value != 0}, 0, steps};
    case Kind::select: {
      const Part& chosen = a.value != 0 ? b : parts_[static_cast<size_t>(node.c)];
      return {chosen.value, chosen.slope, a.slope == 0 ? std::min(a.steps, chosen.steps) : 1};
    }
    case Kind::constant:
    case Kind::axis:
      break;
  }
  return {};
}

int64_t BoundIndexExpr::segment(const Dims& step, int axis, int64_t most, std::span<int64_t> values,
                                std::span<int64_t> slopes) const {
  for (size_t n = 0; n < nodes_.size(); ++n) {
    Part& part = parts_[n] = part_of(nodes_[n], step, axis, most);
    if (part.steps == 1) part.slope = 0;
  }
  int64_t steps = most;
  for (int result : results_) steps = std::min(steps, parts_[static_cast<size_t>(result)].steps);
  for (size_t i = 0; i < results_.size(); ++i) {
    const Part& part = parts_[static_cast<size_t>(results_[i])];
    values[i] = part.value;
    slopes[i] = steps == 1 ? 0 : part.slope;
  }
  return steps;
}

}  // namespace tilecheck
