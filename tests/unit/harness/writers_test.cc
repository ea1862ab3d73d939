#include "harness/writers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <pugixml.hpp>

#include "harness/diagnostic.h"
#include "harness/explain.h"
#include "harness/filter.h"
#include "harness/format.h"
#include "harness/source.h"
#include "sim/types/error.h"

namespace tilecheck {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::string temp(const char* name) { return (std::filesystem::path(testing::TempDir()) / name).string(); }

Outcome racing(const std::string& file) {
  Outcome o;
  o.subject = "paged";
  o.ran = true;
  o.report.kernel = "paged";
  o.report.target = "v5e";
  o.report.numerics = "exact";
  o.report.schedule = "lazy";
  o.report.grid = {1, 8};
  o.replay = "tilecheck run cap/paged --schedule replay:1:L7 --seed 0";
  Finding f = Finding::make(Kind::race, "step (0,3) reads kv_buf[1] while DMA #7 may still be writing it",
                            Loc(intern(file), 3, 9, "kernel"));
  f.labels = {{f.at, "core 0 reads the same bytes"},
              {Loc(intern(file), 1, 2, "kernel"), "DMA #7 writes VMEM kv_buf[1]"}};
  f.helps = {"one semaphore per slot"};
  f.step = {0, 3};
  f.repeats = 14;
  o.report.findings = {f};
  return o;
}

std::string source_file() {
  const std::string file = temp("paged.py");
  std::ofstream(file) << "\tcopy(k_hbm.at[i+1], kv).start()\nwait(sem)\n  s = q @ kv_buf[cur] + 1\n";
  return file;
}

TEST(Diagnostic, ShowsSourceLinesWithLabels) {
  const Outcome o = racing(source_file());
  const std::string text = diagnostic_text(o.report.findings[0], o.replay, "", Paint(false));
  EXPECT_THAT(text, HasSubstr("error[race]: step (0,3) reads kv_buf[1]"));
  EXPECT_THAT(text, HasSubstr("1 |   copy(k_hbm.at[i+1], kv).start()\n"
                              "  |   -----------------------------"));
  EXPECT_THAT(text, HasSubstr("3 |   s = q @ kv_buf[cur] + 1\n"
                              "  |         ^"));
  EXPECT_THAT(text, HasSubstr("14 more alike.   tilecheck explain race"));
  EXPECT_THAT(text, HasSubstr("= help: one semaphore per slot"));
  EXPECT_THAT(text, HasSubstr("= replay: tilecheck run cap/paged --schedule replay:1:L7 --seed 0"));
}

TEST(Diagnostic, WithoutTheSourceTheLabelsRemain) {
  const Outcome o = racing("absent/paged.py");
  const std::string text = diagnostic_text(o.report.findings[0], "", "", Paint(false));
  EXPECT_THAT(text, HasSubstr("--> absent/paged.py:3:9"));
  EXPECT_THAT(text, HasSubstr("line 1: DMA #7 writes VMEM kv_buf[1]"));
}

TEST(Diagnostic, ControlCharactersDoNotReachTheTerminal) {
  Finding f = Finding::make(Kind::race, "evil \x1b[31m name \x07 \xc2\x9b", Loc(intern("a\x1b.py"), 1, 1));
  f.buffer = "\x1b";
  for (const std::string& text : {diagnostic_text(f, "", "", Paint(false)), diagnostic_line(f)}) {
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_EQ(text.find('\x07'), std::string::npos);
    EXPECT_EQ(text.find('\x9b'), std::string::npos);
  }
}

TEST(Source, Expressions) {
  const struct {
    const char* line;
    uint32_t column;
    const char* is;
  } cases[] = {{"x = a.b[c](d, e) + f", 5, "a.b[c](d, e)"},
               {"f(a, b)", 3, "a"},
               {"  core.load(x);", 0, "core.load(x)"},
               {"p->q(r)", 1, "p->q(r)"},
               {"std::max(a)", 1, "std::max(a)"},
               {"x = core.load(y);", 14, "core.load(y)"},
               {"(a)", 1, "(a)"},
               {"ab", 9, "ab"}};
  for (const auto& c : cases) {
    const Extent e = expression_at(c.line, c.column);
    EXPECT_EQ(std::string(c.line).substr(e.begin, e.end - e.begin), c.is);
  }
}

TEST(Json, HasTheDocumentedFields) {
  const json j = json::parse(json_report(std::vector{racing("paged.py")}, {}));
  EXPECT_EQ(j["schema"], 1);
  EXPECT_EQ(j["verdict"], "findings");
  EXPECT_EQ(j["findings"][0]["kind"], "race");
  EXPECT_EQ(j["findings"][0]["location"]["line"], 3);
  EXPECT_EQ(j["findings"][0]["other"]["line"], 1);
  EXPECT_EQ(j["findings"][0]["grid_step"], json({0, 3}));
  EXPECT_EQ(j["findings"][0]["repeats"], 14);
  EXPECT_TRUE(j["volatile"].contains("seconds"));
  // Every top-level field stands in docs/json.md.
  std::ifstream file(std::string(TILECHECK_SOURCE_DIR) + "/docs/json.md");
  const std::string doc((std::istreambuf_iterator<char>(file)), {});
  for (const auto& [key, value] : j.items()) EXPECT_THAT(doc, HasSubstr("`" + key + "`"));
  for (const auto& [key, value] : j["findings"][0].items()) EXPECT_THAT(doc, HasSubstr("`" + key + "`"));
  for (const auto& [key, value] : j["counters"].items()) EXPECT_THAT(doc, HasSubstr("`" + key + "`"));
}

// Every key of an object and of what is in it, lists' elements included.
void expect_documented(const json& value, const std::string& doc) {
  for (const auto& [key, inner] : value.items()) {
    if (value.is_object()) {
      EXPECT_THAT(doc, HasSubstr("`" + key + "`"));
    }
    if (inner.is_structured()) expect_documented(inner, doc);
  }
}

TEST(Json, NestedFieldsAreDocumented) {
  Outcome o = racing("paged.py");
  o.window_names = {"x"};
  o.steps = {{.step = {0}, .events = {{.window = 0, .slot = 1, .block = {2, 0}, .fetched = true, .bytes = 4096}}}};
  o.fit.emplace();
  o.fit->rows.emplace_back();
  o.time.emplace();
  o.time->windows.emplace_back();
  o.time->timeline.emplace_back();
  o.results.emplace_back().comparison.emplace();
  o.exploration.emplace();
  o.report.counters.windows.emplace_back();
  o.traffic_unknown = "the grid is known only at run time";
  const json j = json::parse(json_report(std::vector{o}, {}));
  EXPECT_EQ(j["steps"][0]["events"][0]["window"], "x");
  o.ran = false;
  EXPECT_EQ(json::parse(json_report(std::vector{o}, {}))["traffic"], j["counters"]["windows"]);
  std::ifstream file(std::string(TILECHECK_SOURCE_DIR) + "/docs/json.md");
  const std::string doc((std::istreambuf_iterator<char>(file)), {});
  expect_documented(j, doc);
}

TEST(Json, SeveralRunsAndBadText) {
  Outcome bad;
  bad.subject = "x\xff";
  bad.error = "no such file";
  const json j = json::parse(json_report(std::vector{racing("paged.py"), bad}, {}));
  EXPECT_EQ(j["verdict"], "error");
  EXPECT_EQ(j["runs"].size(), 2u);
  EXPECT_EQ(j["runs"][1]["error"], "no such file");
}

TEST(Sarif, HasRulesResultsAndRegions) {
  const json j = json::parse(sarif_report(std::vector{racing("dir/my file.py")}, {}));
  EXPECT_EQ(j["version"], "2.1.0");
  const json& run = j["runs"][0];
  EXPECT_EQ(run["tool"]["driver"]["rules"].size(), static_cast<size_t>(kKindCount));
  const json& r = run["results"][0];
  EXPECT_EQ(r["ruleId"], "race");
  EXPECT_EQ(run["tool"]["driver"]["rules"][r["ruleIndex"].get<size_t>()]["id"], "race");
  EXPECT_EQ(r["level"], "error");
  EXPECT_EQ(r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "dir/my%20file.py");
  EXPECT_EQ(r["locations"][0]["physicalLocation"]["region"]["startLine"], 3);
  EXPECT_EQ(r["relatedLocations"].size(), 1u);
}

TEST(Junit, FailuresErrorsAndCounts) {
  Outcome bad;
  bad.subject = "a<b>&\x01";
  bad.error = "no such file";
  Outcome incomplete;
  incomplete.subject = "c";
  incomplete.report.incomplete = {"tpu.sort"};
  pugi::xml_document xml;
  ASSERT_TRUE(xml.load_string(junit_report(std::vector{racing("p.py"), bad, incomplete, Outcome{}}, {}).c_str()));
  const pugi::xml_node suite = xml.child("testsuites").child("testsuite");
  EXPECT_EQ(suite.attribute("tests").as_int(), 4);
  EXPECT_EQ(suite.attribute("failures").as_int(), 1);
  EXPECT_EQ(suite.attribute("errors").as_int(), 2);
  EXPECT_STREQ(suite.child("testcase").child("failure").attribute("type").value(), "race");
  EXPECT_STREQ(suite.child("testcase").next_sibling().attribute("name").value(), "a<b>&?");
}

TEST(Junit, IsWellFormedWhateverNamesHold) {
  Outcome o = racing("p\xff.py");
  o.subject = "a\xff\xed\xa0\x80\xef\xbf\xbf\x1b\xc2\x85z\xc3\xa9";
  o.report.findings[0].message = "\xc0\x80\x02 ]]> <&";
  Outcome bad;
  bad.subject = "b";
  bad.error = "no \xfe file";
  const std::string text = junit_report(std::vector{o, bad}, {});
  EXPECT_EQ(printable_lines(text), text);  // valid UTF-8, no control characters
  pugi::xml_document xml;
  ASSERT_TRUE(xml.load_string(text.c_str()));
  const pugi::xml_node first = xml.child("testsuites").child("testsuite").child("testcase");
  EXPECT_STREQ(first.attribute("name").value(), "a???????z\xc3\xa9");
  EXPECT_STREQ(first.attribute("classname").value(), "tilecheck.v5e");
  EXPECT_STREQ(first.next_sibling().attribute("classname").value(), "tilecheck");
  EXPECT_STREQ(first.next_sibling().child("error").attribute("message").value(), "no ? file");
}

TEST(Printable, KeepsTextAndNothingElse) {
  const struct {
    const char *text, *shown;
  } cases[] = {{"plain \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "plain \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
               {"a\tb\nc", "a  b?c"},
               {"\xc2\x9b[31m", "?[31m"},
               {"\x7f\x1b", "??"},
               {"\xff\xc3", "??"},                 // no UTF-8, and a sequence cut short
               {"\xc1\x81\xe0\x80\x80", "?????"},  // longer than needed
               {"\xed\xa0\x80", "???"},            // a surrogate
               {"\xf4\x90\x80\x80", "????"},       // beyond Unicode
               {"\xef\xbf\xbe\xef\xbf\xbd", "?\xef\xbf\xbd"}};
  for (const auto& c : cases) EXPECT_EQ(printable(c.text), c.shown);
  EXPECT_EQ(printable_lines("a\nb\rc"), "a\nb?c");
}

TEST(Github, EscapesItsCommands) {
  Outcome o = racing("a,b:c.py");
  o.report.findings[0].message = "100% of\nlines";
  const std::string text = github_report(std::vector{o}, {});
  EXPECT_THAT(text, HasSubstr("::error title=race,file=a%2Cb%3Ac.py,line=3,col=9::paged: 100%25 of%0Alines"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
}

TEST(Filter, SelectIgnoreAndBaseline) {
  Outcome o = racing("paged.py");
  o.report.findings.push_back(Finding::make(Kind::dma_serialized, "start, wait"));
  const auto left = [&](std::vector<Kind> select, std::vector<Kind> ignore, const Baseline* baseline = nullptr) {
    Outcome copy = o;
    filter_findings(copy, select, ignore, baseline);
    EXPECT_EQ(copy.suppressed + copy.report.findings.size(), 2u);
    return copy.report.findings.size();
  };
  EXPECT_EQ(left({}, {}), 2u);
  EXPECT_EQ(left({Kind::race}, {}), 1u);
  EXPECT_EQ(left({}, {Kind::race}), 1u);
  EXPECT_EQ(left({Kind::race}, {Kind::race}), 0u);
  const std::string file = temp("baseline.json");
  Baseline::write(file, std::vector{racing("paged.py")});
  const Baseline baseline = Baseline::read(file);
  o.report.findings[0].at.line = 99;  // an edit above it
  EXPECT_EQ(left({}, {}, &baseline), 1u);
  o.report.findings[0].buffer = "other";
  EXPECT_EQ(left({}, {}, &baseline), 2u);
  std::ofstream(file) << "{\"findings\": 3}";
  EXPECT_THROW(Baseline::read(file), InputError);
}

TEST(Verdicts, ExitCodesAndWorst) {
  EXPECT_EQ(exit_code(Verdict::clean), 0);
  EXPECT_EQ(exit_code(Verdict::findings), 1);
  EXPECT_EQ(exit_code(Verdict::error), 2);
  EXPECT_EQ(exit_code(Verdict::incomplete), 3);
  EXPECT_EQ(worst_verdict(std::vector{Outcome{}, racing("p.py")}, Severity::error), Verdict::findings);
  EXPECT_EQ(worst_verdict({}, Severity::error), Verdict::clean);
}

TEST(Explain, EveryKindHasAnExample) {
  for (const KindInfo& k : all_kinds()) {
    EXPECT_FALSE(example(k.kind).empty()) << k.name;
    EXPECT_THAT(explanation(k.kind), HasSubstr("<-")) << k.name;
  }
}

}  // namespace
}  // namespace tilecheck
