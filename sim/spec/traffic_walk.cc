#include "sim/spec/traffic_walk.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <memory>

#include "sim/spec/place_block.h"

namespace tilecheck {
namespace {

// Of numbers below a limit, those that have been seen. Memory that is not touched costs nothing.
class Seen {
 public:
  explicit Seen(int64_t limit)
      : words_(limit > 0 ? static_cast<uint64_t*>(std::calloc(static_cast<size_t>(limit / 64 + 1), sizeof(uint64_t)))
                         : nullptr,
               std::free) {
    if (limit > 0 && !words_) throw std::bad_alloc();
  }
  explicit operator bool() const { return words_ != nullptr; }
  bool add(int64_t number) {
    uint64_t& word = words_.get()[number / 64];
    const uint64_t bit = uint64_t{1} << (number % 64);
    const bool is_new = (word & bit) == 0;
    word |= bit;
    return is_new;
  }
  // How many of `count` numbers from `first` on are new.
  int64_t add_range(int64_t first, int64_t count) {
    int64_t found = 0;
    for (const int64_t end = first + count; first < end;) {
      const int64_t begin = first % 64, n = std::min<int64_t>(64 - begin, end - first);
      const uint64_t bits = (n == 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1) << begin;
      uint64_t& word = words_.get()[first / 64];
      found += std::popcount(bits & ~word);
      word |= bits;
      first += n;
    }
    return found;
  }

 private:
  std::unique_ptr<uint64_t, void (*)(void*)> words_;
};

class Walk {
 public:
  Walk(const KernelSpec& spec, const Window& window, const FactorBlocks& blocks, std::vector<FactorAxis> axes,
       const BoundIndexExpr* expr, const PrefetchReader* prefetch, TrafficBudget& budget)
      : spec_(spec),
        window_(window),
        blocks_(blocks),
        expr_(expr),
        prefetch_(prefetch),
        budget_(budget),
        counts_(std::move(axes)),
        n_(blocks.dims().size()),
        seen_(blocks.tracked_blocks()),
        starts_(counts_.axes.size()) {
    if (!expr_) return;
    cost_ = 1 + static_cast<int64_t>(expr_->node_count()) / 8;
    values_.resize(expr_->result_count());
    slopes_.resize(expr_->result_count());
  }

  // Row by row along the last axis.
  bool run() {
    const size_t rank = counts_.axes.size();
    Dims step = Dims::filled(spec_.grid.rank(), 0);
    const int64_t length = rank > 0 ? counts_.axes.back().extent : 1;
    for (int carry = -1;;) {
      for (int64_t at = 0; at < length;) {
        if (rank > 0) step[counts_.axes.back().axis] = at;
        const int64_t steps = read(step, rank > 0 ? counts_.axes.back().axis : -1, length - at);
        if (steps == 0) return false;
        enter(at == 0 ? carry : static_cast<int>(rank) - 1);
        follow(steps);
        at += steps;
      }
      carry = static_cast<int>(rank) - 2;
      for (; carry >= 0; --carry) {
        const FactorAxis& axis = counts_.axes[static_cast<size_t>(carry)];
        if (++step[axis.axis] < axis.extent) break;
        step[axis.axis] = 0;
      }
      if (carry < 0) break;
    }
    wrap(0);
    return true;
  }
  FactorCounts take() { return std::move(counts_); }

 private:
  struct Point {
    std::array<int64_t, kMaxRank> indices;
    int64_t elements;
    int64_t number;  // of the block among the array's, -1 outside
  };

  // What the map shows at `step` and how it goes on; 0: the budget is used up.
  int64_t read(const Dims& step, int axis, int64_t most) {
    int64_t steps = 1;
    if (!budget_.take(cost_)) return 0;
    if (expr_) {
      steps = expr_->segment(step, axis, most, values_, slopes_);
      if (!budget_.take(steps / 64)) return 0;
      for (size_t i = 0; i < n_; ++i) {
        const auto d = static_cast<size_t>(blocks_.dims()[i]);
        now_.indices[i] = values_[d];
        slope_[i] = slopes_[d];
      }
    } else if (window_.index) {
      std::array<Index, kMaxRank> grid;
      for (int a = 0; a < step.rank(); ++a) grid[static_cast<size_t>(a)] = Index::grid(a, step[a]);
      const Indices indices =
          indices_at(window_, spec_.name, {grid.data(), static_cast<size_t>(step.rank())}, prefetch_);
      for (size_t i = 0; i < n_; ++i) now_.indices[i] = indices.values[static_cast<size_t>(blocks_.dims()[i])].value();
    } else {
      std::fill_n(now_.indices.begin(), n_, 0);
    }
    measure(now_);
    return steps;
  }

