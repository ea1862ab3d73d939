// Ref: a view of part of a buffer - sliced, strided, squeezed, reshaped or bitcast - that stays an exact box.
#pragma once

#include <initializer_list>
#include <span>
#include <string>

#include "sim/memory/box.h"
#include "sim/memory/buffer.h"

namespace tilecheck {

// One dimension of a slice expression.
struct Slice {
  int64_t start = 0;
  int64_t size = -1;  // -1: to the end
  int64_t stride = 1;
  bool squeeze = false;  // size 1, dropped from the shape
  Slice() = default;
  Slice(int64_t start_, int64_t size_, int64_t stride_ = 1) : start(start_), size(size_), stride(stride_) {}
  // A single index: that element, dimension dropped.
  Slice(int64_t index) : start(index), size(1), squeeze(true) {}  // NOLINT(google-explicit-constructor)
};
inline Slice all() { return {}; }
inline Slice ds(int64_t start, int64_t size, int64_t stride = 1) { return {start, size, stride}; }

// A Ref owns nothing. Its box may reach outside the buffer; whoever accesses it checks the bounds.
struct Ref {
  Buffer* buffer = nullptr;
  DType dtype = DType::f32;  // as shown
  Shape base;           // the buffer's elements under another row-major shape; equals buffer->shape unless reshaped
  Box box;              // in `base`, in elements of the buffer (pack >= 1) or of the view (pack < -1)
  uint32_t hidden = 0;  // bit d: dimension d of `base` has box extent 1 and is not shown
  // r > 1: one shown element is r buffer elements, which are the hidden last-but-one dimension of `base` (extent r):
  // rows r i .. r i + r - 1 of one column. -r: r shown rows are one buffer row, and `base` counts shown rows. 1: one to
  // one.
  int pack = 1;

  static Ref whole(Buffer& buffer);
  bool has_value() const { return buffer != nullptr; }
  Space space() const { return buffer->space; }
  Shape shape() const;  // as shown
  int rank() const;
  int64_t element_count() const;
  int64_t size_bytes() const;  // on the chip: element_count * bits / 8, rounded up

  // Slices the shown dimensions; missing trailing ones are kept whole.
  Ref operator()(std::initializer_list<Slice> slices) const { return slice({slices.begin(), slices.size()}); }
  Ref slice(std::span<const Slice> slices) const;
  Ref at(std::initializer_list<Slice> slices) const { return slice({slices.begin(), slices.size()}); }
  // Drops the shown dimensions of extent 1 that `keep` does not have: memref_squeeze to that shape.
  Ref squeezed_to(const Shape& keep) const;
  // Another shape of the same elements. Dimensions that are sliced partly must appear unchanged. Throws InputError
  // otherwise.
  Ref reshaped(const Shape& shape) const;
  // Another element type; a width change acts on the second-minor dimension (rows pack). Throws InputError when the
  // rows do not divide.
  Ref bitcast(DType to) const;

  // The accessed elements as a box in `base`, in buffer elements: what ordering and bounds work on.
  Box buffer_box() const;
  // The shape whose coordinates buffer_box() has.
  Shape buffer_base() const;
};

// "kv_buf[1, 0:64, 0:128]"
std::string to_string(const Ref& ref);

// A Ref with its memory space in its type, so that misuse does not compile.
template <Space S>
struct TypedRef : Ref {
  TypedRef() = default;
  explicit TypedRef(const Ref& ref) : Ref(ref) {}
};
using HbmRef = TypedRef<Space::hbm>;
using VmemRef = TypedRef<Space::vmem>;
using SmemRef = TypedRef<Space::smem>;

}  // namespace tilecheck
