#include "sim/fit/record.h"

#include <algorithm>
#include <set>

#include "sim/fit/recorded_body.h"
#include "sim/fit/recorded_numbers.h"

namespace tilecheck::fit {
namespace {

constexpr int64_t kStandIns[] = {1, 2};
// Steps at which only branches and loops are looked at: as many as do so much in all, within bounds.
constexpr int64_t kProbedOperations = 8000, kProbesMin = 64, kProbesMax = 1024;

class Steps {
 public:
  Steps(const KernelSpec& spec, const tilecheck::Body& body, int devices, double limit_seconds)
      : spec_(spec), run_(spec, body, devices), rank_(spec.grid.rank()), recorder_(limit_seconds) {}

  Body record() {
    if (spec_.step_count() < 1) {
      Body none;
      none.grid = spec_.grid;
      return none;
    }
    for (const Dims& step : first_steps()) full(step);
    if (recorder_.read_data())
      for (const Dims& step : first_steps()) full(step, kStandIns[1]);
    for (const Dims& step : lines()) probe(step);
    for (const Dims& step : lattice()) probe(step);
    return recorded_body(spec_, run_, recorder_);
  }

 private:
  void full(const Dims& step, int64_t stand_in = kStandIns[0]) { recorder_.run(run_, step, stand_in, false); }
  void probe(const Dims& step) {
    if (!probed_.insert(std::vector<int64_t>(step.begin(), step.end())).second) return;
    recorder_.run(run_, step, kStandIns[0], true);
    if (recorder_.met_unrecorded()) full(step);
  }
  int64_t extent(int axis) const { return spec_.grid[axis]; }
  Dims filled(int64_t (*of)(int64_t extent)) const {
    Dims step;
    for (int axis = 0; axis < rank_; ++axis) step.push_back(of(extent(axis)));
    return step;
  }

  // The first step, the second and the last along each axis, and the very last: where things begin and end, and how
  // slices move from step to step.
  std::vector<Dims> first_steps() const {
    const Dims zero = Dims::filled(rank_, 0);
    std::vector<Dims> steps{zero};
    for (int axis = 0; axis < rank_; ++axis)
      for (int64_t at : {int64_t{1}, extent(axis) - 1}) {
        if (at < 1 || at >= extent(axis)) continue;
        Dims step = zero;
        step[axis] = at;
        if (std::ranges::find(steps, step) == steps.end()) steps.push_back(step);
      }
    const Dims last = filled([](int64_t n) { return n - 1; });
    if (std::ranges::find(steps, last) == steps.end()) steps.push_back(last);
    return steps;
  }

  // Lines along the axes through the first, the middle and the last step.
  std::vector<Dims> lines() const {
    std::vector<Dims> steps;
    for (const Dims& base :
         {Dims::filled(rank_, 0), filled([](int64_t n) { return n / 2; }), filled([](int64_t n) { return n - 1; })})
      for (int axis = 0; axis < rank_; ++axis)
        for (int64_t at : {int64_t{0}, int64_t{1}, extent(axis) / 2, extent(axis) - 1}) {
          if (at >= extent(axis)) continue;
          Dims step = base;
          step[axis] = at;
          steps.push_back(step);
        }
    return steps;
  }

  // Axes that some branch or loop depends on, as far as has been seen.
  std::vector<int> steering_axes() const {
    std::set<int> axes;
    std::vector<size_t> all;
    for (int axis = 0; axis < rank_; ++axis) all.push_back(static_cast<size_t>(axis));
    for (const Site& site : recorder_.sites())
      for (size_t which = 0; !site.seen.empty() && which < site.seen[0].numbers.size(); ++which)
        for (size_t c : tabulate(site.seen, which, all).coordinates) axes.insert(static_cast<int>(c));
    return {axes.begin(), axes.end()};
  }

  // Evenly spread steps along the steering axes, with the first two and the last two of each.
  std::vector<Dims> lattice() const {
    const std::vector<int> axes = steering_axes();
    if (axes.empty()) return {};
    const int64_t runs = static_cast<int64_t>(probed_.size() + first_steps().size());
    const int64_t each = std::max<int64_t>(1, recorder_.operations() / std::max<int64_t>(1, runs));
    const int64_t budget = std::clamp(kProbedOperations / each, kProbesMin, kProbesMax);
    int64_t per_axis = 1;
    const auto size = [&](int64_t n) {
      int64_t product = 1;
      for (int axis : axes) product *= std::min(n, extent(axis));
      return product;
    };
    int64_t longest = 1;
    for (int axis : axes) longest = std::max(longest, extent(axis));
    while (per_axis < longest && size(per_axis + 1) <= budget) ++per_axis;
    std::vector<Dims> steps{Dims::filled(rank_, 0)};
    for (int axis : axes) {
      std::vector<Dims> longer;
      for (const Dims& step : steps)
        for (int64_t at : points(extent(axis), per_axis)) {
          longer.push_back(step);
          longer.back()[axis] = at;
        }
      steps = std::move(longer);
    }
    return steps;
  }
  static std::vector<int64_t> points(int64_t extent, int64_t n) {
    std::set<int64_t> points;
    n = std::min(n, extent);
    for (int64_t i = 0; i < n; ++i) points.insert(n > 1 ? i * (extent - 1) / (n - 1) : 0);
    if (n > 4) points.insert({1, extent - 2});
    return {points.begin(), points.end()};
  }

  const KernelSpec& spec_;
  RecordingRun run_;
  int rank_;
  Recorder recorder_;
  std::set<std::vector<int64_t>> probed_;
};

}  // namespace

Body record_body(const KernelSpec& spec, const tilecheck::Body& body, int devices, double limit_seconds) {
  return Steps(spec, body, devices, limit_seconds).record();
}

}  // namespace tilecheck::fit
