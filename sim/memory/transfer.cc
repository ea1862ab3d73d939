#include "sim/memory/transfer.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <vector>

#include "sim/ops/shadow.h"
#include "sim/ops/tile_parts.h"
#include "sim/types/float_formats.h"

namespace tilecheck {
namespace {

// A walk over elements at offset + sum(i_d * stride_d), dimensions merged where they are contiguous in every operand.
struct Walk {
  int rank = 0;
  std::array<int64_t, kMaxRank> n{};
  std::array<std::array<int64_t, 2>, kMaxRank> stride{};  // [dimension][operand]
  std::array<int64_t, 2> offset{};
};

// Shown dimensions of a Ref as offset and strides in buffer elements. pack == 1.
struct Strided {
  int rank = 0;
  std::array<int64_t, kMaxRank> n{}, stride{};
  int64_t offset = 0;
};

Strided strided(const Ref& ref) {
  assert(ref.pack == 1);
  Strided s;
  const Dims strides = row_major_strides(ref.base);
  for (int d = 0; d < ref.base.rank(); ++d) {
    s.offset += ref.box[d].lo * strides[d];
    if (ref.hidden >> d & 1u) continue;
    s.n[static_cast<size_t>(s.rank)] = ref.box[d].n;
    s.stride[static_cast<size_t>(s.rank)] = ref.box[d].step * strides[d];
    ++s.rank;
  }
  return s;
}

Strided packed(const Shape& shape) {
  Strided s;
  s.rank = shape.rank();
  const Dims strides = row_major_strides(shape);
  for (int d = 0; d < s.rank; ++d) {
    s.n[static_cast<size_t>(d)] = shape[d];
    s.stride[static_cast<size_t>(d)] = strides[d];
  }
  return s;
}

Walk merge(const Strided& a, const Strided& b) {
  Walk w;
  w.offset = {a.offset, b.offset};
  for (int d = 0; d < a.rank; ++d) {
    const auto i = static_cast<size_t>(d);
    if (a.n[i] == 1) continue;
    const auto last = static_cast<size_t>(w.rank - 1);
    if (w.rank > 0 && w.stride[last][0] == a.n[i] * a.stride[i] && w.stride[last][1] == a.n[i] * b.stride[i]) {
      w.n[last] *= a.n[i];
      w.stride[last] = {a.stride[i], b.stride[i]};
      continue;
    }
    w.n[static_cast<size_t>(w.rank)] = a.n[i];
    w.stride[static_cast<size_t>(w.rank)] = {a.stride[i], b.stride[i]};
    ++w.rank;
  }
  if (w.rank == 0) {
    w.rank = 1;
    w.n[0] = 1;
    w.stride[0] = {1, 1};
  }
  return w;
}

// Calls row(offset_a, offset_b, n, stride_a, stride_b) for each innermost run.
template <typename Row>
void for_each_row(const Walk& w, const Row& row) {
  for (int d = 0; d < w.rank; ++d)
    if (w.n[static_cast<size_t>(d)] == 0) return;
  const auto inner = static_cast<size_t>(w.rank - 1);
  std::array<int64_t, kMaxRank> i{};
  std::array<int64_t, 2> at = w.offset;
  while (true) {
    row(at[0], at[1], w.n[inner], w.stride[inner][0], w.stride[inner][1]);
    int d = w.rank - 2;
    for (; d >= 0; --d) {
      const auto k = static_cast<size_t>(d);
      at[0] += w.stride[k][0];
      at[1] += w.stride[k][1];
      if (++i[k] < w.n[k]) break;
      at[0] -= w.stride[k][0] * w.n[k];
      at[1] -= w.stride[k][1] * w.n[k];
      i[k] = 0;
    }
    if (d < 0) return;
  }
}

constexpr int64_t kCacheLineBytes = 64;

template <typename T>
void move_rows(const Walk& w, const void* from, void* to) {
  const T* a = static_cast<const T*>(from);
  T* b = static_cast<T*>(to);
  // A row that stands apart from the one before it is asked for while that one moves.
  const int64_t next_row = w.rank > 1 ? w.stride[static_cast<size_t>(w.rank - 2)][0] : 0;
  for_each_row(w, [&](int64_t oa, int64_t ob, int64_t n, int64_t sa, int64_t sb) {
    if (sa == 1 && sb == 1) {
      for (int64_t k = 0; next_row != 0 && k < n; k += kCacheLineBytes / static_cast<int64_t>(sizeof(T)))
        __builtin_prefetch(a + oa + next_row + k);
      std::memmove(b + ob, a + oa, static_cast<size_t>(n) * sizeof(T));
    } else {
      for (int64_t k = 0; k < n; ++k) b[ob + k * sb] = a[oa + k * sa];
    }
  });
}

void move_elements(const Walk& w, int width, const void* from, void* to) {
  switch (width) {
    case 1:
      return move_rows<uint8_t>(w, from, to);
    case 2:
      return move_rows<uint16_t>(w, from, to);
    case 4:
      return move_rows<uint32_t>(w, from, to);
    default:
      return move_rows<uint64_t>(w, from, to);
  }
}

void fill_shadow(const Strided& region, uint8_t* shadow, uint8_t value) {
  for_each_row(merge(region, region), [&](int64_t o, int64_t, int64_t n, int64_t s, int64_t) {
    if (s == 1) {
      std::memset(shadow + o, value, static_cast<size_t>(n));
    } else {
      for (int64_t k = 0; k < n; ++k) shadow[o + k * s] = value;
    }
  });
}

// Whether elements need no conversion between the buffer's storage and tiles of the Ref's type.
bool is_direct(const Ref& ref) {
  return ref.pack == 1 && (ref.dtype == ref.buffer->dtype || ref.buffer->repr == ref.buffer->dtype) &&
         storage_bytes(ref.buffer->repr) ==
             storage_bytes(ref.dtype == ref.buffer->dtype ? ref.buffer->repr : ref.dtype);
}

bool covers_buffer(const Ref& ref) {
  return ref.element_count() * (ref.pack > 1 ? ref.pack : 1) == ref.buffer->array.size() && ref.pack >= 1;
}

// Whether a tile of the Ref's elements and the buffer may be one block: every element, in order, in one storage.
bool shares_storage(const Ref& ref) { return ref.buffer->block && is_direct(ref) && covers_buffer(ref); }

uint64_t element_bits(const std::byte* at, int width) {
  uint64_t bits = 0;
  std::memcpy(&bits, at, static_cast<size_t>(width));
  return bits;
}

// ---- Elements one by one, for Refs that pack, unpack or reinterpret.

// Where shown element `index` (row-major over ref.shape()) lives: buffer elements `first`, `first + stride`, ... (pack
// of them), or part `part` of one element.
struct Place {
  int64_t first;
  int64_t row_stride;
  int part;
};

class Placer {
 public:
  explicit Placer(const Ref& ref) : ref_(ref), shape_(ref.shape()) {
    const Shape base = ref.buffer_base();
    strides_ = row_major_strides(base);
    int seen = 0;
    if (ref.pack > 1) row_ = ref.base.rank() - 2;
    for (int d = ref.base.rank() - 1; d >= 0 && ref.pack < -1; --d)
      if (!(ref.hidden >> d & 1u) && ++seen == 2) row_ = d;
  }
  Place operator()(const Dims& index) const {
    Place p{0, 1, 0};
    int i = 0;
    for (int d = 0; d < ref_.base.rank(); ++d) {
      int64_t at = ref_.box[d].lo;
      if (!(ref_.hidden >> d & 1u)) at += index[i++] * ref_.box[d].step;
      if (d == row_ && ref_.pack < -1) {
        p.part = static_cast<int>(at % -ref_.pack);
        at /= -ref_.pack;
      }
      p.first += at * strides_[d];
      if (d == row_) p.row_stride = strides_[d];
    }
    return p;
  }
  const Shape& shape() const { return shape_; }

