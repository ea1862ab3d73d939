// Reductions. Along trailing axes a sum runs in kLanes lanes that a fixed tree joins at the end; along other axes each
// result is one chain in index order. Neither depends on the vector width. Narrow floats are summed in f32 and rounded
// once.
#include "sim/ops/reduce.h"

#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "sim/ops/elements.h"
#include "sim/ops/shadow.h"
#include "sim/ops/strips.h"
#include "sim/ops/tile_parts.h"
#include "sim/ops/whole.h"

namespace tilecheck {
namespace {

template <OpId kOp, class T>
struct Step {
  static T identity() {
    if constexpr (kOp == OpId::reduce_mul) return T{1};
    if constexpr (kOp == OpId::reduce_max || kOp == OpId::reduce_maxu) return std::numeric_limits<T>::min();
    if constexpr (kOp == OpId::reduce_min || kOp == OpId::reduce_minu) return std::numeric_limits<T>::max();
    if constexpr (kOp == OpId::reduce_and) return static_cast<T>(-1);
    return T{0};
  }
  static T join(T a, T b) {
    using U = std::common_type_t<std::make_unsigned_t<T>, unsigned>;
    if constexpr (kOp == OpId::reduce_add) return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
    if constexpr (kOp == OpId::reduce_mul) return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
    if constexpr (kOp == OpId::reduce_max || kOp == OpId::reduce_maxu) return a > b ? a : b;
    if constexpr (kOp == OpId::reduce_min || kOp == OpId::reduce_minu) return a < b ? a : b;
    if constexpr (kOp == OpId::reduce_and) return static_cast<T>(a & b);
    if constexpr (kOp == OpId::reduce_or) return static_cast<T>(a | b);
    if constexpr (kOp == OpId::reduce_xor) return static_cast<T>(a ^ b);
  }
};

template <class S, class T>
T reduce_row(const T* row, int64_t n) {
  T lanes[kLanes];
  for (T& lane : lanes) lane = S::identity();
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = S::join(lanes[lane], row[i + lane]);
  for (int lane = 0; i + lane < n; ++lane) lanes[lane] = S::join(lanes[lane], row[i + lane]);
  for (int half = kLanes / 2; half > 0; half /= 2)
    for (int lane = 0; lane < half; ++lane) lanes[lane] = S::join(lanes[lane], lanes[lane + half]);
  return lanes[0];
}

template <OpId kOp, class T>
void reduce(const void* from, void* to, const Extents& e) {
  using S = Step<kOp, T>;
  const T* in = static_cast<const T*>(from);
  T* out = static_cast<T*>(to);
  for (int64_t a = 0; a < e.outer; ++a, in += e.reduced * e.inner, out += e.inner) {
    if (e.inner == 1) {
      *out = reduce_row<S, T>(in, e.reduced);
      continue;
    }
    for (int64_t b = 0; b < e.inner; ++b) out[b] = S::identity();
    for (int64_t r = 0; r < e.reduced; ++r) {
      const T* row = in + r * e.inner;
#pragma GCC ivdep
      for (int64_t b = 0; b < e.inner; ++b) out[b] = S::join(out[b], row[b]);
    }
  }
}

template <OpId kOp>
ReduceFn reduce_fn(DType repr) {
  constexpr bool kUnsigned = kOp == OpId::reduce_maxu || kOp == OpId::reduce_minu;
  switch (storage_bytes(repr)) {
    case 1:
      return &reduce<kOp, std::conditional_t<kUnsigned, uint8_t, int8_t>>;
    case 2:
      return &reduce<kOp, std::conditional_t<kUnsigned, uint16_t, int16_t>>;
    case 4:
      return &reduce<kOp, std::conditional_t<kUnsigned, uint32_t, int32_t>>;
    default:
      return &reduce<kOp, std::conditional_t<kUnsigned, uint64_t, int64_t>>;
  }
}

ReduceFn reduce_fn(OpId op, DType repr) {
  if (is_floating(repr)) return float_reduce(op, repr);
  switch (op) {
    case OpId::reduce_add:
      return reduce_fn<OpId::reduce_add>(repr);
    case OpId::reduce_mul:
      return reduce_fn<OpId::reduce_mul>(repr);
    case OpId::reduce_max:
      return reduce_fn<OpId::reduce_max>(repr);
    case OpId::reduce_min:
      return reduce_fn<OpId::reduce_min>(repr);
    case OpId::reduce_maxu:
      return reduce_fn<OpId::reduce_maxu>(repr);
    case OpId::reduce_minu:
      return reduce_fn<OpId::reduce_minu>(repr);
    case OpId::reduce_and:
      return reduce_fn<OpId::reduce_and>(repr);
    case OpId::reduce_or:
      return reduce_fn<OpId::reduce_or>(repr);
    default:
      assert(op == OpId::reduce_xor);
      return reduce_fn<OpId::reduce_xor>(repr);
  }
}

// Whether joining this accumulator changes nothing: the start that payloads give.
bool is_identity(OpId op, const Tile& accumulator) {
  if (accumulator.layout() != Layout::splat || !accumulator.all_defined()) return false;
  const double value = accumulator.at(0);
  switch (op) {
    case OpId::reduce_add:
      return value == 0;
    case OpId::reduce_mul:
      return value == 1;
    case OpId::reduce_max:
      return value == -HUGE_VAL;
    case OpId::reduce_min:
      return value == HUGE_VAL;
    default:
      return false;
  }
}

// The operand with the reduced axes next to each other, and its three extents. Axes that are apart move to the end.
Tile gathered_axes(const Tile& operand, const Dims& axes, Extents& e) {
  uint32_t reduced = 0;
  for (int64_t axis : axes)
    if (operand.shape()[static_cast<int>(axis)] != 1) reduced |= 1u << axis;
  Dims kept_first;
  int runs = 0;
  bool in_run = false;
  e = {1, 1, 1};
  for (int d = 0; d < operand.rank(); ++d) {
    const int64_t n = operand.shape()[d];
    if (reduced >> d & 1) {
      runs += !in_run;
      in_run = true;
      e.reduced *= n;
    } else {
      kept_first.push_back(d);
      if (n != 1) in_run = false;
      (runs == 0 ? e.outer : e.inner) *= n;
    }
  }
  if (runs <= 1) return operand;
  e.outer *= e.inner;
  e.inner = 1;
  for (int d = 0; d < operand.rank(); ++d)
    if (reduced >> d & 1) kept_first.push_back(d);
  return permuted(operand, kept_first);
}

// Integers below a byte were reduced as bytes: back to their own range.
void wrap_small(DType dtype, std::byte* elements, int64_t n) {
  if (is_floating(dtype) || bits(dtype) >= 8) return;
  for (int64_t i = 0; i < n; ++i)
    elements[i] = static_cast<std::byte>(encode_int(dtype, static_cast<int8_t>(elements[i])));
}

BlockPtr reduce_shadow(OpContext& context, const Tile& operand, const Extents& e, const Tile* accumulator,
                       DType dtype) {
  const bool joins = accumulator && !accumulator->all_defined();
  if (operand.all_defined() && !joins) return {};
  const int64_t n = e.outer * e.inner;
  BlockPtr block = context.pool->allocate(n);
  uint8_t* out = reinterpret_cast<uint8_t*>(block.data());
  std::memset(out, 0, static_cast<size_t>(n));
  if (const uint8_t* in = operand.undefined())
    for (int64_t a = 0; a < e.outer; ++a)
      for (int64_t r = 0; r < e.reduced; ++r)
        for (int64_t b = 0; b < e.inner; ++b) out[a * e.inner + b] |= in[(a * e.reduced + r) * e.inner + b];
  if (joins)
    for (int64_t i = 0; i < n; ++i) out[i] |= accumulator->undefined()[accumulator->size() == n ? i : 0];
  const uint8_t mask = computed_mask(dtype);
  for (int64_t i = 0; i < n; ++i) out[i] = out[i] ? mask : uint8_t{0};
  return settled(std::move(block), n);
}

template <class T>
void find_extreme(const Tile& tile, bool largest, const Extents& e, int64_t* out) {
  const T* in = reinterpret_cast<const T*>(TileParts::bytes(tile));
  for (int64_t a = 0; a < e.outer; ++a)
    for (int64_t b = 0; b < e.inner; ++b) {
      const T* p = in + a * e.reduced * e.inner + b;
      int64_t best = 0;
      for (int64_t r = 1; r < e.reduced; ++r) {
        const T candidate = p[r * e.inner], held = p[best * e.inner];
        // The first NaN wins; else the first of equals.
        if (held == held && (candidate != candidate || (largest ? candidate > held : candidate < held))) best = r;
      }
      out[a * e.inner + b] = best;
    }
}

void find_extreme(const Tile& tile, bool largest, const Extents& e, int64_t* out) {
  switch (tile.repr()) {
    case DType::f32:
      return find_extreme<float>(tile, largest, e, out);
    case DType::f64:
      return find_extreme<double>(tile, largest, e, out);
    case DType::i64:
      return find_extreme<int64_t>(tile, largest, e, out);
    case DType::i32:
      return find_extreme<int32_t>(tile, largest, e, out);
    case DType::i16:
      return find_extreme<int16_t>(tile, largest, e, out);
    case DType::u64:
      return find_extreme<uint64_t>(tile, largest, e, out);
    case DType::u32:
      return find_extreme<uint32_t>(tile, largest, e, out);
    case DType::u16:
      return find_extreme<uint16_t>(tile, largest, e, out);
    case DType::i8:
    case DType::i4:
    case DType::i2:
      return find_extreme<int8_t>(tile, largest, e, out);
    default:
      return find_extreme<uint8_t>(tile, largest, e, out);
  }
}

}  // namespace

Tile with_repr(OpId op, Tile tile, DType repr) {
  if (tile.repr() == repr) return tile;
  const StripFn fn = strip_fn(op, tile.repr(), repr);
  assert(fn);
  OpContext& context = tile.context();
  const OpCall call{.op = op};
  const bool is_splat = tile.layout() == Layout::splat;
  if (!is_splat) tile = tile.materialized();
  uint64_t element = 0;
  BlockPtr block = is_splat ? BlockPtr() : context.pool->allocate(tile.size() * storage_bytes(repr));
  const void* pointer = TileParts::bytes(tile);
  fn({&pointer, 0, is_splat ? reinterpret_cast<std::byte*>(&element) : block.data(), is_splat ? 1 : tile.size(),
      &call});
  Tile out = is_splat ? Tile::splat_bits(context, repr, tile.shape(), element)
                      : TileParts::from_block(context, repr, tile.shape(), std::move(block));
  TileParts::set_shadow(out, TileParts::shadow(tile));
  return out;
}

Tile run_reduce(OpContext& context, const OpCall& call, std::span<Tile> operands, const TypeAndShape& result) {
  const DType repr = context.repr_of(result.dtype);
  const DType wide = is_narrow_float(repr) ? DType::f32 : repr;
  const Tile* accumulator = operands.size() > 1 && !is_identity(call.op, operands[1]) ? &operands[1] : nullptr;
  Extents e;
  const Tile in = gathered_axes(operands[0], call.dims, e).materialized();
  BlockPtr shadow = reduce_shadow(context, in, e, accumulator, result.dtype);
  const Tile values = with_repr(OpId::extf, in, wide);
  const int64_t n = e.outer * e.inner;
  BlockPtr block = context.pool->allocate(n * storage_bytes(wide));
  const ReduceFn fn = reduce_fn(call.op, wide);
  fn(TileParts::bytes(values), block.data(), e);
  if (accumulator) {
    // accumulator op reduction, as one more element of each chain
    const Tile start = with_repr(OpId::extf, accumulator->materialized(), wide);
    const int bytes = storage_bytes(wide);
    BlockPtr pairs = context.pool->allocate(2 * n * bytes);
    std::byte* p = pairs.data();
    if (start.size() == n)
      std::memcpy(p, TileParts::bytes(start), static_cast<size_t>(n * bytes));
    else
      fill_elements(p, TileParts::bytes(start), bytes, n);
    std::memcpy(p + n * bytes, block.data(), static_cast<size_t>(n * bytes));
    if (n == 1)
      fn(p, block.data(), {1, 2, 1});
    else
      fn(p, block.data(), {1, 2, n});
  }
  wrap_small(result.dtype, block.data(), n);
  Tile tile = TileParts::from_block(context, result.dtype, result.shape, std::move(block));
  if (wide != repr) {
    BlockPtr narrow = context.pool->allocate(n * storage_bytes(repr));
    narrow_fn(repr)(reinterpret_cast<const float*>(TileParts::bytes(tile)), narrow.data(), n);
    tile = TileParts::from_block(context, result.dtype, result.shape, std::move(narrow));
  }
  TileParts::set_shadow(tile, std::move(shadow));
  return tile.reshaped(result.shape);
}

Tile run_argument(OpContext& context, const OpCall& call, Tile from, const TypeAndShape& result) {
  Extents e;
  const Tile in = gathered_axes(from, {call.axis}, e).materialized();
  const Tile values = is_narrow_float(in.repr()) ? with_repr(OpId::extf, in, DType::f32) : in;
  const int64_t n = e.outer * e.inner;
  std::vector<int64_t> found(static_cast<size_t>(n));
  find_extreme(values, call.op == OpId::argmax, e, found.data());
  Tile tile = Tile::dense(context, result.dtype, result.shape);
  const int bytes = repr_bytes(tile);
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t index = encode_int(result.dtype, found[static_cast<size_t>(i)]);
    std::memcpy(tile.writable_bytes() + i * bytes, &index, static_cast<size_t>(bytes));
  }
  TileParts::set_shadow(tile, reduce_shadow(context, in, e, nullptr, result.dtype));
  return tile.reshaped(result.shape);
}

}  // namespace tilecheck
