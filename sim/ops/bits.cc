// Operations on the bits of elements: bitcasts (rows pack into words, machine rule 28), packing and unpacking words.
#include <cassert>
#include <cstring>

#include "sim/ops/elements.h"
#include "sim/ops/elementwise.h"
#include "sim/ops/shadow.h"
#include "sim/ops/tile_parts.h"
#include "sim/ops/whole.h"

namespace tilecheck {
namespace {

// Dense, in the declared type's own storage: what a bitcast sees.
Tile stored(Tile tile) {
  if (tile.repr() == tile.dtype()) return tile.materialized();
  OpContext exact = tile.context();
  exact.numerics = Numerics::exact;
  const int bytes = storage_bytes(tile.dtype());
  const Tile from = tile.materialized();
  Tile to = TileParts::make(exact, tile.dtype(), tile.shape(), Layout::dense);
  TileParts::block(to) = tile.context().pool->allocate(tile.size() * bytes);
  for (int64_t i = 0; i < tile.size(); ++i)
    store_from_double(tile.dtype(), to.writable_bytes() + i * bytes, from.at(i));
  TileParts::set_shadow(to, TileParts::shadow(from));
  return to;
}

// The other way: bytes of `dtype` in `block`, `size` elements, as a tile of the context's repr.
Tile from_stored(OpContext& context, DType dtype, const Shape& shape, BlockPtr block) {
  if (context.repr_of(dtype) == dtype) return TileParts::from_block(context, dtype, shape, std::move(block));
  Tile tile = Tile::dense(context, dtype, shape);
  double* out = reinterpret_cast<double*>(tile.writable_bytes());
  const int bytes = storage_bytes(dtype);
  for (int64_t i = 0; i < tile.size(); ++i) out[i] = load_as_double(dtype, block.data() + i * bytes);
  return tile;
}

// The element's own bits, without what its storage adds (a sub-byte integer is kept sign-extended).
uint64_t own_bits(DType dtype, const std::byte* element) {
  uint64_t value = 0;
  std::memcpy(&value, element, static_cast<size_t>(storage_bytes(dtype)));
  return zero_extend(value, bits(dtype));
}
void put_bits(DType dtype, std::byte* element, uint64_t value) {
  if (!is_floating(dtype)) value = encode_int(dtype, static_cast<int64_t>(value));
  std::memcpy(element, &value, static_cast<size_t>(storage_bytes(dtype)));
}

// Shadow bytes of a word and of its part `index`; parts below a byte share the word's byte. The computed flag goes
// along.
uint8_t part_of_shadow(uint8_t word, DType word_type, int index, DType part_type) {
  const int part_bits = bits(part_type);
  const unsigned part = (word & undefined_mask(word_type)) >> (index * part_bits / 8) & undefined_mask(part_type);
  return static_cast<uint8_t>(part ? part | (word & ~undefined_mask(word_type)) : 0u);
}
uint8_t shadow_of_part(uint8_t part, DType part_type, int index, DType word_type) {
  const unsigned flag = part & ~undefined_mask(part_type) & ~undefined_mask(word_type) & 0xff;
  return static_cast<uint8_t>((part & undefined_mask(part_type)) << (index * bits(part_type) / 8) | flag);
}

}  // namespace

Tile run_bitcast(OpContext& context, const OpCall& call, Tile operand, const TypeAndShape& result) {
  const DType from_type = operand.dtype(), to_type = result.dtype;
  if (from_type == to_type) return operand;
  const int from_bits = bits(from_type), to_bits = bits(to_type);
  if (from_bits == to_bits && from_bits >= 8) {
    if (operand.repr() == from_type && context.repr_of(to_type) == to_type)
      return TileParts::retyped(std::move(operand), to_type, result.shape);
  }
  const bool scalar = operand.rank() == 0;
  const Tile from = stored(std::move(operand));
  const int64_t n = element_count(result.shape);
  const int from_bytes = storage_bytes(from_type), to_bytes = storage_bytes(to_type);
  BlockPtr block = context.pool->allocate(n * to_bytes);
  BlockPtr shadow = from.undefined() ? context.pool->allocate(n) : BlockPtr();
  if (shadow) std::memset(shadow.data(), 0, static_cast<size_t>(n));
  uint8_t* out_mask = shadow ? reinterpret_cast<uint8_t*>(shadow.data()) : nullptr;
  const uint8_t* in_mask = from.undefined();
  const std::byte* in = TileParts::bytes(from);
  if (from_bits == to_bits) {
    for (int64_t i = 0; i < n; ++i)
      put_bits(to_type, block.data() + i * to_bytes, own_bits(from_type, in + i * from_bytes));
    if (shadow) std::memcpy(out_mask, in_mask, static_cast<size_t>(n));
  } else {
    const bool packs = to_bits > from_bits;
    const int part_bits = packs ? from_bits : to_bits;
    const int64_t ratio = packs ? to_bits / from_bits : from_bits / to_bits;
    const Shape& words = packs ? result.shape : from.shape();
    const int64_t columns = words.back();
    const int64_t word_rows = element_count(words) / std::max<int64_t>(columns, 1);
    for (int64_t row = 0; row < word_rows; ++row)
      for (int64_t c = 0; c < columns; ++c) {
        const int64_t word_at = row * columns + c;
        uint64_t word = packs ? 0 : own_bits(from_type, in + word_at * from_bytes);
        for (int p = 0; p < ratio; ++p) {
          const int64_t part_at = (row * ratio + p) * columns + c;
          if (packs) {
            word |= own_bits(from_type, in + part_at * from_bytes) << (p * part_bits);
            if (shadow) out_mask[word_at] |= shadow_of_part(in_mask[part_at], from_type, p, to_type);
          } else {
            put_bits(to_type, block.data() + part_at * to_bytes, zero_extend(word >> (p * part_bits), part_bits));
            if (shadow) out_mask[part_at] = part_of_shadow(in_mask[word_at], from_type, p, to_type);
          }
        }
        if (packs) put_bits(to_type, block.data() + word_at * to_bytes, word);
      }
  }
  (void)call;
  Tile tile = from_stored(context, to_type, result.shape, std::move(block));
  TileParts::set_shadow(tile, settled(std::move(shadow), n));
  return scalar ? tile.reshaped({}) : tile;
}

Tile run_pack(OpContext& context, const OpCall& call, std::span<const Tile> operands, const TypeAndShape& result) {
  const int64_t n = element_count(result.shape);
  const int part_bits = bits(call.source_dtype);
  Tile words = Tile::dense(context, result.dtype, result.shape);
  std::byte* out = words.writable_bytes();
  const int bytes = storage_bytes(result.dtype);
  BlockPtr shadow = any_shadow(operands) ? context.pool->allocate(n) : BlockPtr();
  if (shadow) std::memset(shadow.data(), 0, static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    uint64_t word = 0;
    for (size_t k = 0; k < operands.size(); ++k) {
      const Tile& operand = operands[k];
      const int64_t at = operand.size() == n ? i : 0;
      uint64_t part = 0;
      if (is_floating(call.source_dtype))
        part = encode_element(call.source_dtype, operand.at(at));
      else
        part = static_cast<uint64_t>(operand.int_at(at));
      word |= zero_extend(part, part_bits) << (static_cast<int>(k) * part_bits);
      if (shadow && operand.undefined() && operand.undefined()[at])
        reinterpret_cast<uint8_t*>(shadow.data())[i] |=
            shadow_of_part(undefined_mask(call.source_dtype), call.source_dtype, static_cast<int>(k), result.dtype);
    }
    put_bits(result.dtype, out + i * bytes, word);
  }
  TileParts::set_shadow(words, settled(std::move(shadow), n));
  return words.reshaped(result.shape);
}

Tile run_unpack(OpContext& context, const OpCall& call, Tile from, const TypeAndShape& result) {
  const int64_t n = from.size();
  const int part_bits = bits(call.source_dtype), index = static_cast<int>(call.amount);
  const Tile words = from.materialized();
  Tile tile = Tile::dense(context, result.dtype, result.shape);
  std::byte* out = tile.writable_bytes();
  const DType repr = tile.repr();
  const int bytes = storage_bytes(repr);
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t word = static_cast<uint64_t>(words.int_at(i));
    const uint64_t part = zero_extend(word >> (index * part_bits), part_bits);
    if (is_floating(call.source_dtype))
      store_from_double(repr, out + i * bytes, load_as_double(call.source_dtype, &part));
    else
      put_bits(result.dtype, out + i * bytes, static_cast<uint64_t>(canonical_int(call.source_dtype, part)));
  }
  if (words.undefined()) {
    BlockPtr shadow = context.pool->allocate(n);
    for (int64_t i = 0; i < n; ++i)
      reinterpret_cast<uint8_t*>(shadow.data())[i] =
          part_of_shadow(words.undefined()[i], words.dtype(), index, call.source_dtype) ? undefined_mask(result.dtype)
                                                                                        : uint8_t{0};
    TileParts::set_shadow(tile, settled(std::move(shadow), n));
  }
  return tile.reshaped(result.shape);
}

}  // namespace tilecheck
