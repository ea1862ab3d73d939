// Contractions. Every result element is one fused multiply-add chain in k order that starts at the accumulator (f32 for
// floats, f64 under Numerics::f64; integers wrap), so blocking cannot change bits.
#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <vector>

#include "sim/ops/chain.h"
#include "sim/ops/elements.h"
#include "sim/ops/gemm.h"
#include "sim/ops/shadow.h"
#include "sim/ops/strips.h"
#include "sim/ops/tile_parts.h"
#include "sim/ops/whole.h"

namespace tilecheck {
namespace {

// One operand as [batch, kept, contracted] with one stride each, in elements.
struct View {
  Tile tile;
  int64_t batch, kept, contracted;
  int64_t batch_stride, kept_stride, contracted_stride;
};

// Extent and stride of a group of dimensions taken in the order named; false when no single stride walks them.
bool collapse(const Shape& shape, const Dims& strides, const Dims& group, int64_t& extent, int64_t& stride) {
  extent = 1;
  stride = 1;
  bool first = true;
  for (int i = group.rank() - 1; i >= 0; --i) {
    const int d = static_cast<int>(group[i]);
    if (shape[d] == 1) continue;
    if (first) {
      stride = strides[d];
      first = false;
    } else if (strides[d] != stride * extent) {
      return false;
    }
    extent *= shape[d];
  }
  return true;
}

// Strides of a tile's dimensions where it stands; row-major ones, and false, when no stride walks some dimension.
bool strides_in_place(const Tile& tile, Dims& strides) {
  const Shape& shape = tile.shape();
  strides = row_major_strides(shape);
  if (tile.layout() != Layout::rows) return true;
  int first = shape.rank();  // of the dimensions within a row
  while (first > 0 && strides[first - 1] < tile.row_length()) --first;
  if ((first < shape.rank() ? strides[first] * shape[first] : 1) != tile.row_length()) return false;
  for (int d = 0; d < first; ++d) strides[d] = strides[d] / tile.row_length() * tile.row_stride();
  return true;
}

// in_place: rows that stand apart may stay so.
View view_of(const Tile& operand, const Dims& batch, const Dims& keep, const Dims& contract, bool in_place) {
  View view;
  Dims strides;
  if (strides_in_place(operand, strides) && in_place && operand.layout() == Layout::rows) {
    view.tile = operand;
  } else {
    view.tile = operand.materialized();
    strides = row_major_strides(operand.shape());
  }
  if (collapse(operand.shape(), strides, batch, view.batch, view.batch_stride) &&
      collapse(operand.shape(), strides, keep, view.kept, view.kept_stride) &&
      collapse(operand.shape(), strides, contract, view.contracted, view.contracted_stride))
    return view;
  Dims order;
  for (const Dims* group : {&batch, &keep, &contract})
    for (int64_t d : *group) order.push_back(d);
  view.tile = permuted(operand, order).materialized();
  const auto extent_of = [&](const Dims& group) {
    int64_t n = 1;
    for (int64_t d : group) n *= operand.shape()[static_cast<int>(d)];
    return n;
  };
  view.batch = extent_of(batch);
  view.kept = extent_of(keep);
  view.contracted = extent_of(contract);
  view.contracted_stride = 1;
  view.kept_stride = view.contracted;
  view.batch_stride = view.kept * view.contracted;
  return view;
}

// How call.out_order permutes the natural order (batch, lhs kept, rhs kept); empty when it does not.
Dims result_permutation(const DotDims& dot) {
  Dims permutation;
  const int batch = dot.lhs_batch.rank(), kept = dot.lhs_keep.rank();
  const auto position = [](const Dims& dims, int64_t d) {
    for (int i = 0; i < dims.rank(); ++i)
      if (dims[i] == d) return i;
    return -1;
  };
  for (int i = 0; i + 1 < dot.out_order.rank(); i += 2) {
    const bool is_rhs = dot.out_order[i] != 0;
    const int64_t d = dot.out_order[i + 1];
    int at = position(is_rhs ? dot.rhs_batch : dot.lhs_batch, d);
    if (at < 0) at = is_rhs ? batch + kept + position(dot.rhs_keep, d) : batch + position(dot.lhs_keep, d);
    permutation.push_back(at);
  }
  for (int i = 0; i < permutation.rank(); ++i)
    if (permutation[i] != i) return permutation;
  return {};
}

Dims inverse(const Dims& permutation) {
  Dims result = Dims::filled(permutation.rank(), 0);
  for (int i = 0; i < permutation.rank(); ++i) result[static_cast<int>(permutation[i])] = i;
  return result;
}

// The element type that products and sums are kept in.
DType chain_type(DType result_repr) {
  if (result_repr == DType::f64) return DType::f64;
  if (is_floating(result_repr)) return DType::f32;
  return bits(result_repr) > 32 ? DType::i64 : DType::i32;
}

// The elements under the chain's type, strides unchanged.
Tile in_chain_type(const Tile& tile, DType chain, bool is_signed) {
  if (storage_bytes(tile.repr()) == storage_bytes(chain) && is_floating(tile.repr()) == is_floating(chain)) return tile;
  const OpId op = is_floating(chain)                      ? OpId::extf
                  : bits(tile.repr()) > bits(chain)       ? OpId::trunci
                  : is_signed && tile.repr() != DType::b1 ? OpId::extsi
                                                          : OpId::extui;
  return with_repr(op, tile, chain);
}

Tile rounded_to_bf16(const Tile& tile) {
  return with_repr(OpId::extf, with_repr(OpId::truncf, tile, DType::bf16), DType::f32);
}

// What rounding left over, rounded in its turn.
Tile low_part(const Tile& tile, const Tile& high) {
  const void* pointers[2] = {TileParts::bytes(tile), TileParts::bytes(high)};
  const OpCall call{.op = OpId::subf};
  Tile rest = Tile::dense(tile.context(), DType::f32, tile.shape());
  strip_fn(OpId::subf, DType::f32, DType::f32)({pointers, 0, rest.writable_bytes(), rest.size(), &call});
  return rounded_to_bf16(rest);
}

// Which lhs rows (and rhs columns) have an undefined element.
std::vector<uint8_t> undefined_lines(const View& view) {
  std::vector<uint8_t> lines(static_cast<size_t>(view.batch * view.kept), 0);
  if (const uint8_t* shadow = view.tile.undefined())
    for (int64_t b = 0; b < view.batch; ++b)
      for (int64_t i = 0; i < view.kept; ++i)
        for (int64_t k = 0; k < view.contracted; ++k)
          lines[static_cast<size_t>(b * view.kept + i)] |=
              shadow[b * view.batch_stride + i * view.kept_stride + k * view.contracted_stride];
  return lines;
}

BlockPtr matmul_shadow(OpContext& context, const View& lhs, const View& rhs, const Tile* accumulator, DType dtype) {
  const bool joins = accumulator && !accumulator->all_defined();
  if (lhs.tile.all_defined() && rhs.tile.all_defined() && !joins) return {};
  const std::vector<uint8_t> rows = undefined_lines(lhs), columns = undefined_lines(rhs);
  const int64_t size = lhs.batch * lhs.kept * rhs.kept;
  BlockPtr block = context.pool->allocate(size);
  uint8_t* out = reinterpret_cast<uint8_t*>(block.data());
  const uint8_t mask = computed_mask(dtype);
  for (int64_t b = 0, i = 0; b < lhs.batch; ++b)
    for (int64_t m = 0; m < lhs.kept; ++m)
      for (int64_t n = 0; n < rhs.kept; ++n, ++i) {
        const uint8_t old = joins ? accumulator->undefined()[accumulator->size() == size ? i : 0] : uint8_t{0};
        out[i] = old | rows[static_cast<size_t>(b * lhs.kept + m)] | columns[static_cast<size_t>(b * rhs.kept + n)]
                     ? mask
                     : uint8_t{0};
      }
  return settled(std::move(block), size);
}

// A block of `size` chain elements that holds the accumulator; `accumulate` is false when that is all zeros, and then
// the block is not initialised.
BlockPtr start_block(OpContext& context, Tile* accumulator, DType chain, int64_t size, bool& accumulate) {
  const int bytes = storage_bytes(chain);
  accumulate = accumulator && !(accumulator->layout() == Layout::splat && accumulator->splat_bits() == 0);
  if (!accumulate) return context.pool->allocate(size * bytes);
  if (accumulator->layout() == Layout::dense && accumulator->size() == size && accumulator->repr() == chain &&
      accumulator->sole_owner())
    return std::move(TileParts::block(*accumulator));
  BlockPtr block = context.pool->allocate(size * bytes);
  const Tile start = in_chain_type(*accumulator, chain, true).materialized();
  if (start.size() == size && start.layout() == Layout::dense)
    std::memcpy(block.data(), TileParts::bytes(start), static_cast<size_t>(size * bytes));
  else
    fill_elements(block.data(), TileParts::bytes(start), bytes, size);
  return block;
}

// How f32 operands enter the product.
enum class Passes : uint8_t {
  plain,   // as they are
  bf16,    // rounded to bf16
  bf16x3,  // as bf16 high and low parts: low x high, high x low, high x high, one chain after the other
};

Passes passes_of(Precision precision, Numerics numerics, DType lhs, DType rhs) {
  const bool any_f32 = lhs == DType::f32 || rhs == DType::f32;
  if (numerics == Numerics::f64 || !any_f32) return Passes::plain;
  switch (precision) {
    case Precision::bf16:
      return Passes::bf16;
    case Precision::bf16x3:
      return Passes::bf16x3;
    case Precision::highest:
      return Passes::plain;
    case Precision::default_:
      return numerics == Numerics::mxu ? Passes::bf16 : Passes::plain;
  }
  return Passes::plain;
}

}  // namespace

Tile run_matmul(OpContext& context, const OpCall& call, std::span<Tile> operands, const TypeAndShape& result,
                const Tile* factor, const Tile* addend) {
  const DotDims& dot = call.dot;
  const Dims permutation = result_permutation(dot);
  Tile* accumulator = operands.size() > 2 && operands[2].has_value() ? &operands[2] : nullptr;
  if (accumulator && !permutation.empty() && accumulator->rank() > 0)
    *accumulator = permuted(*accumulator, inverse(permutation)).materialized();

  const DType repr = context.repr_of(result.dtype);
  const DType chain = chain_type(repr);
  const Passes passes = passes_of(call.precision, context.numerics, operands[0].dtype(), operands[1].dtype());
  // The product widens bf16 as it packs.
  const bool rhs_is_bf16 = chain == DType::f32 && operands[1].repr() == DType::bf16 && passes == Passes::plain;
  const auto as_it_is = [&](const Tile& tile) { return passes == Passes::plain && tile.repr() == chain; };
  const View lhs = view_of(operands[0], dot.lhs_batch, dot.lhs_keep, dot.lhs_contract, as_it_is(operands[0]));
  const View rhs =
      view_of(operands[1], dot.rhs_batch, dot.rhs_keep, dot.rhs_contract, rhs_is_bf16 || as_it_is(operands[1]));
  BlockPtr shadow = matmul_shadow(context, lhs, rhs, accumulator, result.dtype);

  const int64_t size = lhs.batch * lhs.kept * rhs.kept;
  bool accumulate = false;
  BlockPtr block = start_block(context, accumulator, chain, size, accumulate);
  const int64_t factor_step = factor && factor->layout() == Layout::repeated ? 1 : 0;
  const auto add_product = [&](const Tile& left, const Tile& right, bool is_last) {
    for (int64_t b = 0; b < lhs.batch; ++b) {
      const int64_t bytes = storage_bytes(chain);
      gemm({.dtype = chain,
            .m = lhs.kept,
            .n = rhs.kept,
            .k = lhs.contracted,
            .lhs = {TileParts::bytes(left) + b * lhs.batch_stride * bytes, lhs.kept_stride, lhs.contracted_stride},
            .rhs = {TileParts::bytes(right) + b * rhs.batch_stride * (rhs_is_bf16 ? 2 : bytes), rhs.contracted_stride,
                    rhs.kept_stride},
            .out = block.data() + b * lhs.kept * rhs.kept * bytes,
            .accumulate = accumulate,
            .pool = context.pool,
            .addend = addend && is_last ? TileParts::bytes(*addend) + b * lhs.kept * rhs.kept * bytes : nullptr,
            .factor = factor && is_last ? TileParts::bytes(*factor) + b * lhs.kept * factor_step * bytes : nullptr,
            .factor_step = factor_step,
            .rhs_is_bf16 = rhs_is_bf16});
    }
    accumulate = true;
  };
  const Tile left = in_chain_type(lhs.tile, chain, call.is_signed),
             right = rhs_is_bf16 ? rhs.tile : in_chain_type(rhs.tile, chain, call.is_signed);
  if (passes == Passes::plain) {
    add_product(left, right, true);
  } else {
    const Tile left_high = rounded_to_bf16(left), right_high = rounded_to_bf16(right);
    if (passes == Passes::bf16x3) {
      add_product(low_part(left, left_high), right_high, false);
      add_product(left_high, low_part(right, right_high), false);
    }
    add_product(left_high, right_high, true);
  }

  Shape natural;
  for (int64_t d : dot.lhs_batch) natural.push_back(operands[0].shape()[static_cast<int>(d)]);
  for (int64_t d : dot.lhs_keep) natural.push_back(operands[0].shape()[static_cast<int>(d)]);
  for (int64_t d : dot.rhs_keep) natural.push_back(operands[1].shape()[static_cast<int>(d)]);
  Tile tile;
  if (chain == repr) {
    tile = TileParts::from_block(context, result.dtype, natural, std::move(block));
  } else {
    const StripFn fn = strip_fn(is_floating(repr) ? OpId::truncf : OpId::trunci, chain, repr);
    BlockPtr narrow = context.pool->allocate(size * storage_bytes(repr));
    const void* pointer = block.data();
    fn({&pointer, 0, narrow.data(), size, &call});
    tile = TileParts::from_block(context, result.dtype, natural, std::move(narrow));
  }
  TileParts::set_shadow(tile, std::move(shadow));
  if (!permutation.empty()) tile = permuted(tile, permutation);
  return tile.reshaped(result.shape);
}

bool can_end_matmul(const OpContext& context, const OpCall& call, std::span<const Tile* const> operands,
                    const Tile* factor, const Tile* addend) {
  if (context.record_only || context.numerics == Numerics::f64) return false;
  if (call.dtype != DType::f32 || !result_permutation(call.dot).empty()) return false;
  for (const Tile* operand : operands)
    if (!operand->all_defined() || operand->size() == 0) return false;
  const auto is_usable = [](const Tile& tile) { return tile.dtype() == DType::f32 && tile.all_defined(); };
  if (addend && !(is_usable(*addend) && addend->layout() == Layout::dense)) return false;
  if (!factor) return true;
  int64_t columns = 1;
  for (int64_t d : call.dot.rhs_keep) columns *= operands[1]->shape()[static_cast<int>(d)];
  const bool is_of_rows = factor->layout() == Layout::repeated && factor->repeat_inner() == columns &&
                          factor->repeat_period() * columns == factor->size();
  return is_usable(*factor) && (factor->layout() == Layout::splat || is_of_rows);
}

}  // namespace tilecheck