 private:
  const Ref& ref_;
  Shape shape_;
  Dims strides_;
  int row_ = -1;
};

bool next_index(Dims& index, const Shape& shape) {
  for (int d = shape.rank() - 1; d >= 0; --d) {
    if (++index[d] < shape[d]) return true;
    index[d] = 0;
  }
  return false;
}

// The bits of a buffer element in its declared type (f64 storage is rounded: this is a bitcast).
uint64_t declared_bits(const Buffer& buffer, int64_t element) {
  const std::byte* at = buffer.array.data() + element * storage_bytes(buffer.repr);
  if (buffer.repr == buffer.dtype) return element_bits(at, storage_bytes(buffer.dtype));
  std::byte rounded[8];
  store_from_double(buffer.dtype, rounded, load_as_double(buffer.repr, at));
  return element_bits(rounded, storage_bytes(buffer.dtype));
}

void set_declared_bits(Buffer& buffer, int64_t element, uint64_t bits_value) {
  std::byte* at = buffer.writable(false) + element * storage_bytes(buffer.repr);
  std::byte stored[8];
  std::memcpy(stored, &bits_value, 8);
  if (buffer.repr == buffer.dtype) {
    std::memcpy(at, stored, static_cast<size_t>(storage_bytes(buffer.dtype)));
  } else {
    store_from_double(buffer.repr, at, load_as_double(buffer.dtype, stored));
  }
}

uint64_t low_bits(int n) { return n >= 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1; }

// Sub-byte integers are kept sign-extended in their byte.
uint64_t normalized(DType dtype, uint64_t value) {
  const int n = bits(dtype);
  if (n < 8 && is_signed_int(dtype) && (value >> (n - 1) & 1u)) return (value | ~low_bits(n)) & 0xff;
  return value & low_bits(std::max(n, 1));
}

// Shadow of `n` bits from bit `from` of an element with shadow `bytes`: sub-byte parts share their byte's.
uint8_t shadow_part(uint8_t bytes, int from_bits, int n_bits) {
  const int first = from_bits / 8, count = std::max(1, n_bits / 8);
  return static_cast<uint8_t>((bytes >> first) & ((1u << count) - 1u));
}

struct Element {
  uint64_t bits;
  uint8_t undefined;
};

Element read_placed(const Ref& ref, const Place& p, const uint8_t* shadow, uint8_t whole_shadow) {
  const Buffer& buffer = *ref.buffer;
  const int buffer_bits = bits(buffer.dtype), own_bits = bits(ref.dtype);
  const auto shadow_of = [&](int64_t e) { return shadow ? shadow[e] : whole_shadow; };
  if (ref.pack > 1) {
    Element out{0, 0};
    for (int r = 0; r < ref.pack; ++r) {
      const int64_t e = p.first + r * p.row_stride;
      out.bits |= (declared_bits(buffer, e) & low_bits(buffer_bits)) << (r * buffer_bits);
      if (shadow_of(e)) {
        const unsigned mask = (1u << std::max(1, buffer_bits / 8)) - 1u;
        out.undefined = static_cast<uint8_t>(out.undefined | ((shadow_of(e) & mask) << (r * buffer_bits / 8)));
      }
    }
    out.bits = normalized(ref.dtype, out.bits);
    return out;
  }
  const uint64_t word = declared_bits(buffer, p.first);
  if (ref.pack < -1)
    return {normalized(ref.dtype, word >> (p.part * own_bits) & low_bits(own_bits)),
            shadow_part(shadow_of(p.first), p.part * own_bits, own_bits)};
  return {normalized(ref.dtype, word), shadow_of(p.first)};
}

void write_placed(const Ref& ref, const Place& p, Element value, uint8_t* shadow) {
  Buffer& buffer = *ref.buffer;
  const int buffer_bits = bits(buffer.dtype), own_bits = bits(ref.dtype);
  if (ref.pack > 1) {
    for (int r = 0; r < ref.pack; ++r) {
      const int64_t e = p.first + r * p.row_stride;
      set_declared_bits(buffer, e, normalized(buffer.dtype, value.bits >> (r * buffer_bits) & low_bits(buffer_bits)));
      if (shadow) shadow[e] = shadow_part(value.undefined, r * buffer_bits, buffer_bits);
    }
  } else if (ref.pack < -1) {
    const int at = p.part * own_bits;
    const uint64_t mask = low_bits(own_bits) << at;
    set_declared_bits(buffer, p.first, (declared_bits(buffer, p.first) & ~mask) | ((value.bits << at) & mask));
    if (shadow) {
      const unsigned bytes = ((1u << std::max(1, own_bits / 8)) - 1u) << (at / 8);
      const unsigned set = value.undefined ? static_cast<unsigned>(value.undefined) << (at / 8) & bytes : 0u;
      shadow[p.first] = static_cast<uint8_t>((shadow[p.first] & ~bytes) | set);
    }
  } else {
    set_declared_bits(buffer, p.first, normalized(buffer.dtype, value.bits));
    if (shadow) shadow[p.first] = value.undefined;
  }
}

uint8_t uniform_shadow(const Shadow& s) {
  return s.state() == Shadow::State::undefined ? s.undefined_byte() : uint8_t{0};
}

const uint8_t* mixed_bytes(const Shadow& s) { return s.state() == Shadow::State::mixed ? s.bytes() : nullptr; }

// Tile elements of a reinterpreting Ref, in the storage that `repr` says.
void put_element(DType declared, DType repr, std::byte* at, uint64_t value) {
  std::byte stored[8];
  std::memcpy(stored, &value, 8);
  if (declared == repr) {
    std::memcpy(at, stored, static_cast<size_t>(storage_bytes(repr)));
  } else {
    store_from_double(repr, at, load_as_double(declared, stored));
  }
}

uint64_t get_element(DType declared, DType repr, const std::byte* at) {
  if (declared == repr) return element_bits(at, storage_bytes(repr));
  std::byte rounded[8];
  store_from_double(declared, rounded, load_as_double(repr, at));
  return element_bits(rounded, storage_bytes(declared));
}

// Reads the elements of `ref` into `out` (packed, storage `repr`), and their shadow into `shadow` (may be null when the
// buffer is all defined). Any Ref in bounds.
void read_elements(const Ref& ref, DType repr, std::byte* out, uint8_t* shadow) {
  ref.buffer->ensure_filled();
  const Buffer& buffer = *ref.buffer;
  if (is_direct(ref)) {
    const Walk w = merge(strided(ref), packed(ref.shape()));
    move_elements(w, storage_bytes(buffer.repr), buffer.array.data(), out);
    if (shadow) {
      if (const uint8_t* bytes = mixed_bytes(buffer.shadow)) {
        move_rows<uint8_t>(w, bytes, shadow);
      } else {
        std::memset(shadow, uniform_shadow(buffer.shadow), static_cast<size_t>(ref.element_count()));
      }
    }
    return;
  }
  const Placer place(ref);
  Dims index = Dims::filled(place.shape().rank(), 0);
  if (ref.element_count() == 0) return;
  const uint8_t* bytes = mixed_bytes(buffer.shadow);
  const uint8_t whole = uniform_shadow(buffer.shadow);
  int64_t i = 0;
  do {
    const Element e = read_placed(ref, place(index), bytes, whole);
    put_element(ref.dtype, repr, out + i * storage_bytes(repr), e.bits);
    if (shadow) shadow[i] = e.undefined;
    ++i;
  } while (next_index(index, place.shape()));
}

// Sets the shadow of elements that a walk from packed ones writes; `from` null: all defined.
void write_shadow(const Walk& w, const Strided& to, const uint8_t* from, bool whole, Shadow& shadow) {
  if (from) {
    move_rows<uint8_t>(w, from, shadow.bytes());
  } else if (whole) {
    shadow.set_all(true);
  } else if (!shadow.all_defined()) {
    fill_shadow(to, shadow.bytes(), 0);
  }
}

// Writes packed elements; `shadow` null: all defined.
void write_elements(const Ref& ref, DType repr, const std::byte* in, const uint8_t* shadow) {
  Buffer& buffer = *ref.buffer;
  if (ref.element_count() == 0) return;
  const bool whole = covers_buffer(ref);
  if (!whole || ref.pack != 1) buffer.ensure_filled();
  buffer.overwritten();
  if (is_direct(ref)) {
    const Strided to = strided(ref);
    const Walk w = merge(packed(ref.shape()), to);
    move_elements(w, storage_bytes(buffer.repr), in, buffer.writable(whole));
    write_shadow(w, to, shadow, whole, buffer.shadow);
    return;
  }
  const Placer place(ref);
  Dims index = Dims::filled(place.shape().rank(), 0);
  uint8_t* bytes = shadow || !buffer.shadow.all_defined() ? buffer.shadow.bytes() : nullptr;
  int64_t i = 0;
  do {
    const uint64_t value = get_element(ref.dtype, repr, in + i * storage_bytes(repr));
    write_placed(ref, place(index), {value, shadow ? shadow[i] : uint8_t{0}}, bytes);
    ++i;
  } while (next_index(index, place.shape()));
  if (!shadow && whole) buffer.shadow.set_all(true);
}

// The shown part of `ref` whose elements lie inside the buffer's logical shape, as trims at both ends of each shown
// dimension.
struct Trim {
  std::array<int64_t, kMaxRank> lo{}, n{};
  bool whole = true;
};

Trim inside(const Ref& ref) {
  Trim t;
  const Shape shape = ref.shape();
  const Box clipped = clip(ref.box, ref.base);
  int i = 0;
  for (int d = 0; d < ref.base.rank(); ++d) {
    const Range& r = ref.box[d];
    const Range& c = clipped[d];
    const bool shown = !(ref.hidden >> d & 1u);
    if (c.n != r.n) t.whole = false;
    if (!shown) {
      if (c.n == 0) {  // a hidden index outside: nothing is inside
        for (int k = 0; k < shape.rank(); ++k) t.n[static_cast<size_t>(k)] = 0;
        return t;
      }
      continue;
    }
    t.lo[static_cast<size_t>(i)] = (c.lo - r.lo) / r.step;
    t.n[static_cast<size_t>(i)] = c.n;
    ++i;
  }
  return t;
}

Ref trimmed(const Ref& ref, const std::array<int64_t, kMaxRank>& lo, const std::array<int64_t, kMaxRank>& n) {
  std::vector<Slice> slices;
  for (int i = 0; i < ref.rank(); ++i) slices.push_back(ds(lo[static_cast<size_t>(i)], n[static_cast<size_t>(i)]));
  return ref.slice(slices);
}

void mark_undefined(const Ref& ref) {
  const int64_t n = ref.element_count();
  if (n == 0) return;
  if (ref.pack == 1) {
    fill_shadow(strided(ref), ref.buffer->shadow.bytes(), ref.buffer->shadow.undefined_byte());
    return;
  }
  const std::vector<uint8_t> ones(static_cast<size_t>(n), undefined_mask(ref.dtype));
  std::vector<std::byte> old(static_cast<size_t>(n) * static_cast<size_t>(storage_bytes(ref.dtype)));
  read_elements(ref, ref.dtype, old.data(), nullptr);
  write_elements(ref, ref.dtype, old.data(), ones.data());
}

// Whether a copy leaves each element's bytes as they are and all of them exist.
bool moves_bytes(const Ref& from, const Ref& to) {
  return is_direct(from) && is_direct(to) && from.buffer->repr == to.buffer->repr && inside(from).whole &&
         inside(to).whole;
}

// The whole of a buffer that shares its storage.
Tile load_shared(OpContext& context, const Ref& ref, const Shape& shape) {
  Buffer& buffer = *ref.buffer;
  const bool held = !buffer.filled && buffer.held.has_value() && ref.dtype == buffer.dtype;
  if (!held) buffer.ensure_filled();
  Tile tile = held ? buffer.held.reshaped(shape) : TileParts::from_block(context, ref.dtype, shape, buffer.block);
  buffer.shadow.settle();
  if (const uint8_t* bytes = mixed_bytes(buffer.shadow)) {
    std::memcpy(tile.make_shadow(), bytes, static_cast<size_t>(tile.size()));
  } else if (!buffer.shadow.all_defined()) {
    std::memset(tile.make_shadow(), buffer.shadow.undefined_byte(), static_cast<size_t>(tile.size()));
  }
  return tile;
}

void store_shared(const Ref& ref, const Tile& tile) {
  Buffer& buffer = *ref.buffer;
  if (tile.layout() == Layout::dense || ref.dtype != buffer.dtype) {
    buffer.share(TileParts::block(tile.materialized()));
    buffer.overwritten();
  } else {
    Tile value = tile;
    value.drop_shadow();
    buffer.hold(std::move(value));
  }
  buffer.shadow.set_all(true);
  if (tile.undefined()) std::memcpy(buffer.shadow.bytes(), tile.undefined(), static_cast<size_t>(tile.size()));
}

}  // namespace

Tile load_tile(OpContext& context, const Ref& ref) {
  const Shape shape = ref.shape();
  if (shape.rank() == 0) {
    uint8_t undefined = 0;
    const uint64_t value = load_scalar(ref, &undefined);
    Tile tile = Tile::splat_bits(context, ref.dtype, shape, value);
    if (undefined) {
      tile.make_shadow()[0] = undefined;
    }
    return tile;
  }
  Buffer& buffer = *ref.buffer;
  if (shares_storage(ref)) return load_shared(context, ref, shape);
  Tile tile = Tile::dense(context, ref.dtype, shape);
  const bool defined = buffer.shadow.all_defined();
  uint8_t* shadow = defined ? nullptr : tile.make_shadow();
  read_elements(ref, tile.repr(), tile.writable_bytes(), shadow);
  if (shadow && !has_set_byte(shadow, tile.size())) tile.drop_shadow();
  return tile;
}

Tile load_tile_masked(OpContext& context, const Ref& ref, const Tile& mask) {
  Tile tile = load_tile(context, ref);
  tile = tile.materialized();
  uint8_t* shadow = nullptr;
  if (tile.all_defined()) {
    shadow = tile.make_shadow();
    std::memset(shadow, 0, static_cast<size_t>(tile.size()));
  } else {
    shadow = const_cast<uint8_t*>(tile.undefined());
  }
  const uint8_t* mask_shadow = mask.undefined();
  for (int64_t i = 0; i < tile.size(); ++i)
    if (mask.int_at(i) == 0 || (mask_shadow && mask_shadow[i])) shadow[i] = undefined_mask(ref.dtype);
  if (!has_set_byte(shadow, tile.size())) tile.drop_shadow();
  return tile;
}

void store_tile(const Ref& ref, const Tile& tile) {
  if (tile.is_scalar()) {
    const uint64_t bits_value = is_floating(tile.repr()) ? tile.splat_bits() : static_cast<uint64_t>(tile.int_at(0));
    store_scalar(ref, bits_value, tile.undefined() ? tile.undefined()[0] : uint8_t{0});
    return;
  }
  if (tile.size() > 0 && shares_storage(ref)) return store_shared(ref, tile);
  const Tile dense = tile.materialized();
  write_elements(ref, dense.repr(), dense.data<std::byte>(), dense.undefined());
}

void store_tile_masked(const Ref& ref, const Tile& tile, const Tile& mask) {
  OpContext& context = tile.context();
  // Lanes that are off keep their bytes and their shadow.
  const Tile old = load_tile(context, ref).materialized();
  const Tile dense = tile.materialized();
  Tile merged = Tile::dense(context, ref.dtype, ref.shape());
  const auto width = static_cast<size_t>(storage_bytes(merged.repr()));
  const uint8_t* mask_shadow = mask.undefined();
  uint8_t* shadow = merged.make_shadow();
  for (int64_t i = 0; i < merged.size(); ++i) {
    const bool on = mask.int_at(i) != 0;
    const Tile& from = on ? dense : old;
    std::memcpy(merged.writable_bytes() + static_cast<size_t>(i) * width,
                from.data<std::byte>() + static_cast<size_t>(i) * width, width);
    shadow[i] = from.undefined() ? from.undefined()[i] : uint8_t{0};
    if (mask_shadow && mask_shadow[i]) shadow[i] = undefined_mask(ref.dtype);
  }
  if (!has_set_byte(shadow, merged.size())) merged.drop_shadow();
  write_elements(ref, merged.repr(), merged.data<std::byte>(), merged.undefined());
}

CopyImage read_image(const Ref& from) {
  CopyImage image;
  const bool plain = from.dtype == from.buffer->dtype;
  const DType repr = plain ? from.buffer->repr : from.dtype;
  image.elements = HostArray(repr, from.shape());
  const Trim t = inside(from);
  const int64_t n = from.element_count();
  if (t.whole) {
    if (!from.buffer->shadow.all_defined()) image.undefined.reset(new uint8_t[static_cast<size_t>(n)]);
    read_elements(from, repr, image.elements.data(), image.undefined.get());
    if (image.undefined && !has_set_byte(image.undefined.get(), n)) image.undefined.reset();
    return image;
  }
  // Reaches into the tile padding: read what exists into a whole array of undefined elements.
  Buffer whole("", Space::host, repr, repr, from.shape(), 0, 0);
  whole.ensure_filled();
  const Ref to = trimmed(Ref::whole(whole), t.lo, t.n);
  copy_elements(trimmed(from, t.lo, t.n), to);
  image.elements = whole.array;
  image.undefined.reset(new uint8_t[static_cast<size_t>(n)]);
  std::memcpy(image.undefined.get(), whole.shadow.bytes(), static_cast<size_t>(n));
  return image;
}

void write_image(const CopyImage& image, const Ref& to) {
  const Trim t = inside(to);
  if (t.whole) {
    write_elements(to, image.elements.dtype(), image.elements.data(), image.undefined.get());
    return;
  }
  Buffer whole("", Space::host, image.elements, 0, 0);
  if (image.undefined)
    std::memcpy(whole.shadow.bytes(), image.undefined.get(), static_cast<size_t>(image.elements.size()));
  Ref inner = trimmed(Ref::whole(whole), t.lo, t.n);
  copy_elements(inner, trimmed(to, t.lo, t.n));
}

void copy_elements(const Ref& from, const Ref& to) {
  if (from.element_count() == 0) return;
  if (!moves_bytes(from, to)) {
    const bool inner = from.pack == 1 && to.pack == 1;
    const Trim f = inside(from), g = inside(to);
    if (inner && !(f.whole && g.whole) && from.dtype == to.dtype) {
      // Only rows that exist on both sides move; what exists only in the target becomes undefined.
      std::array<int64_t, kMaxRank> lo{}, n{};
      bool any = true;
      for (int i = 0; i < from.rank(); ++i) {
        const auto k = static_cast<size_t>(i);
        lo[k] = std::max(f.lo[k], g.lo[k]);
        n[k] = std::max<int64_t>(0, std::min(f.lo[k] + f.n[k], g.lo[k] + g.n[k]) - lo[k]);
        any = any && n[k] > 0;
      }
      to.buffer->ensure_filled();
      if (!f.whole) mark_undefined(trimmed(to, g.lo, g.n));
      if (any) copy_elements(trimmed(from, lo, n), trimmed(to, lo, n));
      return;
    }
    write_image(read_image(from), to);
    return;
  }
  from.buffer->ensure_filled();
  Buffer& target = *to.buffer;
  const bool whole = covers_buffer(to);
  if (!whole) target.ensure_filled();
  target.overwritten();
  const Strided to_walk = strided(to);
  const Walk w = merge(strided(from), to_walk);
  const std::byte* const elements = from.buffer->array.data();  // before the target, perhaps the same, leaves its block
  move_elements(w, storage_bytes(target.repr), elements, target.writable(whole));
  const Shadow& source = from.buffer->shadow;
  if (source.all_defined()) {
    if (whole) {
      target.shadow.set_all(true);
    } else if (!target.shadow.all_defined()) {
      fill_shadow(to_walk, target.shadow.bytes(), 0);
    }
  } else if (source.state() == Shadow::State::undefined) {
    if (whole) {
      target.shadow.set_all(false);
    } else {
      fill_shadow(to_walk, target.shadow.bytes(), target.shadow.undefined_byte());
    }
  } else {
    move_rows<uint8_t>(w, source.bytes(), target.shadow.bytes());
    if (whole) target.shadow.settle();
  }
}

// Rows of fewer elements are copied: what runs over them row by row would take longer.
constexpr int64_t kMinShownRow = 128;

void borrow_elements(OpContext& context, const Ref& from, const Ref& to) {
  const Buffer& source = *from.buffer;
  Buffer& target = *to.buffer;
  if (!source.read_only || !source.filled || !source.shadow.all_defined() || !target.can_borrow() ||
      from.element_count() == 0 || !covers_buffer(to) || !moves_bytes(from, to))
    return copy_elements(from, to);
  const Walk w = merge(strided(from), strided(to));
  const std::byte* first = source.array.data() + w.offset[0] * storage_bytes(source.repr);
  const auto inner = static_cast<size_t>(w.rank - 1);
  if (w.rank > 2 || w.stride[inner][0] != 1 || w.stride[inner][1] != 1) return copy_elements(from, to);
  if (w.rank == 1) {
    target.borrow(first);
    target.overwritten();
  } else if (w.n[1] >= kMinShownRow && w.stride[0][0] > 0) {
    target.hold(
        TileParts::rows(context, target.dtype, target.shape, context.pool->lend(first), w.n[1], w.stride[0][0]));
  } else {
    return copy_elements(from, to);
  }
  target.shadow.set_all(true);
}

uint64_t load_scalar(const Ref& ref, uint8_t* undefined) {
  assert(ref.element_count() == 1);
  Buffer& buffer = *ref.buffer;
  buffer.ensure_filled();
  if (ref.pack == 1) {
    const int64_t e = strided(ref).offset;
    if (undefined)
      *undefined = mixed_bytes(buffer.shadow) ? mixed_bytes(buffer.shadow)[e] : uniform_shadow(buffer.shadow);
    uint64_t value = ref.dtype == buffer.dtype ? element_bits(buffer.array.data() + e * storage_bytes(buffer.repr),
                                                              storage_bytes(buffer.repr))
                                               : declared_bits(buffer, e);
    const int n = ref.dtype == buffer.dtype ? storage_bytes(buffer.repr) * 8 : bits(ref.dtype);
    if (is_signed_int(ref.dtype) && n < 64 && (value >> (n - 1) & 1u)) value |= ~low_bits(n);
    return value;
  }
  const Placer place(ref);
  const Element e = read_placed(ref, place(Dims::filled(place.shape().rank(), 0)), mixed_bytes(buffer.shadow),
                                uniform_shadow(buffer.shadow));
  if (undefined) *undefined = e.undefined;
  uint64_t value = e.bits;
  if (is_signed_int(ref.dtype) && bits(ref.dtype) < 64 && (value >> (bits(ref.dtype) - 1) & 1u))
    value |= ~low_bits(bits(ref.dtype));
  return value;
}

void store_scalar(const Ref& ref, uint64_t value, uint8_t undefined) {
  assert(ref.element_count() == 1);
  Buffer& buffer = *ref.buffer;
  buffer.ensure_filled();
  uint8_t* shadow = undefined || !buffer.shadow.all_defined() ? buffer.shadow.bytes() : nullptr;
  if (ref.pack == 1 && ref.dtype == buffer.dtype) {
    const int64_t e = strided(ref).offset;
    std::memcpy(buffer.writable(false) + e * storage_bytes(buffer.repr), &value,
                static_cast<size_t>(storage_bytes(buffer.repr)));
    if (shadow) shadow[e] = undefined;
    return;
  }
  const Placer place(ref);
  write_placed(ref, place(Dims::filled(place.shape().rank(), 0)), {value & low_bits(bits(ref.dtype)), undefined},
               shadow);
}

bool in_bounds(const Ref& ref, bool copy) {
  const Shape base = ref.buffer_base();
  const Box box = ref.buffer_box();
  const Buffer& b = *ref.buffer;
  // The padded extents apply to the buffer's own dimensions; a reshaped base has none but its own.
  const bool padded = copy && base == b.shape;
  for (int d = 0; d < base.rank(); ++d) {
    if (box[d].n == 0) continue;
    if (box[d].lo < 0 || box[d].last() >= (padded ? b.copy_extents[d] : base[d])) return false;
  }
  return true;
}

}  // namespace tilecheck
