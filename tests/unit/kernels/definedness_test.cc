// Runs with different garbage in fresh memory: what differs must be marked undefined, and what is marked must differ in
// some run.
#include "harness/definedness.h"

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

class Definedness : public testing::TestWithParam<Subject> {};

TEST_P(Definedness, MarksExactlyWhatGarbageReaches) {
  const DefinednessOutcome d = check_definedness(subject_of(choice(GetParam().name), GetParam().set), {}, 7);
  EXPECT_EQ(d.missed, 0) << d.first_missed;
  EXPECT_EQ(d.never_moved, 0);
  EXPECT_EQ(d.differing_marks, "");
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
