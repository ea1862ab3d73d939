// JUnit XML: one test case a subject. A finding that counts is a failure; bad input and what is not modelled are
// errors.
#include <pugixml.hpp>
#include <sstream>

#include "harness/diagnostic.h"
#include "harness/format.h"
#include "harness/writers.h"

namespace tilecheck {
namespace {

void set(pugi::xml_node node, const char* attribute, const std::string& value) {
  node.append_attribute(attribute).set_value(printable(value).c_str());
}

void child(pugi::xml_node test, const char* element, const std::string& type, const std::string& message,
           const std::string& text) {
  pugi::xml_node node = test.append_child(element);
  set(node, "type", type);
  set(node, "message", message);
  if (!text.empty()) node.append_child(pugi::node_pcdata).set_value(printable_lines(text).c_str());
}

}  // namespace

std::string junit_report(std::span<const Outcome> outcomes, const WriterOptions& options) {
  pugi::xml_document document;
  pugi::xml_node suite = document.append_child("testsuites").append_child("testsuite");
  int failures = 0, errors = 0;
  double seconds = 0;
  for (const Outcome& o : outcomes) {
    const Verdict v = o.verdict(options.threshold);
    failures += v == Verdict::findings;
    errors += v == Verdict::error || v == Verdict::incomplete;
    seconds += o.report.seconds;
  }
  set(suite, "name", "tilecheck");
  set(suite, "tests", std::to_string(outcomes.size()));
  set(suite, "failures", std::to_string(failures));
  set(suite, "errors", std::to_string(errors));
  set(suite, "time", std::to_string(seconds));
  const Paint plain(false);
  for (const Outcome& o : outcomes) {
    pugi::xml_node test = suite.append_child("testcase");
    set(test, "classname", o.report.target.empty() ? "tilecheck" : "tilecheck." + o.report.target);
    set(test, "name", o.subject);
    set(test, "time", std::to_string(o.report.seconds));
    if (!o.error.empty()) child(test, "error", "bad-input", o.error, "");
    for (const std::string& what : o.report.incomplete) child(test, "error", "incomplete", "not modelled: " + what, "");
    std::string rest;
    for (const Finding& f : o.report.findings) {
      const std::string text = diagnostic_text(f, o.replay, o.source_folder, plain);
      if (f.severity >= options.threshold)
        child(test, "failure", std::string(name(f.kind)), f.message, text);
      else
        rest += text;
    }
    if (!rest.empty())
      test.append_child("system-out").append_child(pugi::node_pcdata).set_value(printable_lines(rest).c_str());
  }
  std::ostringstream out;
  document.save(out, " ", pugi::format_default, pugi::encoding_utf8);
  return out.str();
}

}  // namespace tilecheck
