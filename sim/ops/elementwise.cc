#include "sim/ops/elementwise.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <limits>
#include <numeric>
#include <optional>

#include "sim/ops/chain.h"
#include "sim/ops/elements.h"
#include "sim/ops/strips.h"
#include "sim/ops/tile_parts.h"

namespace tilecheck {
namespace {

constexpr int kMaxOperands = kMaxChainOperands;
// Elements of a chain's strip: two of them, and those of the operands, fit the first-level cache.
constexpr int64_t kChainStrip = 512;
// Shorter runs of a repeated operand are expanded first.
constexpr int64_t kShortRun = 16;

// How an operand is walked.
struct Source {
  const std::byte* data;
  int bytes;
  enum Walk : uint8_t { one, dense, repeated, rows } walk;
  int64_t inner, period;  // rows: a row's length, and from one row to the next
};

Source source_of(const Tile& tile, int64_t result_size) {
  const int bytes = repr_bytes(tile);
  if (tile.layout() == Layout::splat || (tile.size() == 1 && result_size != 1))
    return {TileParts::bytes(tile), bytes, Source::one, 1, 1};
  if (tile.layout() == Layout::dense) return {TileParts::bytes(tile), bytes, Source::dense, 1, 1};
  if (tile.layout() == Layout::rows)
    return {TileParts::bytes(tile), bytes, Source::rows, tile.row_length(), tile.row_stride()};
  return {TileParts::bytes(tile), bytes, Source::repeated, tile.repeat_inner(), tile.repeat_period()};
}

int64_t run_length(const Source& source) { return source.inner == 1 ? source.period : source.inner; }

// A place in a source, moved on run by run.
struct Place {
  const void* at;
  int64_t left;  // elements of the run
  bool stays;    // the run is one element, again and again

  explicit Place(const Source& s)
      : at(s.data),
        left(s.walk == Source::repeated ? run_length(s)
             : s.walk == Source::rows   ? s.inner
                                        : std::numeric_limits<int64_t>::max()),
        stays(s.walk == Source::one || (s.walk == Source::repeated && s.inner != 1)) {}
  void advance(const Source& s, int64_t n) {
    const std::byte* next = static_cast<const std::byte*>(at) + (stays ? 0 : n * s.bytes);
    left -= n;
    if (left == 0 && s.walk == Source::repeated) {
      if (stays) next += s.bytes;
      if (next == s.data + s.period * s.bytes) next = s.data;
      left = run_length(s);
    } else if (left == 0 && s.walk == Source::rows) {
      next += (s.period - s.inner) * s.bytes;
      left = s.inner;
    }
    at = next;
  }
};

// One operation over strips. An operand is a source, by number, or what the step before made.
struct Step {
  StripFn fn;
  const OpCall* call;
  int operand_count;
  std::array<int, kMaxOperands> operands;
};

// What passes between two steps.
struct alignas(64) Room {
  std::byte bytes[kChainStrip * 8];
};

// Runs of elements over which every source is consecutive or constant; each through all steps.
void run_in_pieces(std::span<const Step> steps, std::span<const Source> sources, std::byte* out, int out_bytes,
                   int64_t n) {
  std::array<std::optional<Place>, kMaxChainTiles> places;
  std::array<uint32_t, kMaxChainSteps> masks{};
  for (size_t k = 0; k < sources.size(); ++k) places[k].emplace(sources[k]);
  for (size_t i = 0; i < steps.size(); ++i)
    for (int k = 0; k < steps[i].operand_count; ++k)
      if (const int source = steps[i].operands[static_cast<size_t>(k)];
          source != kPrevious && places[static_cast<size_t>(source)]->stays)
        masks[i] |= 1u << k;
  const int64_t strip = steps.size() > 1 ? kChainStrip : n;
  Room rooms[2];
  for (int64_t at = 0; at < n;) {
    int64_t run = std::min(n - at, strip);
    for (size_t k = 0; k < sources.size(); ++k) run = std::min(run, places[k]->left);
    const void* previous = nullptr;
    for (size_t i = 0; i < steps.size(); ++i) {
      const Step& step = steps[i];
      const void* pointers[kMaxOperands];
      for (size_t k = 0; k < kMaxOperands; ++k)
        pointers[k] = step.operands[k] == kPrevious ? previous : places[static_cast<size_t>(step.operands[k])]->at;
      void* to = i + 1 == steps.size() ? out + at * out_bytes : rooms[i % 2].bytes;
      step.fn({pointers, masks[i], to, run, step.call});
      previous = to;
    }
    for (size_t k = 0; k < sources.size(); ++k) places[k]->advance(sources[k], run);
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
  Step step{fn, &call, static_cast<int>(operands.size()), {0, 0, 0}};
  std::iota(step.operands.begin(), step.operands.begin() + step.operand_count, 0);
  run_in_pieces({&step, 1}, sources, block.data(), out_bytes, n);
  return in_step ? TileParts::repeated(context, result.dtype, result.shape, std::move(block), inner, period)
                 : TileParts::from_block(context, result.dtype, result.shape, std::move(block));
}

bool can_run_chain(const OpContext& context, const Chain& chain, std::span<const Tile* const> tiles) {
  if (context.record_only || context.numerics == Numerics::f64) return false;
  const int64_t n = element_count(chain.shape);
  for (const Tile* tile : tiles) {
    if (!tile->all_defined()) return false;
    const bool follows = tile->layout() == Layout::dense || tile->layout() == Layout::rows ||
                         (tile->layout() == Layout::repeated &&
                          (tile->repeat_inner() == 1 ? tile->repeat_period() : tile->repeat_inner()) >= kShortRun);
    if (tile->layout() != Layout::splat && !(follows && tile->size() == n && n > 1)) return false;
  }
  return true;
}

Tile run_chain(OpContext& context, const Chain& chain, std::span<Tile> tiles) {
  const int64_t n = element_count(chain.shape);
  std::array<Source, kMaxChainTiles> storage;
  const std::span<Source> sources(storage.data(), tiles.size());
  for (size_t k = 0; k < tiles.size(); ++k) sources[k] = source_of(tiles[k], n);
  std::array<Step, kMaxChainSteps> steps;
  DType previous = DType::f32;
  for (size_t i = 0; i < chain.steps.size(); ++i) {
    const ChainStep& step = chain.steps[i];
    const int typed = step.operands[step.call->op == OpId::select ? 1 : 0];
    const DType operand = typed == kPrevious ? previous : tiles[static_cast<size_t>(typed)].repr();
    const StripFn fn = strip_fn(step.call->op, operand, step.dtype);
    assert(fn);
    steps[i] = {fn, step.call, step.operand_count, step.operands};
    previous = step.dtype;
  }
  const int out_bytes = storage_bytes(previous);
  BlockPtr block = result_block(context, tiles, sources, out_bytes, n);
  run_in_pieces({steps.data(), chain.steps.size()}, sources, block.data(), out_bytes, n);
  if (context.observer)
    for (const ChainStep& step : chain.steps)
      context.observer->on_op(*step.call, {}, TileParts::make(context, step.dtype, chain.shape, Layout::shape_only));
  return TileParts::from_block(context, previous, chain.shape, std::move(block));
}

StripFn strip_fn(OpId op, DType operand, DType result) {
  if (op <= OpId::is_weird) return float_strip(op, operand);
  if (op <= OpId::mului_high) return int_strip(op, operand);
  if (op <= OpId::cmpi) return compare_strip(op, operand);
  if (op == OpId::select) return select_strip(operand);
  return convert_strip(op, operand, result);
}

}  // namespace tilecheck
