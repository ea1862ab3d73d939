#include "sim/memory/ref.h"

#include <vector>

#include "sim/types/error.h"

namespace tilecheck {
namespace {

bool is_hidden(const Ref& ref, int d) { return ref.hidden >> d & 1u; }

// The base dimension that the last-but-one shown dimension stands for, where rows pack; -1 when fewer than two are
// shown.
int row_dimension(const Ref& ref) {
  int seen = 0;
  for (int d = ref.base.rank() - 1; d >= 0; --d)
    if (!is_hidden(ref, d) && ++seen == 2) return d;
  return -1;
}

[[noreturn]] void fail(const Ref& ref, const std::string& what) { throw InputError(to_string(ref), what); }

}  // namespace

Ref Ref::whole(Buffer& buffer) {
  Ref ref;
  ref.buffer = &buffer;
  ref.dtype = buffer.dtype;
  ref.base = buffer.shape;
  ref.box = Box::whole(buffer.shape);
  return ref;
}

Shape Ref::shape() const {
  Shape shown;
  for (int d = 0; d < base.rank(); ++d)
    if (!is_hidden(*this, d)) shown.push_back(box[d].n);
  return shown;
}

int Ref::rank() const { return base.rank() - __builtin_popcount(hidden); }

int64_t Ref::element_count() const { return pack > 1 ? box.element_count() / pack : box.element_count(); }

int64_t Ref::size_bytes() const { return (element_count() * bits(dtype) + 7) / 8; }

Ref Ref::slice(std::span<const Slice> slices) const {
  if (static_cast<int>(slices.size()) > rank())
    fail(*this, std::to_string(slices.size()) + " indices for a Ref of rank " + std::to_string(rank()));
  Ref out = *this;
  size_t i = 0;
  for (int d = 0; d < base.rank() && i < slices.size(); ++d) {
    if (is_hidden(*this, d)) continue;
    const Slice& s = slices[i++];
    if (s.stride < 1) fail(*this, "stride " + std::to_string(s.stride) + " in dimension " + std::to_string(i - 1));
    Range& r = out.box[d];
    r.n = s.size >= 0 ? s.size : std::max<int64_t>(0, (box[d].n - s.start + s.stride - 1) / s.stride);
    r.lo = box[d].lo + s.start * box[d].step;
    r.step = box[d].step * s.stride;
    if (s.squeeze) out.hidden |= 1u << d;
  }
  return out;
}

Ref Ref::squeezed_to(const Shape& keep) const {
  Ref out = *this;
  int k = keep.rank() - 1;
  const Shape shown = shape();
  // From the right, as Mosaic does: a dimension that `keep` has next stays, another of extent 1 goes.
  for (int d = base.rank() - 1, i = shown.rank() - 1; d >= 0; --d) {
    if (is_hidden(*this, d)) continue;
    if (k >= 0 && shown[i] == keep[k]) {
      --k;
    } else if (shown[i] == 1) {
      out.hidden |= 1u << d;
    } else {
      fail(*this, "cannot be squeezed to " + to_tuple(keep));
    }
    --i;
  }
  if (k >= 0) fail(*this, "cannot be squeezed to " + to_tuple(keep));
  return out;
}

Ref Ref::reshaped(const Shape& to) const {
  const Shape from = shape();
  if (tilecheck::element_count(from) != tilecheck::element_count(to))
    fail(*this, "of shape " + to_tuple(from) + " cannot be reshaped to " + to_tuple(to));
  if (from == to) return *this;
  // Factor both shapes into groups of equal products. A group of one dimension on both sides keeps its box; any other
  // must cover whole base dimensions.
  std::vector<int> visible;
  for (int i = 0; i < base.rank(); ++i)
    if (!is_hidden(*this, i)) visible.push_back(i);
  Ref out = *this;
  out.base.clear();
  out.box = Box{};
  out.hidden = 0;
  const auto push = [&](int64_t extent, Range r, bool hide) {
    if (out.base.rank() == kMaxRank) fail(*this, "a reshape to more than " + std::to_string(kMaxRank) + " dimensions");
    if (hide) out.hidden |= 1u << out.base.rank();
    out.box.dims[static_cast<size_t>(out.base.rank())] = r;
    out.base.push_back(extent);
    out.box.rank = out.base.rank();
  };
  // Narrow rows may regroup while each group holds whole rows of the buffer.
  if (pack < -1 && (to.rank() < 2 || to.back() != from.back() || to[to.rank() - 2] % -pack != 0))
    fail(*this, "a reshape of packed rows");
  int next_base = 0;
  int i = 0, j = 0;
  while (i < from.rank() || j < to.rank()) {
    int64_t pi = i < from.rank() ? from[i] : 1, pj = j < to.rank() ? to[j] : 1;
    int ie = i < from.rank() ? i + 1 : i, je = j < to.rank() ? j + 1 : j;
    while (pi != pj) {
      if (pi < pj) {
        if (ie >= from.rank()) fail(*this, "reshape to " + to_tuple(to));
        pi *= from[ie++];
      } else {
        if (je >= to.rank()) fail(*this, "reshape to " + to_tuple(to));
        pj *= to[je++];
      }
    }
    const bool one_to_one = ie - i == 1 && je - j == 1;
    const int last = ie > i ? visible[static_cast<size_t>(ie - 1)] : next_base - 1;
    if (one_to_one) {
      for (; next_base < last; ++next_base) push(base[next_base], box[next_base], true);
      push(base[last], box[last], false);
      next_base = last + 1;
    } else if (ie == i) {  // new dimensions of extent 1
      for (int k = j; k < je; ++k) push(1, {0, 1, 1}, false);
    } else if (je == j) {  // dropped dimensions of extent 1
      for (; next_base <= last; ++next_base) push(base[next_base], box[next_base], true);
    } else {
      // Hidden dimensions before the group's first stay; inside the group they must be of extent 1 in the base.
      const int first = visible[static_cast<size_t>(i)];
      for (; next_base < first; ++next_base) push(base[next_base], box[next_base], true);
      int64_t outer_lo = 0;
      int64_t product = 1;
      for (int d = first; d <= last; ++d) {
        const bool full = box[d].lo == 0 && box[d].step == 1 && box[d].n == base[d];
        // The group's outermost dimension may be a contiguous part when it stays outermost.
        if (!full && !(d == first && box[d].step == 1))
          fail(*this, "a reshape to " + to_tuple(to) + " of a part that is not contiguous");
        if (d == first) outer_lo = box[d].lo;
        product *= base[d];
      }
      const bool partial = box[first].n != base[first];
      if (!partial) {
        for (int k = j; k < je; ++k) push(to[k], {0, to[k], 1}, false);
      } else {
        // Elements [outer_lo * inner, ...) of the group: expressible when the new inner dimensions divide the start and
        // the base.
        const int64_t inner = product / base[first];
        int64_t new_inner = 1;
        for (int k = j + 1; k < je; ++k) new_inner *= to[k];
        if ((outer_lo * inner) % new_inner != 0 || product % new_inner != 0)
          fail(*this, "a reshape to " + to_tuple(to) + " of a part that is not a box there");
        push(product / new_inner, {outer_lo * inner / new_inner, to[j], 1}, false);
        for (int k = j + 1; k < je; ++k) push(to[k], {0, to[k], 1}, false);
      }
      next_base = last + 1;
    }
    i = ie;
    j = je;
  }
  for (; next_base < base.rank(); ++next_base) push(base[next_base], box[next_base], true);
  return out;
}

Ref Ref::bitcast(DType to) const {
  if (to == dtype) return *this;
  Ref out = *this;
  out.dtype = to;
  const int from_bits = bits(dtype), to_bits = bits(to);
  if (from_bits == to_bits) return out;
  const int row = row_dimension(*this);
  if (row < 0) fail(*this, "a bitcast that changes the width needs two dimensions");
  Range& r = out.box[row];
  const int buffer_bits = bits(buffer->dtype);
  if (pack != 1 && to_bits != buffer_bits) fail(*this, "a bitcast of a bitcast to a third width");
  if (pack > 1) {  // back to the buffer's own rows
    const int inner = base.rank() - 2;
    if (r.step != 1 && r.n > 1) fail(*this, "a bitcast of strided rows");
    r = {r.lo * pack, r.n * pack, 1};
    out.base[row] *= pack;
    out.base.erase(inner);
    std::copy(box.dims.begin() + inner + 1, box.dims.begin() + box.rank, out.box.dims.begin() + inner);
    out.box.rank = out.base.rank();
    out.hidden = (hidden & ((1u << inner) - 1u)) | (hidden >> (inner + 1) << inner);
    out.pack = 1;
    return out;
  }
  if (to_bits > from_bits) {
    const int ratio = to_bits / from_bits;
    if (r.lo % ratio != 0 || r.n % ratio != 0 || (r.step != 1 && r.n > 1) || base[row] % ratio != 0)
      fail(*this,
           std::to_string(r.n) + " rows from " + std::to_string(r.lo) + " do not pack by " + std::to_string(ratio));
    r = {r.lo / ratio, r.n / ratio, 1};
    out.base[row] /= ratio;
    if (pack < -1) {  // narrow rows merge into the buffer's own
      out.pack = 1;
      return out;
    }
    const int inner = base.rank() - 1;  // before the column
    if (row != base.rank() - 2 || is_hidden(*this, inner)) fail(*this, "a bitcast of squeezed rows");
    out.base.insert(inner, ratio);
    out.box.dims[static_cast<size_t>(inner) + 1] = box[inner];
    out.box[inner] = {0, ratio, 1};
    out.box.rank = out.base.rank();
    out.hidden |= 1u << inner;
    out.pack = ratio;
  } else {
    const int ratio = from_bits / to_bits;
    if (r.step != 1 && r.n > 1) fail(*this, "a bitcast of strided rows");
    r = {r.lo * ratio, r.n * ratio, 1};
    out.base[row] *= ratio;
    out.pack = -ratio;
  }
  return out;
}

Box Ref::buffer_box() const {
  if (pack >= -1) return box;
  Box out = box;
  const int row = row_dimension(*this);
  const int64_t ratio = -pack;
  const int64_t lo = box[row].lo >= 0 ? box[row].lo / ratio : -((-box[row].lo + ratio - 1) / ratio);
  const int64_t last = box[row].n > 0 ? box[row].last() : box[row].lo;
  const int64_t end = last >= 0 ? last / ratio : -((-last + ratio - 1) / ratio);
  out[row] = {lo, box[row].n > 0 ? end - lo + 1 : 0, 1};
  return out;
}

Shape Ref::buffer_base() const {
  Shape out = base;
  if (pack < -1) out[row_dimension(*this)] /= -pack;
  return out;
}

std::string to_string(const Ref& ref) {
  if (!ref.buffer) return "(no ref)";
  std::string text = ref.buffer->name + (ref.base.rank() ? to_string(ref.box) : "");
  if (!(ref.base == ref.buffer->shape)) text += " of shape " + to_tuple(ref.base);
  if (ref.dtype != ref.buffer->dtype) text += " as " + std::string(name(ref.dtype));
  return text;
}

}  // namespace tilecheck
