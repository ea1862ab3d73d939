// GitHub workflow commands: each finding becomes an annotation on its line.
#include "harness/format.h"
#include "harness/source.h"
#include "harness/writers.h"

namespace tilecheck {
namespace {

// GitHub's own escaping of workflow commands.
std::string escaped(std::string_view text, bool property) {
  std::string out;
  for (const char c : text) {
    if (c == '%')
      out += "%25";
    else if (c == '\r')
      out += "%0D";
    else if (c == '\n')
      out += "%0A";
    else if (property && c == ':')
      out += "%3A";
    else if (property && c == ',')
      out += "%2C";
    else if (static_cast<unsigned char>(c) < 0x20)
      out += '?';
    else
      out += c;
  }
  return out;
}

std::string command(Severity severity, const Loc& at, const std::string& title, const std::string& message) {
  std::string out = severity == Severity::note ? "::notice" : severity == Severity::warning ? "::warning" : "::error";
  out += " title=" + escaped(title, true);
  if (at.known()) {
    out += ",file=" + escaped(printable(shown_file(at.file)), true) + ",line=" + std::to_string(at.line);
    if (at.column > 0) out += ",col=" + std::to_string(at.column);
  }
  return out + "::" + escaped(printable_lines(message), false) + "\n";
}

}  // namespace

std::string github_report(std::span<const Outcome> outcomes, const WriterOptions&) {
  std::string out;
  for (const Outcome& o : outcomes) {
    if (!o.error.empty()) out += command(Severity::error, {}, "tilecheck", o.subject + ": " + o.error);
    for (const std::string& what : o.report.incomplete)
      out += command(Severity::error, {}, "tilecheck incomplete", o.subject + ": not modelled: " + what);
    for (const Finding& f : o.report.findings) {
      std::string text = o.subject + ": " + f.message;
      for (const std::string& h : f.helps) text += "\nhelp: " + h;
      if (!o.replay.empty()) text += "\nreplay: " + o.replay;
      out += command(f.severity, f.at, std::string(name(f.kind)), text);
    }
  }
  return out;
}

}  // namespace tilecheck