  void measure(Point& p) const {
    p.elements = 1;
    p.number = 0;
    for (size_t i = 0; i < n_; ++i) {
      const int64_t index = p.indices[i];
      const FactorBlocks::Piece& whole = blocks_.whole(i);
      const FactorBlocks::Piece piece = index >= whole.first && index <= whole.last ? whole : blocks_.at(i, index);
      p.elements *= piece.elements;
      p.number = p.number < 0 || !piece.is_inside ? -1 : p.number * blocks_.block_count(i) + index;
    }
  }
  bool same(const Point& a, const Point& b) const {
    return std::equal(a.indices.begin(), a.indices.begin() + static_cast<int64_t>(n_), b.indices.begin());
  }

  // now_ is the next point, at which axis `carry` counts up (-1: the first) and those within start again.
  void enter(int carry) {
    if (carry < 0) {
      counts_.first.add(now_.elements);
      if (now_.number >= 0) counts_.first_inside.add(now_.elements);
    } else {
      wrap(static_cast<size_t>(carry) + 1);
      counts_.at[static_cast<size_t>(carry)].add(now_.elements, now_.number >= 0, same(now_, before_));
    }
    for (size_t i = static_cast<size_t>(carry + 1); i < starts_.size(); ++i) starts_[i] = now_;
  }
  // before_ was the last point of the axes from `i` on.
  void wrap(size_t i) {
    for (; i < starts_.size(); ++i)
      counts_.outside[i].add(starts_[i].elements, starts_[i].number >= 0, same(starts_[i], before_));
  }

  // now_ and the points that follow it linearly.
  void follow(int64_t steps) {
    Transitions& apart = counts_.at.empty() ? counts_.outside[0] : counts_.at.back();
    Transitions& here = counts_.outside.back();
    const bool is_same =
        std::all_of(slope_.begin(), slope_.begin() + static_cast<int64_t>(n_), [](int64_t s) { return s == 0; });
    if (is_same || all_whole(steps)) {
      here.add(now_.elements, now_.number >= 0, true, steps);
      if (steps > 1) apart.add(now_.elements, now_.number >= 0, is_same, steps - 1);
      see(is_same ? 1 : steps);
      for (size_t i = 0; i < n_; ++i) now_.indices[i] += slope_[i] * (steps - 1);
    } else {
      for (int64_t k = 0;; ++k) {
        here.add(now_.elements, now_.number >= 0, true);
        if (k > 0) apart.add(now_.elements, now_.number >= 0, false);
        see(1);
        if (k + 1 == steps) break;
        for (size_t i = 0; i < n_; ++i) now_.indices[i] += slope_[i];
        measure(now_);
      }
    }
    before_ = now_;
  }
  bool all_whole(int64_t steps) const {
    for (size_t i = 0; i < n_; ++i) {
      const FactorBlocks::Piece& whole = blocks_.whole(i);
      for (const int64_t index : {now_.indices[i], now_.indices[i] + slope_[i] * (steps - 1)})
        if (index < whole.first || index > whole.last) return false;
    }
    return true;
  }
  void see(int64_t steps) {
    if (!seen_ || now_.number < 0) return;
    int64_t step = 0;
    for (size_t i = 0; i < n_; ++i) step = step * blocks_.block_count(i) + slope_[i];
    int64_t found = 0;
    if (step == 1 || step == -1) {
      found = seen_.add_range(step == 1 ? now_.number : now_.number - steps + 1, steps);
    } else {
      budget_.take(steps / 16);
      for (int64_t k = 0; k < steps; ++k) found += seen_.add(now_.number + step * k);
    }
    if (found > 0) counts_.distinct.add(now_.elements, found);
  }

  const KernelSpec& spec_;
  const Window& window_;
  const FactorBlocks& blocks_;
  const BoundIndexExpr* expr_;
  const PrefetchReader* prefetch_;
  TrafficBudget& budget_;
  FactorCounts counts_;
  size_t n_;  // dimensions
  Seen seen_;
  int64_t cost_ = 1;
  std::vector<int64_t> values_, slopes_;  // of all dimensions
  std::array<int64_t, kMaxRank> slope_{};
  Point now_{}, before_{};
  std::vector<Point> starts_;  // by position of an axis: where those from it on were 0 last
};

}  // namespace

std::optional<FactorCounts> walk_factor(const KernelSpec& spec, const Window& window, const FactorBlocks& blocks,
                                        std::vector<FactorAxis> axes, const BoundIndexExpr* expr,
                                        const PrefetchReader* prefetch, TrafficBudget& budget) {
  Walk walk(spec, window, blocks, std::move(axes), expr, prefetch, budget);
  if (!walk.run()) return std::nullopt;
  return walk.take();
}

}  // namespace tilecheck
