#include "sim/report/report.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

namespace tilecheck {
namespace {

TEST(Kinds, EveryRowHasTextsAndParses) {
  std::set<std::string_view> names;
  for (const KindInfo& k : all_kinds()) {
    EXPECT_EQ(&info(k.kind), &k);
    EXPECT_EQ(parse_kind(k.name), k.kind);
    EXPECT_TRUE(names.insert(k.name).second) << k.name;
    EXPECT_FALSE(k.summary.empty() || k.why.empty() || k.fix.empty()) << k.name;
    EXPECT_EQ(k.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz-"), std::string_view::npos) << k.name;
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(kKindCount));
  EXPECT_FALSE(parse_kind("races"));
  EXPECT_FALSE(parse_kind(""));
}

TEST(Kinds, Severities) {
  for (const Kind k : {Kind::parallel_order_dependent, Kind::index_map_reads_written_smem,
                       Kind::relies_on_message_order, Kind::undefined_output})
    EXPECT_EQ(info(k).severity, Severity::warning) << name(k);
  EXPECT_EQ(info(Kind::dma_serialized).severity, Severity::note);
  for (const Kind k : {Kind::race, Kind::deadlock, Kind::out_of_bounds_read, Kind::undefined_use,
                       Kind::output_revisited, Kind::vmem_overflow, Kind::result_mismatch, Kind::nothing_compared})
    EXPECT_EQ(info(k).severity, Severity::error) << name(k);
  for (const Kind k : {Kind::out_of_bounds_read, Kind::out_of_bounds_write, Kind::deadlock, Kind::undefined_use})
    EXPECT_TRUE(info(k).stops_run) << name(k);
  EXPECT_FALSE(info(Kind::race).stops_run);
}

TEST(FindingSink, FoldsWhatIsAlikeAndNothingElse) {
  std::vector<Finding> out;
  FindingSink sink(out);
  const Loc here("a.py", 3, 7);
  for (int64_t i = 0; i < 5; ++i) {
    Finding f = Finding::make(Kind::race, "step " + std::to_string(i), here);
    f.step = {i};
    f.buffer = "x";
    sink.add(f);
  }
  ASSERT_EQ(sink.count(), 1u);
  EXPECT_EQ(out[0].repeats, 4);
  EXPECT_EQ(out[0].step, (Dims{0}));  // the first stays

  Finding f = out[0];
  f.repeats = 0;
  struct Case {
    const char* what;
    void (*change)(Finding&);
  };
  const Case cases[] = {
      {"kind", [](Finding& x) { x.kind = Kind::use_after_scope; }},
      {"line", [](Finding& x) { x.at.line = 4; }},
      {"file", [](Finding& x) { x.at.file = "b.py"; }},
      {"buffer", [](Finding& x) { x.buffer = "y"; }},
      {"severity", [](Finding& x) { x.severity = Severity::note; }},
      {"other place",
       [](Finding& x) {
         x.labels.push_back({Loc("a.py", 9, 1), "writes"});
       }},
  };
  for (const Case& c : cases) {
    const size_t before = sink.count();
    Finding other = f;
    c.change(other);
    sink.add(other);
    EXPECT_EQ(sink.count(), before + 1) << c.what;
    sink.add(other);
    EXPECT_EQ(sink.count(), before + 1) << c.what;
  }
}

TEST(Report, Verdict) {
  Report r;
  EXPECT_EQ(r.verdict(), Verdict::clean);
  r.findings.push_back(Finding::make(Kind::dma_serialized, "start then wait"));
  EXPECT_EQ(r.verdict(), Verdict::clean);
  EXPECT_EQ(r.verdict(Severity::note), Verdict::findings);
  r.findings.push_back(Finding::make(Kind::undefined_output, "never written"));
  EXPECT_EQ(r.verdict(), Verdict::clean);
  EXPECT_EQ(r.verdict(Severity::warning), Verdict::findings);
  r.findings.push_back(Finding::make(Kind::race, "race"));
  EXPECT_EQ(r.verdict(), Verdict::findings);
  EXPECT_EQ(r.count(Severity::error), 1);
  EXPECT_EQ(r.count(Severity::note), 1);
  r.incomplete.push_back("tpu.enqueue_indirect_dma");
  EXPECT_EQ(r.verdict(), Verdict::incomplete);
  for (const Verdict v : {Verdict::clean, Verdict::findings, Verdict::incomplete, Verdict::error})
    EXPECT_FALSE(name(v).empty());
}

TEST(Loc, TextAndInterning) {
  EXPECT_EQ(to_string(Loc("paged.py", 57, 14)), "paged.py:57:14");
  EXPECT_EQ(to_string(Loc("paged.py", 57, 0)), "paged.py:57");
  EXPECT_EQ(to_string(Loc()), "unknown location");
  std::vector<const char*> seen(8);
  std::vector<std::thread> threads;
  for (const char*& s : seen) threads.emplace_back([&s] { s = intern(std::string("a/") + "file.py"); });
  for (std::thread& t : threads) t.join();
  for (const char* s : seen) {
    EXPECT_EQ(s, seen[0]);
    EXPECT_STREQ(s, "a/file.py");
  }
  EXPECT_NE(intern("a/other.py"), seen[0]);
}

}  // namespace
}  // namespace tilecheck
