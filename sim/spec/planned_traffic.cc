#include "sim/spec/planned_traffic.h"

#include <algorithm>
#include <array>
#include <unordered_set>

#include "sim/spec/place_block.h"
#include "sim/spec/traffic.h"

namespace tilecheck {
namespace {

__extension__ using Wide = __int128;

// Some blocks and the elements that they move, parted by the elements of a block modulo `kClasses`: bytes are whole,
// and up to eight elements make one.
constexpr size_t kClasses = 8;
struct Sum {
  std::array<Wide, kClasses> blocks{}, elements{};

  void add(int64_t block_elements, int64_t times = 1) {
    const auto c = static_cast<size_t>(block_elements) % kClasses;
    blocks[c] += times;
    elements[c] += Wide{block_elements} * times;
  }
  void add(const Sum& other, Wide times) {
    for (size_t c = 0; c < kClasses; ++c) {
      blocks[c] += other.blocks[c] * times;
      elements[c] += other.elements[c] * times;
    }
  }
  Wide count() const {
    Wide n = 0;
    for (Wide b : blocks) n += b;
    return n;
  }
  Wide bytes(int bits) const {
    Wide n = 0;
    for (size_t c = 0; c < kClasses; ++c) {
      const auto past_byte = static_cast<int>(c) * bits % 8;
      n += (elements[c] * bits + blocks[c] * (past_byte == 0 ? 0 : 8 - past_byte)) / 8;
    }
    return n;
  }
};
// Each block of one with each of the other: factors of a block that depend on different axes.
Sum operator*(const Sum& a, const Sum& b) {
  Sum product;
  for (size_t i = 0; i < kClasses; ++i) {
    if (a.blocks[i] == 0) continue;
    for (size_t j = 0; j < kClasses; ++j) {
      const size_t c = i * j % kClasses;
      product.blocks[c] += a.blocks[i] * b.blocks[j];
      product.elements[c] += a.elements[i] * b.elements[j];
    }
  }
  return product;
}
Sum operator-(Sum a, const Sum& b) {
  for (size_t c = 0; c < kClasses; ++c) {
    a.blocks[c] -= b.blocks[c];
    a.elements[c] -= b.elements[c];
  }
  return a;
}
constexpr Sum one() {
  Sum s;
  s.blocks[1] = s.elements[1] = 1;
  return s;
}

// Steps from one coordinate of an axis, the level, to its next, those within it going from their last to 0: what is
// there after them, and of that what was there before as well.
struct Transitions {
  Sum all, unchanged;
  Sum all_inside, unchanged_inside;  // of blocks that the array has
};

// Dimensions of a window's block whose indices share grid axes, with these axes: independent of all other dimensions.
class Factor {
 public:
  Factor(const Dims& grid, uint32_t axes) {
    for (int axis = 0; axis < grid.rank(); ++axis)
      if (axes >> axis & 1u) axes_.push_back({axis, grid[axis]});
  }
  void add_dimension(int d) { dims_.push_back(d); }
  double points() const {
    double n = 1;
    for (const Axis& a : axes_) n *= static_cast<double>(a.extent);
    return n;
  }

  // At each point of its axes, the others at 0.
  void evaluate(const KernelSpec& spec, const Window& window, const PrefetchReader* prefetch) {
    const auto count = static_cast<size_t>(points());
    const Dims counts = block_counts(window);
    const Shape sizes = window.block_sizes();
    for (int d : dims_) blocks_of_array_ *= static_cast<double>(counts[d]);
    blocks_.reserve(count * dims_.size());
    elements_.reserve(count);
    numbers_.reserve(count);
    std::array<Index, kMaxRank> grid;
    for (int axis = 0; axis < spec.grid.rank(); ++axis) grid[static_cast<size_t>(axis)] = Index::grid(axis, 0);
    const std::span<const Index> point(grid.data(), static_cast<size_t>(spec.grid.rank()));
    for (size_t k = 0; k < count; ++k) {
      Indices indices;
      if (window.index) indices = indices_at(window, spec.name, point, prefetch);
      int64_t elements = 1, number = 0;
      for (int d : dims_) {
        const int64_t index = indices.values[static_cast<size_t>(d)].value();
        const Interval part = covered(block_origin(window, d, index), sizes[d], window.array[d]);
        elements *= part.hi - part.lo;
        number = number < 0 || index < 0 || index >= counts[d] ? -1 : number * counts[d] + index;
        blocks_.push_back(index);
      }
      is_uniform_ = is_uniform_ && number >= 0 && (k == 0 || elements == elements_[0]);
      elements_.push_back(elements);
      numbers_.push_back(number);
      advance(grid);
    }
  }

