// Runs with different garbage in fresh memory: what differs must be marked undefined, and what is marked must differ in
// some run.
#include <cstring>

#include "sim/machine/launch.h"
#include "tests/unit/kernels/run_kernel.h"

namespace tilecheck::testing_kernels {
namespace {

struct Subject {
  std::string name;
  Set set;
  bool leaves_undefined = false;
};

std::ostream& operator<<(std::ostream& out, const Subject& subject) { return out << subject.name; }

std::vector<Subject> subjects() {
  std::vector<Subject> all;
  for (const Kernel& k : built_in_kernels()) {
    for (const BrokenTwin& t : k.broken)
      if (t.kind == Kind::undefined_output) {
        all.push_back({k.name, t.set});  // uneven shapes, mostly
        all.push_back({k.name + "/" + t.name, t.set, true});
      }
  }
  return all;
}

struct Differences {
  int64_t marked = 0, unmarked_but_differing = 0, marked_but_equal = 0;
};

Differences differences(const Subject& subject) {
  constexpr uint32_t kFills = 6;
  std::vector<RunResult> runs;
  for (uint32_t garbage = 1; garbage <= kFills; ++garbage) {
    RunOptions options;
    options.compare = false;
    options.launch.garbage = garbage;
    runs.push_back(run_kernel(subject.name, subject.set, options));
  }
  Differences d;
  for (size_t d_out = 0; d_out < runs[0].devices[0].out.size(); ++d_out) {
    const DeviceResults& first = runs[0].devices[0];
    const int64_t width = storage_bytes(first.out[d_out].dtype());
    for (int64_t i = 0; i < first.out[d_out].size(); ++i) {
      const bool marked = !first.undefined[d_out].empty() && first.undefined[d_out][static_cast<size_t>(i)] != 0;
      const bool differs = std::ranges::any_of(runs, [&](const RunResult& r) {
        return std::memcmp(r.devices[0].out[d_out].data() + i * width, first.out[d_out].data() + i * width,
                           static_cast<size_t>(width)) != 0;
      });
      d.marked += marked;
      d.unmarked_but_differing += differs && !marked;
      d.marked_but_equal += marked && !differs;
    }
  }
  return d;
}

class Definedness : public testing::TestWithParam<Subject> {};

TEST_P(Definedness, MarksExactlyWhatGarbageReaches) {
  const Differences d = differences(GetParam());
  EXPECT_EQ(d.unmarked_but_differing, 0);
  EXPECT_EQ(d.marked_but_equal, 0);
  EXPECT_EQ(d.marked > 0, GetParam().leaves_undefined);
}

std::string title(const testing::TestParamInfo<Subject>& info) {
  std::string text = info.param.name;
  std::ranges::replace(text, '/', '_');
  return std::to_string(info.index) + "_" + text;
}

INSTANTIATE_TEST_SUITE_P(All, Definedness, testing::ValuesIn(subjects()), title);

}  // namespace
}  // namespace tilecheck::testing_kernels
