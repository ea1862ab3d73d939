// Operations that only move elements. Splats and repeats stay lazy where the result is one too.
#include <algorithm>
#include <cassert>
#include <cstring>
#include <numeric>

#include "sim/ops/elements.h"
#include "sim/ops/move.h"
#include "sim/ops/shadow.h"
#include "sim/ops/tile_parts.h"
#include "sim/ops/whole.h"

namespace tilecheck {
namespace {

// A lazy repeat pays when its runs are at least this long.
constexpr int64_t kLazyRun = 32;

// Elements first, then, when there is one, the shadow: move(to, from, bytes) puts one of them in place.
template <class Move>
Tile moved(OpContext& context, const Tile& source, const TypeAndShape& result, Move move) {
  const Tile from = source.materialized();
  BlockPtr block = context.pool->allocate(element_count(result.shape) * repr_bytes(from));
  move(block.data(), TileParts::bytes(from), repr_bytes(from));
  Tile tile = TileParts::from_block(context, result.dtype, result.shape, std::move(block));
  if (from.undefined()) {
    BlockPtr shadow = context.pool->allocate(tile.size());
    move(shadow.data(), reinterpret_cast<const std::byte*>(from.undefined()), 1);
    TileParts::set_shadow(tile, settled(std::move(shadow), tile.size()));
  }
  return result.shape.empty() ? tile.reshaped({}) : tile;
}

bool is_plain_splat(const Tile& tile) { return tile.layout() == Layout::splat && tile.all_defined(); }

Tile broadcast(OpContext& context, const Tile& from, const TypeAndShape& result) {
  const Shape& out = result.shape;
  if (is_plain_splat(from)) return Tile::splat_bits(context, result.dtype, out, from.splat_bits());
  const int64_t size = element_count(out);
  if (size == from.size()) return from.reshaped(out);
  const int extra = out.rank() - from.rank();
  Dims strides = Dims::filled(out.rank(), 0);
  const Dims own = row_major_strides(from.shape());
  int first = out.rank(), last = -1;  // the dimensions that are not stretched
  for (int d = extra; d < out.rank(); ++d) {
    if (from.shape()[d - extra] == 1) continue;
    strides[d] = own[d - extra];
    first = std::min(first, d);
    last = std::max(last, d);
  }
  if (from.all_defined() && from.layout() == Layout::dense) {
    if (from.size() == 1) return Tile::splat_bits(context, result.dtype, out, from.reshaped({}).splat_bits());
    int64_t inner = 1, period = 1;
    bool lazy = true;
    for (int d = last + 1; d < out.rank(); ++d) inner *= out[d];
    for (int d = first; d <= last; ++d) {
      period *= out[d];
      lazy = lazy && (strides[d] != 0 || out[d] == 1);
    }
    if (lazy && period > 0 && (inner == 1 ? period : inner) >= kLazyRun)
      return TileParts::repeated(context, result.dtype, out, TileParts::block(from), inner, period);
  }
  return moved(context, from, result, [&](std::byte* to, const std::byte* in, int bytes) {
    move_elements(to, row_major_strides(out), in, strides, out, bytes);
  });
}

// A rank-2 repeat along one dimension stays one when the dimensions change places.
bool transposes_lazily(const Tile& from, const Dims& permutation) {
  return from.layout() == Layout::repeated && from.rank() == 2 && permutation == Dims{1, 0} &&
         ((from.repeat_inner() == 1 && from.repeat_period() == from.shape()[1]) ||
          (from.repeat_inner() == from.shape()[1] && from.repeat_period() == from.shape()[0]));
}

Tile transpose(OpContext& context, const Dims& permutation, const Tile& from, const TypeAndShape& result) {
  if (is_plain_splat(from)) return Tile::splat_bits(context, result.dtype, result.shape, from.splat_bits());
  if (transposes_lazily(from, permutation))
    return TileParts::repeated(context, result.dtype, result.shape, TileParts::block(from),
                               from.repeat_inner() == 1 ? from.shape()[0] : 1, from.repeat_period());
  const Dims own = row_major_strides(from.shape());
  Dims strides;
  int64_t last = -1;
  bool same = true;  // only dimensions of extent 1 change places
  for (int64_t d : permutation) {
    strides.push_back(own[static_cast<int>(d)]);
    if (from.shape()[static_cast<int>(d)] == 1) continue;
    same = same && d > last;
    last = d;
  }
  if (same) return from.reshaped(result.shape);
  return moved(context, from, result, [&](std::byte* to, const std::byte* in, int bytes) {
    move_elements(to, row_major_strides(result.shape), in, strides, result.shape, bytes);
  });
}

// Elements from one index of dimension `first - 1` to the next.
int64_t row_size(const Shape& shape, int first) {
  int64_t n = 1;
  for (int d = first; d < shape.rank(); ++d) n *= shape[d];
  return n;
}

// A tile whose rows from some dimension on are one element each stays one when it is cut within them; else no value.
Tile sliced_lazily(OpContext& context, const Tile& from, const TypeAndShape& result) {
  if (from.layout() != Layout::repeated || !from.all_defined() || element_count(result.shape) == 0) return {};
  int first = from.rank();  // where the rows begin
  while (first > 0 && row_size(from.shape(), first) < from.repeat_inner()) --first;
  const int64_t period = from.repeat_period();
  if (row_size(from.shape(), first) != from.repeat_inner() || from.size() != from.repeat_inner() * period) return {};
  for (int d = 0; d < first; ++d)
    if (result.shape[d] != from.shape()[d]) return {};
  const int64_t inner = row_size(result.shape, first);
  if (inner == 1) return TileParts::from_block(context, result.dtype, result.shape, TileParts::block(from));
  return TileParts::repeated(context, result.dtype, result.shape, TileParts::block(from), inner, period);
}

// Copies of a tile, whole or cut within its rows, one after another along the axis, when it has one element in each of
// the rows that begin there; else no value.
Tile joined_lazily(OpContext& context, const Tile& from, int axis, const TypeAndShape& result) {
  if (from.layout() != Layout::repeated || !from.all_defined()) return {};
  const int64_t row = row_size(from.shape(), axis);
  if (row == 0 || from.repeat_inner() % row != 0) return {};
  return TileParts::repeated(context, result.dtype, result.shape, TileParts::block(from),
                             from.repeat_inner() / row * row_size(result.shape, axis), from.repeat_period());
}

// Whether both have the same elements in the same rows.
bool repeat_alike(const Tile& a, const Tile& b, int axis) {
  return a.layout() == Layout::repeated && b.layout() == Layout::repeated && b.all_defined() &&
         TileParts::bytes(a) == TileParts::bytes(b) && a.repeat_period() == b.repeat_period() &&
         a.repeat_inner() * row_size(b.shape(), axis) == b.repeat_inner() * row_size(a.shape(), axis);
}

Tile slice(OpContext& context, const OpCall& call, const Tile& from, const TypeAndShape& result) {
  if (is_plain_splat(from)) return Tile::splat_bits(context, result.dtype, result.shape, from.splat_bits());
  if (result.shape == from.shape()) return from;
  if (Tile lazy = sliced_lazily(context, from, result); lazy.has_value()) return lazy;
  const Dims own = row_major_strides(from.shape());
  Dims strides;
  int64_t offset = 0;
  for (int d = 0; d < from.rank(); ++d) {
    strides.push_back(own[d] * (call.strides.empty() ? 1 : call.strides[d]));
    offset += call.dims[d] * own[d];
  }
  if (element_count(result.shape) == 0) offset = 0;
  return moved(context, from, result, [&](std::byte* to, const std::byte* in, int bytes) {
    move_elements(to, row_major_strides(result.shape), in + offset * bytes, strides, result.shape, bytes);
  });
}

// Copies `part` into the box of `into` (row-major, shape `shape`) that starts at `offset` elements.
void place(std::byte* into, const Shape& shape, int64_t offset, const std::byte* part, const Shape& part_shape,
           int bytes) {
  move_elements(into + offset * bytes, row_major_strides(shape), part, row_major_strides(part_shape), part_shape,
                bytes);
}

Tile concatenate(OpContext& context, const OpCall& call, std::span<const Tile> operands, const TypeAndShape& result) {
  const auto same_splat = [&](const Tile& tile) {
    return is_plain_splat(tile) && is_plain_splat(operands[0]) && tile.splat_bits() == operands[0].splat_bits();
  };
  if (std::all_of(operands.begin(), operands.end(), same_splat))
    return Tile::splat_bits(context, result.dtype, result.shape, operands[0].splat_bits());
  if (std::ranges::all_of(operands, [&](const Tile& tile) { return repeat_alike(operands[0], tile, call.axis); }))
    if (Tile lazy = joined_lazily(context, operands[0], call.axis, result); lazy.has_value()) return lazy;
  Tile tile = Tile::dense(context, result.dtype, result.shape);
  std::byte* shadow = any_shadow(operands) ? reinterpret_cast<std::byte*>(tile.make_shadow()) : nullptr;
  if (shadow) std::memset(shadow, 0, static_cast<size_t>(tile.size()));
  const int64_t stride = row_major_strides(result.shape)[call.axis];
  int64_t offset = 0;
  for (const Tile& operand : operands) {
    const Tile part = operand.materialized();
    place(tile.writable_bytes(), result.shape, offset, TileParts::bytes(part), part.shape(), repr_bytes(tile));
    if (part.undefined())
      place(shadow, result.shape, offset, reinterpret_cast<const std::byte*>(part.undefined()), part.shape(), 1);
    offset += part.shape()[call.axis] * stride;
  }
  return tile;
}

Tile insert_slice(OpContext& context, const OpCall& call, const Tile& part, Tile into, const TypeAndShape& result) {
  Tile tile = into.materialized();
  into = {};
  if (!tile.sole_owner()) {
    Tile copy = Tile::dense(context, result.dtype, result.shape);
    std::memcpy(copy.writable_bytes(), TileParts::bytes(tile), static_cast<size_t>(tile.size() * repr_bytes(tile)));
    TileParts::set_shadow(copy, TileParts::shadow(tile));
    tile = std::move(copy);
  }
  const Tile from = part.materialized();
  const Dims strides = row_major_strides(result.shape);
  int64_t offset = 0;
  for (int d = 0; d < result.shape.rank(); ++d) offset += call.dims[d] * strides[d];
  if (from.size() > 0)
    place(TileParts::block(tile).data(), result.shape, offset, TileParts::bytes(from), from.shape(), repr_bytes(tile));
  if (from.undefined() || tile.undefined()) {
    BlockPtr shadow = context.pool->allocate(tile.size());
    if (tile.undefined())
      std::memcpy(shadow.data(), tile.undefined(), static_cast<size_t>(tile.size()));
    else
      std::memset(shadow.data(), 0, static_cast<size_t>(tile.size()));
    const BlockPtr none = from.undefined() ? BlockPtr() : context.pool->allocate(from.size());
    if (none) std::memset(none.data(), 0, static_cast<size_t>(from.size()));
    if (from.size() > 0)
      place(shadow.data(), result.shape, offset,
            none ? none.data() : reinterpret_cast<const std::byte*>(from.undefined()), from.shape(), 1);
    TileParts::set_shadow(tile, settled(std::move(shadow), tile.size()));
  }
  return tile.reshaped(result.shape);
}

// 0, 1, 2, ... below n, as elements of `repr`.
void count_up(DType repr, std::byte* to, int64_t n) {
  if (repr == DType::i32 || repr == DType::u32)
    return std::iota(reinterpret_cast<int32_t*>(to), reinterpret_cast<int32_t*>(to) + n, 0);
  const int bytes = storage_bytes(repr);
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t element = is_floating(repr) ? encode_element(repr, static_cast<double>(i)) : encode_int(repr, i);
    std::memcpy(to + i * bytes, &element, static_cast<size_t>(bytes));
  }
}

Tile iota(OpContext& context, const OpCall& call, const TypeAndShape& result) {
  const Shape& shape = result.shape;
  const DType repr = context.repr_of(result.dtype);
  const int bytes = storage_bytes(repr);
  // Dimensions named in order and next to each other count in one run.
  int64_t period = 1, inner = 1;
  bool run = true;
  for (int i = 0; i < call.dims.rank(); ++i) {
    period *= shape[static_cast<int>(call.dims[i])];
    run = run && (i == 0 || call.dims[i - 1] == call.dims[i] - 1);
  }
  if (period <= 1 || element_count(shape) == 0) return Tile::splat(context, result.dtype, shape, 0);
  BlockPtr counts = context.pool->allocate(period * bytes);
  count_up(repr, counts.data(), period);
  if (run) {
    for (int d = static_cast<int>(call.dims.back()) + 1; d < shape.rank(); ++d) inner *= shape[d];
    if (period == element_count(shape)) return TileParts::from_block(context, result.dtype, shape, std::move(counts));
    return TileParts::repeated(context, result.dtype, shape, std::move(counts), inner, period);
  }
  Tile tile = Tile::dense(context, result.dtype, shape);
  Dims steps = Dims::filled(shape.rank(), 0);
  int64_t step = 1;
  for (int i = call.dims.rank() - 1; i >= 0; --i) {
    steps[static_cast<int>(call.dims[i])] = step;
    step *= shape[static_cast<int>(call.dims[i])];
  }
  move_elements(tile.writable_bytes(), row_major_strides(shape), counts.data(), steps, shape, bytes);
  return tile;
}

int64_t modulo(int64_t value, int64_t extent) { return ((value % extent) + extent) % extent; }

// numpy.roll; with a stride, the slice at index i of the stride dimension moves by amount + i * stride.
Tile rotate(OpContext& context, const OpCall& call, const Tile& from, const Tile& amount, const TypeAndShape& result) {
  if (is_plain_splat(from) && amount.all_defined()) return from;
  const Shape& shape = result.shape;
  const int64_t extent = shape[call.axis];
  if (element_count(shape) == 0) return from;
  const int64_t start = modulo(amount.int_value(), extent);
  const bool strided = call.stride_axis >= 0;
  const int64_t slices = strided ? shape[call.stride_axis] : 1;
  const Dims strides = row_major_strides(shape);
  Tile tile = moved(context, from, result, [&](std::byte* to, const std::byte* in, int bytes) {
    for (int64_t i = 0; i < slices; ++i) {
      const int64_t shift = modulo(start + modulo(call.amount, extent) * (strided ? i : 0), extent);
      Shape box = shape;
      const int64_t slice_offset = strided ? i * strides[call.stride_axis] : 0;
      if (strided) box[call.stride_axis] = 1;
      const int64_t step = strides[call.axis];
      box[call.axis] = extent - shift;  // moves up
      move_elements(to + (slice_offset + shift * step) * bytes, strides, in + slice_offset * bytes, strides, box,
                    bytes);
      box[call.axis] = shift;  // wraps around
      move_elements(to + slice_offset * bytes, strides, in + (slice_offset + (extent - shift) * step) * bytes, strides,
                    box, bytes);
    }
  });
  if (!amount.all_defined() && amount.any_undefined())
    TileParts::set_shadow(tile, undefined_everywhere(context, result.dtype, tile.size()));
  return tile;
}

// The tile `amount` times, one after another along the axis.
Tile repeat(OpContext& context, const OpCall& call, const Tile& from, const TypeAndShape& result) {
  if (is_plain_splat(from)) return Tile::splat_bits(context, result.dtype, result.shape, from.splat_bits());
  if (Tile lazy = joined_lazily(context, from, call.axis, result); lazy.has_value()) return lazy;
  const int64_t offset = from.shape()[call.axis] * row_major_strides(result.shape)[call.axis];
  return moved(context, from, result, [&](std::byte* to, const std::byte* in, int bytes) {
    if (from.size() > 0)
      for (int64_t i = 0; i < call.amount; ++i) place(to, result.shape, i * offset, in, from.shape(), bytes);
  });
}

// take_along_axis, indices modulo the extent.
Tile gather(OpContext& context, const OpCall& call, const Tile& source, const Tile& index_tile,
            const TypeAndShape& result) {
  const int axis = static_cast<int>(call.dims[0]);
  const Tile indices = index_tile.materialized();
  const int32_t* words =
      indices.repr() == DType::i32 ? reinterpret_cast<const int32_t*>(TileParts::bytes(indices)) : nullptr;
  const int64_t extent = source.shape()[axis];
  const int64_t step = row_major_strides(source.shape())[axis];  // of the result too
  const int64_t count = result.shape[axis];
  Tile tile = moved(context, source, result, [&](std::byte* to, const std::byte* in, int bytes) {
    const int64_t size = element_count(result.shape);
    for (int64_t i = 0; i < size; ++i) {
      const int64_t outer = i / (step * count), inner = i % step;
      const int64_t at = modulo(words ? words[i] : indices.int_at(i), extent);
      std::memcpy(to + i * bytes, in + ((outer * extent + at) * step + inner) * bytes, static_cast<size_t>(bytes));
    }
  });
  if (indices.undefined()) {
    const uint8_t mask = computed_mask(result.dtype);
    const uint8_t* old = tile.undefined();
    BlockPtr shadow = context.pool->allocate(tile.size());
    for (int64_t i = 0; i < tile.size(); ++i)
      reinterpret_cast<uint8_t*>(shadow.data())[i] = indices.undefined()[i] ? mask : old ? old[i] : uint8_t{0};
    TileParts::set_shadow(tile, settled(std::move(shadow), tile.size()));
  }
  return tile;
}

}  // namespace

Tile permuted(const Tile& tile, const Dims& permutation) {
  Shape shape;
  for (int64_t d : permutation) shape.push_back(tile.shape()[static_cast<int>(d)]);
  return transpose(tile.context(), permutation, tile, {tile.dtype(), shape});
}

Tile run_shape(OpContext& context, const OpCall& call, std::span<Tile> operands, const TypeAndShape& result) {
  switch (call.op) {
    case OpId::broadcast:
      return broadcast(context, operands[0], result);
    case OpId::reshape:
      return operands[0].reshaped(result.shape);
    case OpId::transpose:
      return transpose(context, call.dims, operands[0], result);
    case OpId::concatenate:
      return concatenate(context, call, operands, result);
    case OpId::slice:
      return slice(context, call, operands[0], result);
    case OpId::iota:
      return iota(context, call, result);
    case OpId::rotate:
      return rotate(context, call, operands[0], operands[1], result);
    case OpId::repeat:
      return repeat(context, call, operands[0], result);
    case OpId::gather:
      return gather(context, call, operands[0], operands[1], result);
    default:
      assert(call.op == OpId::insert_slice);
      return insert_slice(context, call, operands[0], std::move(operands[1]), result);
  }
}

}  // namespace tilecheck
