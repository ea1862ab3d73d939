#include "sim/ops/elementwise.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "sim/ops/elements.h"
#include "sim/ops/strips.h"
#include "sim/ops/tile_parts.h"

namespace tilecheck {
namespace {

constexpr int kMaxOperands = 3;
// Shorter runs of a repeated operand are expanded first.
constexpr int64_t kShortRun = 16;

// How an operand is walked.
struct Source {
  const std::byte* data;
  int bytes;
  enum Walk : uint8_t { one, dense, repeated } walk;
  int64_t inner, period;
};

Source source_of(const Tile& tile, int64_t result_size) {
  const int bytes = repr_bytes(tile);
  if (tile.layout() == Layout::splat || (tile.size() == 1 && result_size != 1))
    return {TileParts::bytes(tile), bytes, Source::one, 1, 1};
  if (tile.layout() == Layout::dense) return {TileParts::bytes(tile), bytes, Source::dense, 1, 1};
  return {TileParts::bytes(tile), bytes, Source::repeated, tile.repeat_inner(), tile.repeat_period()};
}

int64_t run_length(const Source& source) { return source.inner == 1 ? source.period : source.inner; }

// Runs of elements over which every operand is consecutive or constant.
void run_in_pieces(StripFn fn, const OpCall& call, std::span<const Source> sources, std::byte* out, int out_bytes,
                   int64_t n) {
  const void* pointers[kMaxOperands];
  for (int64_t at = 0; at < n;) {
    int64_t run = n - at;
    uint32_t mask = 0;
    for (size_t k = 0; k < sources.size(); ++k) {
      const Source& s = sources[k];
      if (s.walk == Source::one) {
        pointers[k] = s.data;
        mask |= 1u << k;
      } else if (s.walk == Source::dense) {
        pointers[k] = s.data + at * s.bytes;
      } else {
        const int64_t element = at / s.inner % s.period;
        pointers[k] = s.data + element * s.bytes;
        if (s.inner == 1) {
          run = std::min(run, s.period - element);
        } else {
          mask |= 1u << k;
          run = std::min(run, s.inner - at % s.inner);
        }
      }
    }
    fn({pointers, mask, out + at * out_bytes, run, &call});
    at += run;
  }
}

// The block of an operand that nobody else needs and the result fits into; else a new one.
BlockPtr result_block(OpContext& context, std::span<Tile> operands, std::span<const Source> sources, int out_bytes,
                      int64_t n) {
  for (size_t k = 0; k < operands.size(); ++k)
    if (sources[k].walk == Source::dense && sources[k].bytes == out_bytes && operands[k].sole_owner() &&
        sources[k].data == TileParts::block(operands[k]).data())
      return std::move(TileParts::block(operands[k]));
  return context.pool->allocate(n * out_bytes);
}

}  // namespace

Tile run_elementwise(OpContext& context, const OpCall& call, std::span<Tile> operands, const TypeAndShape& result) {
  assert(operands.size() <= kMaxOperands);
  const DType out_repr = context.repr_of(result.dtype);
  const DType in_repr = operands[call.op == OpId::select ? 1 : 0].repr();
  // A float keeps its f64 under Numerics::f64.
  if (in_repr == out_repr && (call.op == OpId::extf || call.op == OpId::truncf))
    return TileParts::retyped(std::move(operands[0]), result.dtype, result.shape);
  const OpId op = call.op == OpId::stochastic_convert && in_repr == out_repr ? OpId::truncf : call.op;
  const StripFn fn = strip_fn(op, in_repr, out_repr);
  assert(fn);
  const int out_bytes = storage_bytes(out_repr);
  int64_t n = element_count(result.shape);

  std::array<Source, kMaxOperands> storage;
  const std::span<Source> sources(storage.data(), operands.size());
  for (size_t k = 0; k < operands.size(); ++k) sources[k] = source_of(operands[k], n);

  if (std::all_of(sources.begin(), sources.end(), [](const Source& s) { return s.walk == Source::one; })) {
    const void* pointers[kMaxOperands];
    for (size_t k = 0; k < operands.size(); ++k) pointers[k] = sources[k].data;
    uint64_t element = 0;
    fn({pointers, (1u << operands.size()) - 1, &element, 1, &call});
    return Tile::splat_bits(context, result.dtype, result.shape, load_bits(out_repr, &element));
  }

  // Operands that repeat in step are computed once per period.
  int64_t inner = 0, period = 0;
  bool in_step = true;
  for (const Source& s : sources) {
    if (s.walk == Source::one) continue;
    in_step = in_step && s.walk == Source::repeated && (inner == 0 || (s.inner == inner && s.period == period));
    inner = s.inner;
    period = s.period;
  }
  if (in_step) {
    n = period;
    for (Source& s : sources)
      if (s.walk == Source::repeated) s.walk = Source::dense;
  } else {
    for (size_t k = 0; k < operands.size(); ++k)
      if (sources[k].walk == Source::repeated && run_length(sources[k]) < kShortRun) {
        operands[k] = operands[k].materialized();
        sources[k] = source_of(operands[k], n);
      }
  }
  BlockPtr block = result_block(context, operands, sources, out_bytes, n);
  run_in_pieces(fn, call, sources, block.data(), out_bytes, n);
  return in_step ? TileParts::repeated(context, result.dtype, result.shape, std::move(block), inner, period)
                 : TileParts::from_block(context, result.dtype, result.shape, std::move(block));
}

StripFn strip_fn(OpId op, DType operand, DType result) {
  if (op <= OpId::is_weird) return float_strip(op, operand);
  if (op <= OpId::mului_high) return int_strip(op, operand);
  if (op <= OpId::cmpi) return compare_strip(op, operand);
  if (op == OpId::select) return select_strip(operand);
  return convert_strip(op, operand, result);
}

}  // namespace tilecheck