  Transitions transitions(int level) const {
    int64_t outer = 1, steps = 1, inner = 1;
    bool has_level = false;
    for (const Axis& a : axes_) {
      if (a.axis < level) outer *= a.extent;
      if (a.axis > level) inner *= a.extent;
      if (a.axis != level) continue;
      has_level = true;
      steps = a.extent - 1;
    }
    Transitions t;
    int64_t unchanged = 0;
    const int64_t stride = has_level ? inner : 0;
    for (int64_t o = 0; o < outer; ++o) {
      const int64_t base = o * (has_level ? steps + 1 : 1) * inner;
      for (int64_t k = 0; k < steps; ++k) {
        const auto before = static_cast<size_t>(base + k * stride + inner - 1);
        const auto after = static_cast<size_t>(base + (k + 1) * stride);
        const bool is_same = same(before, after);
        unchanged += is_same;
        if (is_uniform_) continue;
        const bool is_inside = numbers_[after] >= 0;
        t.all.add(elements_[after]);
        if (is_inside) t.all_inside.add(elements_[after]);
        if (is_same) t.unchanged.add(elements_[after]);
        if (is_same && is_inside) t.unchanged_inside.add(elements_[after]);
      }
    }
    if (!is_uniform_) return t;
    t.all.add(elements_[0], outer * steps);
    t.unchanged.add(elements_[0], unchanged);
    t.all_inside = t.all;
    t.unchanged_inside = t.unchanged;
    return t;
  }
  // At the first step.
  Sum first(bool inside) const {
    Sum s;
    if (!inside || numbers_[0] >= 0) s.add(elements_[0]);
    return s;
  }
  // Each block that the array has once.
  Sum distinct() const {
    Sum s;
    std::vector<bool> seen(static_cast<size_t>(std::min<double>(blocks_of_array_, kMostBits)));
    std::unordered_set<int64_t> seen_beyond;  // in arrays of many blocks few are visited
    for (size_t i = 0; i < numbers_.size(); ++i) {
      const auto number = static_cast<size_t>(numbers_[i]);
      if (numbers_[i] < 0) continue;
      const bool is_new = number < seen.size() ? !seen[number] : seen_beyond.insert(numbers_[i]).second;
      if (number < seen.size()) seen[number] = true;
      if (is_new) s.add(elements_[i]);
    }
    return s;
  }

 private:
  struct Axis {
    int axis;
    int64_t extent;
  };
  void advance(std::array<Index, kMaxRank>& grid) const {
    for (size_t i = axes_.size(); i-- > 0;) {
      Index& at = grid[static_cast<size_t>(axes_[i].axis)];
      const int64_t next = at.value() + 1;
      at = Index::grid(axes_[i].axis, next < axes_[i].extent ? next : 0);
      if (next < axes_[i].extent) return;
    }
  }
  bool same(size_t a, size_t b) const {
    const size_t n = dims_.size();
    return a == b ||
           std::equal(blocks_.begin() + static_cast<int64_t>(a * n), blocks_.begin() + static_cast<int64_t>(a * n + n),
                      blocks_.begin() + static_cast<int64_t>(b * n));
  }

  static constexpr double kMostBits = 1 << 20;
  std::vector<Axis> axes_;  // ascending
  std::vector<int> dims_;
  // By point, row-major over the axes.
  std::vector<int64_t> blocks_;    // an index per dimension
  std::vector<int64_t> elements_;  // inside the array
  std::vector<int64_t> numbers_;   // of the block among the array's, -1 outside
  bool is_uniform_ = true;         // all inside, of one size
  double blocks_of_array_ = 1;     // along these dimensions
};

// Dimensions whose axes meet, directly or through others, belong to one factor; those of no axis to one too.
std::vector<Factor> factors_of(const Dims& grid, const std::vector<uint32_t>& axes_of_dims) {
  std::vector<uint32_t> groups;
  for (uint32_t axes : axes_of_dims) {
    std::erase_if(groups, [&](uint32_t group) {
      const bool meets = group == axes || (group & axes) != 0;
      if (meets) axes |= group;
      return meets;
    });
    groups.push_back(axes);
  }
  std::vector<Factor> factors;
  for (uint32_t group : groups) {
    factors.emplace_back(grid, group);
    for (size_t d = 0; d < axes_of_dims.size(); ++d)
      if (axes_of_dims[d] == group || (axes_of_dims[d] & group) != 0) factors.back().add_dimension(static_cast<int>(d));
  }
  return factors;
}

// A block is entered at the first step and at each step at which it differs from the step before. Between two steps one
// axis of the grid counts up by one, and those within it go from their last coordinate to 0. At each such level the
// blocks that may be entered are all combinations of what the factors show, less those that no factor changes.
class WindowTraffic {
 public:
  WindowTraffic(const KernelSpec& spec, const Window& window, const PrefetchReader* prefetch, int64_t max_evaluations)
      : spec_(spec), window_(window), prefetch_(prefetch) {
    std::vector<uint32_t> axes(static_cast<size_t>(window.array.rank()), 0);
    if (window.index) {
      // A map whose ways are too many to see, or of the wrong rank, is taken to depend on everything.
      const auto seen = window.index.index_axes(spec.grid, prefetch, max_evaluations);
      if (seen && seen->size() == axes.size())
        axes = *seen;
      else
        std::ranges::fill(axes, window.index.moving_axes(spec.grid.rank()));
    }
    for (int axis = 0; axis < spec.grid.rank(); ++axis)
      if (spec.grid[axis] > 1) moving_ |= 1u << axis;
    for (uint32_t& a : axes) used_ |= a &= moving_;
    factors_ = factors_of(spec.grid, axes);
  }

