#include "sim/spec/traffic_affine.h"

#include <algorithm>

namespace tilecheck {
namespace {

constexpr int64_t kMostLooks = 20000;
constexpr int64_t kMostPieces = 256;

Wide span_of(std::span<const Stride> strides) {
  Wide span = 0;
  for (const Stride& s : strides) span += Wide{s.step} * (s.count - 1);
  return span;
}

Wide points_of(std::span<const Stride> strides) {
  Wide n = 1;
  for (const Stride& s : strides) n *= s.count;
  return n;
}

// A sum over a box of points, from its least value on: coordinates that count down are turned round.
struct Sum {
  Wide least = 0;
  std::vector<Stride> strides;  // rising

  void add(int64_t per_step, int64_t first, int64_t count) {
    least += Wide{per_step} * (per_step < 0 ? first + count - 1 : first);
    if (per_step != 0 && count > 1) strides.push_back({per_step < 0 ? -per_step : per_step, count});
  }
  void sort() { std::ranges::sort(strides, {}, &Stride::step); }
};

class AffineFactor {
 public:
  AffineFactor(const FactorBlocks& blocks, std::vector<FactorAxis> axes,
               std::span<const BoundIndexExpr::Affine> indices)
      : blocks_(blocks), axes_(std::move(axes)), indices_(indices), counts_(axes_) {}

  std::optional<FactorCounts> count() {
    if (!(all_whole() ? count_whole() : indices_.size() == 1 && count_pieces())) return std::nullopt;
    return std::move(counts_);
  }

 private:
  int64_t per_step(size_t dim, size_t axis) const {
    return indices_[dim].per_axis[static_cast<size_t>(axes_[axis].axis)];
  }
  // Whether no index is another when those axes from `from` on go back to 0 and the one before counts up, if it does.
  bool is_same(size_t from, bool counts_up) const {
    for (size_t d = 0; d < indices_.size(); ++d) {
      Wide change = counts_up ? Wide{per_step(d, from - 1)} : 0;
      for (size_t a = from; a < axes_.size(); ++a) change -= Wide{per_step(d, a)} * (axes_[a].extent - 1);
      if (change != 0) return false;
    }
    return true;
  }
  Sum sum_of(size_t dim) const {
    Sum sum{.least = indices_[dim].offset};
    for (size_t a = 0; a < axes_.size(); ++a) sum.add(per_step(dim, a), 0, axes_[a].extent);
    sum.sort();
    return sum;
  }
  bool all_whole() const {
    for (size_t d = 0; d < indices_.size(); ++d) {
      const Sum sum = sum_of(d);
      if (sum.least < blocks_.whole(d).first || sum.least + span_of(sum.strides) > blocks_.whole(d).last) return false;
    }
    return true;
  }

  // Every block is whole and the array's.
  bool count_whole() {
    int64_t elements = 1;
    for (size_t d = 0; d < indices_.size(); ++d) elements *= blocks_.whole(d).elements;
    counts_.first.add(elements);
    counts_.first_inside.add(elements);
    Wide before = 1;  // points of the axes before
    for (size_t a = 0; a <= axes_.size(); ++a) {
      counts_.outside[a].add(elements, true, is_same(a, false), before);
      if (a == axes_.size()) break;
      counts_.at[a].add(elements, true, is_same(a + 1, true), before * (axes_[a].extent - 1));
      before *= axes_[a].extent;
    }
    if (blocks_.tracked_blocks() == 0) return true;
    // A block's number among the array's is a sum of strides too.
    Sum number;
    for (size_t a = 0; a < axes_.size(); ++a) {
      Wide step = 0;
      for (size_t d = 0; d < indices_.size(); ++d) step = step * blocks_.block_count(d) + per_step(d, a);
      number.add(static_cast<int64_t>(step), 0, axes_[a].extent);
    }
    number.sort();
    const auto values = StrideValues::of(number.strides);
    if (!values) return false;
    counts_.distinct.add(elements, values->at_most(span_of(number.strides)));
    return true;
  }

