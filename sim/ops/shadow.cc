#include "sim/ops/shadow.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <vector>

#include "sim/ops/elements.h"
#include "sim/ops/tile_parts.h"

namespace tilecheck {
namespace {

uint8_t* bytes_of(BlockPtr& block) { return reinterpret_cast<uint8_t*>(block.data()); }

// An operand's shadow: step 0 for what stretches.
struct View {
  const uint8_t* bytes;  // null: all defined
  int64_t step;
  uint8_t at(int64_t i) const { return bytes ? bytes[i * step] : uint8_t{0}; }
};

View view_of(const Tile& tile, int64_t size) { return {tile.undefined(), tile.size() == size ? 1 : 0}; }

// An operand's elements, as bits.
class Elements {
 public:
  Elements(const Tile& tile, int64_t size)
      : tile_(tile.materialized()),
        step_(tile_.layout() == Layout::dense && tile.size() == size ? storage_bytes(tile.repr()) : 0) {}
  uint64_t at(int64_t i) const { return load_bits(tile_.repr(), TileParts::bytes(tile_) + i * step_); }

 private:
  Tile tile_;
  int64_t step_;
};

// Undefined bytes as undefined bits of a word, and back: a byte with an undefined bit is undefined.
uint64_t bits_of(uint8_t bytes) {
  uint64_t bits = 0;
  for (int b = 0; b < 8; ++b)
    if (bytes >> b & 1) bits |= uint64_t{0xff} << (8 * b);
  return bits;
}
uint8_t bytes_with(uint64_t bits) {
  unsigned bytes = 0;
  for (int b = 0; b < 8; ++b)
    if (bits >> (8 * b) & 0xff) bytes |= 1u << b;
  return static_cast<uint8_t>(bytes);
}

// The bytes of `element` that hide what they are combined with: 0 under and, all ones under or.
uint8_t absorbing_bytes(uint64_t element, bool is_or, DType dtype) {
  if (dtype == DType::b1) return (element != 0) == is_or ? 1 : 0;
  if (bits(dtype) < 8) return element == (is_or ? encode_int(dtype, -1) : 0) ? 1 : 0;
  if (is_or) element = ~element;
  return static_cast<uint8_t>(~bytes_with(element) & undefined_mask(dtype));
}

using Rule = uint8_t (*)(uint8_t a, uint8_t b, uint64_t x, uint64_t y, DType dtype);

uint8_t and_rule(uint8_t a, uint8_t b, uint64_t x, uint64_t y, DType dtype) {
  const uint8_t hidden =
      static_cast<uint8_t>((absorbing_bytes(x, false, dtype) & ~a) | (absorbing_bytes(y, false, dtype) & ~b));
  return static_cast<uint8_t>((a | b) & ~hidden);
}
uint8_t or_rule(uint8_t a, uint8_t b, uint64_t x, uint64_t y, DType dtype) {
  const uint8_t hidden =
      static_cast<uint8_t>((absorbing_bytes(x, true, dtype) & ~a) | (absorbing_bytes(y, true, dtype) & ~b));
  return static_cast<uint8_t>((a | b) & ~hidden);
}
uint8_t xor_rule(uint8_t a, uint8_t b, uint64_t, uint64_t, DType) { return a | b; }

// Shifts by a defined amount move the undefined bits along.
template <OpId kOp>
uint8_t shift_rule(uint8_t a, uint8_t b, uint64_t, uint64_t amount, DType dtype) {
  const uint8_t mask = undefined_mask(dtype);
  if (b) return computed_mask(dtype);
  const int width = bits(dtype);
  amount = zero_extend(amount, width);
  if (width < 8) return a;
  const uint8_t flag = static_cast<uint8_t>(a & ~mask);
  const uint64_t undefined = bits_of(a & mask);
  if (amount >= static_cast<uint64_t>(width)) {
    if (kOp != OpId::shrsi) return 0;
    return undefined >> (width - 1) & 1 ? static_cast<uint8_t>(mask | flag) : uint8_t{0};
  }
  const int shift = static_cast<int>(amount);
  uint64_t moved;
  if constexpr (kOp == OpId::shli)
    moved = zero_extend(undefined << shift, width);
  else if constexpr (kOp == OpId::shrui)
    moved = undefined >> shift;
  else
    moved = zero_extend(static_cast<uint64_t>(sign_extend(undefined, width) >> shift), width);
  return static_cast<uint8_t>(bytes_with(moved) | flag);
}

Rule bitwise_rule(OpId op) {
  switch (op) {
    case OpId::andi:
      return &and_rule;
    case OpId::ori:
      return &or_rule;
    case OpId::xori:
      return &xor_rule;
    case OpId::shli:
      return &shift_rule<OpId::shli>;
    case OpId::shrsi:
      return &shift_rule<OpId::shrsi>;
    case OpId::shrui:
      return &shift_rule<OpId::shrui>;
    default:
      return nullptr;
  }
}

// The bytes of a view, n of them; `room` holds them when the operand stretches or is defined.
const uint8_t* expanded(OpContext& context, const View& view, int64_t n, BlockPtr& room) {
  if (view.bytes && view.step == 1) return view.bytes;
  room = context.pool->allocate(n);
  std::memset(room.data(), view.bytes ? view.bytes[0] : 0, static_cast<size_t>(n));
  return bytes_of(room);
}

void select_shadow(OpContext& context, std::span<const Tile> operands, uint8_t chosen_by_garbage, uint8_t* out,
                   int64_t n) {
  BlockPtr rooms[4];
  const uint8_t* undefined = expanded(context, view_of(operands[0], n), n, rooms[0]);
  const uint8_t* first = expanded(context, view_of(operands[1], n), n, rooms[1]);
  const uint8_t* second = expanded(context, view_of(operands[2], n), n, rooms[2]);
  const Tile condition = operands[0].materialized();
  const bool stretches = condition.layout() != Layout::dense || condition.size() != n;
  const View conditions = {reinterpret_cast<const uint8_t*>(TileParts::bytes(condition)), stretches ? 0 : 1};
  const uint8_t* chosen = expanded(context, conditions, n, rooms[3]);
  for (int64_t i = 0; i < n; ++i) {
    const uint8_t side = chosen[i] ? first[i] : second[i];
    out[i] = undefined[i] ? chosen_by_garbage : side;
  }
}

// Wider or narrower integers keep what is known of each byte.
void resize_shadow(OpId op, const Tile& from, DType to, uint8_t* out, int64_t n) {
  const View view = view_of(from, n);
  const int from_bytes = storage_bytes(from.dtype());
  const uint8_t from_mask = undefined_mask(from.dtype()), to_mask = undefined_mask(to);
  for (int64_t i = 0; i < n; ++i) {
    unsigned bytes = view.at(i) & from_mask;
    if (op == OpId::extsi && (bytes >> (from_bytes - 1) & 1)) bytes |= static_cast<unsigned>(to_mask & ~from_mask);
    bytes &= to_mask;
    out[i] = static_cast<uint8_t>(bytes && to_mask != 0xff ? bytes | (view.at(i) & kComputedFlag & ~from_mask) : bytes);
  }
}

}  // namespace

BlockPtr undefined_everywhere(OpContext& context, DType dtype, int64_t size) {
  BlockPtr block = context.pool->allocate(size);
  std::memset(block.data(), computed_mask(dtype), static_cast<size_t>(size));
  return block;
}

bool has_set_byte(const uint8_t* bytes, int64_t n) {
  // Equal to itself moved by one: all bytes are the first.
  return n > 0 && (bytes[0] != 0 || std::memcmp(bytes, bytes + 1, static_cast<size_t>(n - 1)) != 0);
}

BlockPtr settled(BlockPtr shadow, int64_t size) {
  if (!shadow) return shadow;
  return has_set_byte(bytes_of(shadow), size) ? std::move(shadow) : BlockPtr();
}

BlockPtr elementwise_shadow(OpContext& context, const OpCall& call, std::span<const Tile> operands,
                            const TypeAndShape& result) {
  if (!any_shadow(operands)) return {};
  const int64_t n = element_count(result.shape);
  BlockPtr block = context.pool->allocate(n);
  uint8_t* out = bytes_of(block);
  const uint8_t mask = undefined_mask(result.dtype);
  if (call.op == OpId::select) {
    select_shadow(context, operands, computed_mask(result.dtype), out, n);
  } else if (const Rule rule = bitwise_rule(call.op)) {
    const View a = view_of(operands[0], n), b = view_of(operands[1], n);
    const Elements x(operands[0], n), y(operands[1], n);
    for (int64_t i = 0; i < n; ++i) {
      const uint8_t ua = a.at(i), ub = b.at(i);
      const uint8_t bytes = (ua | ub) ? rule(ua, ub, x.at(i), y.at(i), result.dtype) : uint8_t{0};
      out[i] = bytes & mask ? bytes : uint8_t{0};  // the computed flag alone is no undefined byte
    }
  } else if (call.op == OpId::trunci || call.op == OpId::extui || call.op == OpId::extsi) {
    resize_shadow(call.op, operands[0], result.dtype, out, n);
  } else if (call.op == OpId::bitcast) {
    const View a = view_of(operands[0], n);
    for (int64_t i = 0; i < n; ++i) out[i] = a.at(i);
  } else {
    // Undefined if any operand is; computed if another operand is defined there, or if an operand was computed.
    std::memset(out, 0, static_cast<size_t>(n));
    const uint8_t own_flag = computed_mask(result.dtype) & static_cast<uint8_t>(~mask);
    for (const Tile& operand : operands) {
      BlockPtr room;
      const View view = view_of(operand, n);
      if (!view.bytes) continue;
      const uint8_t* a = expanded(context, view, n, room);
      const uint8_t flag = static_cast<uint8_t>(own_flag & ~undefined_mask(operand.dtype()));
      for (int64_t i = 0; i < n; ++i) {
        const uint8_t joined = static_cast<uint8_t>(out[i] | mask | (a[i] & flag));
        out[i] = a[i] ? joined : out[i];
      }
    }
    if (operands.size() > 1 && own_flag) {
      for (const Tile& operand : operands) {
        BlockPtr room;
        const uint8_t* a = expanded(context, view_of(operand, n), n, room);
        for (int64_t i = 0; i < n; ++i) {
          const uint8_t flagged = static_cast<uint8_t>(out[i] | own_flag);
          out[i] = out[i] && !a[i] ? flagged : out[i];
        }
      }
    }
  }
  return settled(std::move(block), n);
}

}  // namespace tilecheck