  double evaluations() const {
    double all = 0;
    for (const Factor& f : factors_) all += f.points();
    return all;
  }

  // False when the bytes do not fit.
  bool count() {
    if (!fits()) return false;
    Sum entered = one(), inside = one(), distinct = one();
    for (Factor& f : factors_) {
      f.evaluate(spec_, window_, prefetch_);
      entered = entered * f.first(false);
      inside = inside * f.first(true);
      distinct = distinct * f.distinct();
    }
    Wide repeats = 1;  // by axes outside of the level that the map does not use
    for (int level = 0; level < spec_.grid.rank(); ++level) {
      if (spec_.grid[level] == 1) continue;
      const bool is_used = (used_ >> level & 1u) != 0;
      Sum all = one(), unchanged = one(), all_inside = one(), unchanged_inside = one();
      for (const Factor& f : factors_) {
        const Transitions t = f.transitions(level);
        all = all * t.all;
        unchanged = unchanged * t.unchanged;
        all_inside = all_inside * t.all_inside;
        unchanged_inside = unchanged_inside * t.unchanged_inside;
      }
      const Wide times = is_used ? repeats : repeats * (spec_.grid[level] - 1);
      entered.add(all - unchanged, times);
      inside.add(all_inside - unchanged_inside, times);
      if (!is_used) repeats *= spec_.grid[level];
    }
    const int bit_count = bits(window_.dtype);
    const int64_t blocks = element_count(block_counts(window_));
    entered_ = entered.count();
    bytes_ = minimum_ = entered.bytes(bit_count);
    if (blocks > 0 && blocks <= kMaxTrackedBlocks) minimum_ += distinct.bytes(bit_count) - inside.bytes(bit_count);
    return bytes_ < Wide{1} << 62;
  }
  int64_t entered() const { return static_cast<int64_t>(entered_); }
  int64_t bytes() const { return static_cast<int64_t>(bytes_); }
  int64_t minimum() const { return static_cast<int64_t>(minimum_); }

 private:
  // Whether sums over all steps fit Wide.
  bool fits() const {
    double most = 64;
    for (int64_t extent : spec_.grid) most *= static_cast<double>(extent);
    const Shape sizes = window_.block_sizes();
    for (int d = 0; d < sizes.rank(); ++d) most *= static_cast<double>(std::min(sizes[d], window_.array[d]));
    return most < 0x1p120;
  }

  const KernelSpec& spec_;
  const Window& window_;
  const PrefetchReader* prefetch_;
  uint32_t moving_ = 0, used_ = 0;  // axes of more than one step; of these, those that the map uses
  std::vector<Factor> factors_;
  Wide entered_ = 0, bytes_ = 0, minimum_ = 0;
};

}  // namespace

std::optional<std::vector<WindowCounters>> planned_traffic(const KernelSpec& spec, const PrefetchReader* prefetch,
                                                           int64_t max_evaluations) {
  std::vector<WindowCounters> all = TrafficCounter(spec).windows();
  if (std::ranges::any_of(spec.grid, [](int64_t extent) { return extent == 0; })) return all;
  double evaluations = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    const bool is_output = i >= spec.in.size();
    const Window& w = is_output ? spec.out[i - spec.in.size()] : spec.in[i];
    if (!w.pipelined()) continue;
    WindowTraffic traffic(spec, w, prefetch, max_evaluations);
    evaluations += traffic.evaluations();
    if (evaluations > static_cast<double>(max_evaluations) || !traffic.count()) return std::nullopt;
    WindowCounters& c = all[i];
    const bool is_fetched = !is_output || w.revisit == Revisit::any;
    if (is_fetched) c.fetches = traffic.entered();
    if (is_output) c.write_backs = traffic.entered();
    c.moved_bytes = traffic.bytes() * (int{is_fetched} + int{is_output});
    c.minimum_bytes = traffic.minimum();
  }
  return all;
}

}  // namespace tilecheck