  // One index, whose values fall into pieces of different blocks.
  bool count_pieces() {
    const Sum all = sum_of(0);
    const Wide greatest = all.least + span_of(all.strides);
    const auto pieces = blocks_.pieces(0, static_cast<int64_t>(all.least), static_cast<int64_t>(greatest), kMostPieces);
    if (!pieces) return false;
    const FactorBlocks::Piece first = blocks_.at(0, indices_[0].offset);
    counts_.first.add(first.elements);
    if (first.is_inside) counts_.first_inside.add(first.elements);
    for (size_t a = 0; a <= axes_.size(); ++a) {
      if (!count_box(counts_.outside[a], *pieces, a, false, is_same(a, false))) return false;
      if (a < axes_.size() && !count_box(counts_.at[a], *pieces, a + 1, true, is_same(a + 1, true))) return false;
    }
    if (blocks_.tracked_blocks() == 0) return true;
    const auto values = StrideValues::of(all.strides);
    if (!values) return false;
    for (const FactorBlocks::Piece& p : *pieces)
      if (p.is_inside)
        counts_.distinct.add(p.elements,
                             values->at_most(p.last - all.least) - values->at_most(p.first - 1 - all.least));
    return true;
  }
  // The points at which all axes from `from` on are 0, and the one before is not, if that counts up.
  bool count_box(Transitions& into, const std::vector<FactorBlocks::Piece>& pieces, size_t from, bool counts_up,
                 bool is_same) {
    Sum box{.least = indices_[0].offset};
    Wide points = 1;
    for (size_t a = 0; a < from; ++a) {
      const int64_t first = counts_up && a + 1 == from ? 1 : 0;
      box.add(per_step(0, a), first, axes_[a].extent - first);
      points *= axes_[a].extent - first;
    }
    box.sort();
    const Wide alike = points / points_of(box.strides);  // points that differ along axes that the index does not use
    Wide before = 0;
    for (const FactorBlocks::Piece& p : pieces) {
      const auto until = points_at_most(box.strides, p.last - box.least, looks_);
      if (!until) return false;
      if (*until > before) into.add(p.elements, p.is_inside, is_same, (*until - before) * alike);
      before = *until;
    }
    return true;
  }

  const FactorBlocks& blocks_;
  std::vector<FactorAxis> axes_;
  std::span<const BoundIndexExpr::Affine> indices_;
  FactorCounts counts_;
  int64_t looks_ = kMostLooks;
};

}  // namespace

// Strides that fill the gaps of greater ones make one: 0 .. 3 and steps of 2 up to 10 are 0 .. 13 in steps of 1.
std::optional<StrideValues> StrideValues::of(std::vector<Stride> strides) {
  std::ranges::sort(strides, {}, &Stride::step);
  StrideValues values;
  for (const Stride& s : strides) {
    if (s.count < 2) continue;
    if (Wide{s.step} > span_of(values.digits_)) {
      values.digits_.push_back(s);
      continue;
    }
    Stride& last = values.digits_.back();
    if (s.step % last.step != 0 || s.step / last.step > last.count) return std::nullopt;
    if (__builtin_add_overflow(last.count, s.step / last.step * (s.count - 1), &last.count)) return std::nullopt;
  }
  return values;
}

Wide StrideValues::at_most(Wide limit) const {
  Wide found = 0;
  for (size_t i = digits_.size(); i-- > 0;) {
    if (limit < 0) return found;
    const Stride& s = digits_[i];
    const std::span<const Stride> lower(digits_.data(), i);
    // Those of a lesser digit here are all below.
    const Wide digit = std::min<Wide>(limit / s.step, s.count - 1);
    found += digit * points_of(lower);
    limit -= digit * s.step;
  }
  return limit < 0 ? found : found + 1;
}

std::optional<Wide> points_at_most(std::span<const Stride> rising, Wide limit, int64_t& budget) {
  if (--budget < 0) return std::nullopt;
  if (limit < 0) return 0;
  if (limit >= span_of(rising)) return points_of(rising);
  const Stride& s = rising.back();  // there is one: the span of none is 0
  const std::span<const Stride> lower = rising.first(rising.size() - 1);
  // Coordinates up to `whole` (not included) have all that is below them within the limit.
  const Wide left = limit - span_of(lower);
  const Wide whole = left < 0 ? 0 : std::min<Wide>(left / s.step + 1, s.count);
  const Wide some = std::min<Wide>(limit / s.step + 1, s.count);
  if (some - whole > budget) return std::nullopt;
  Wide found = whole * points_of(lower);
  for (Wide at = whole; at < some; ++at) {
    const auto below = points_at_most(lower, limit - at * s.step, budget);
    if (!below) return std::nullopt;
    found += *below;
  }
  return found;
}

std::optional<FactorCounts> count_affine_factor(const FactorBlocks& blocks, std::vector<FactorAxis> axes,
                                                std::span<const BoundIndexExpr::Affine> indices) {
  return AffineFactor(blocks, std::move(axes), indices).count();
}

}  // namespace tilecheck
