// What differs between two kernels.
#include <algorithm>
#include <map>
#include <vector>

#include "sim/mosaic/body_text.h"
#include "sim/mosaic/inspect.h"
#include "sim/mosaic/inspect_header.h"

namespace tilecheck::mosaic {
namespace {

// Bodies whose differing parts have more pairs of lines than this are not aligned line by line.
constexpr size_t kMaxPairs = size_t{1} << 24;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

// A line with the numbers of its values (v12, r3, k0, w1) left open, and those names in order.
struct Shape {
  std::string text;
  std::vector<std::string> names;
};
Shape shape_of(const BodyLine& line) {
  Shape out;
  out.text = std::to_string(line.indent) + ' ';
  const std::string& t = line.text;
  for (size_t i = 0; i < t.size();) {
    const bool starts = (t[i] == 'v' || t[i] == 'r' || t[i] == 'k' || t[i] == 'w') &&
                        (i == 0 || (!is_letter(t[i - 1]) && !is_digit(t[i - 1])));
    size_t end = i + 1;
    while (end < t.size() && is_digit(t[end])) ++end;
    if (starts && end > i + 1 && (end == t.size() || !is_letter(t[end]))) {
      out.text += t[i];
      out.text += '#';
      out.names.push_back(t.substr(i, end - i));
      i = end;
    } else {
      out.text += t[i++];
    }
  }
  return out;
}

// Pairs (i, j) of a longest common subsequence, in order.
std::vector<std::pair<size_t, size_t>> align(const std::vector<Shape>& a, const std::vector<Shape>& b) {
  size_t head = 0, tail = 0;
  while (head < a.size() && head < b.size() && a[head].text == b[head].text) ++head;
  while (tail < a.size() - head && tail < b.size() - head && a[a.size() - 1 - tail].text == b[b.size() - 1 - tail].text)
    ++tail;
  std::vector<std::pair<size_t, size_t>> pairs;
  for (size_t i = 0; i < head; ++i) pairs.emplace_back(i, i);
  const size_t n = a.size() - head - tail, m = b.size() - head - tail;
  if (n > 0 && m > 0 && n * m <= kMaxPairs) {
    std::vector<uint32_t> best((n + 1) * (m + 1), 0);
    const auto at = [&](size_t i, size_t j) -> uint32_t& { return best[i * (m + 1) + j]; };
    for (size_t i = n; i-- > 0;)
      for (size_t j = m; j-- > 0;)
        at(i, j) = a[head + i].text == b[head + j].text ? at(i + 1, j + 1) + 1 : std::max(at(i + 1, j), at(i, j + 1));
    for (size_t i = 0, j = 0; i < n && j < m;) {
      if (a[head + i].text == b[head + j].text) {
        pairs.emplace_back(head + i++, head + j++);
      } else if (at(i + 1, j) >= at(i, j + 1)) {
        ++i;
      } else {
        ++j;
      }
    }
  }
  for (size_t i = 0; i < tail; ++i) pairs.emplace_back(a.size() - tail + i, b.size() - tail + i);
  return pairs;
}

std::string place(const KernelModule& k, const BodyLine& line) {
  const Frame frame = user_frame(k.module, line.loc);
  return frame.file.empty() ? std::string() : std::string(frame.file).append(":").append(std::to_string(frame.line));
}

class Differ {
 public:
  // Arguments are one another's by position; what the source calls them is no difference.
  Differ(const KernelModule& a, const KernelModule& b)
      : a_(a), b_(b), b_names_(a.arg_names.size() == b.arg_names.size() ? a.arg_names : b.arg_names) {}

  std::string run() {
    if (a_.name != b_.name) out_ += "name: " + a_.name + " -> " + b_.name + "\n";
    header();
    body();
    if (!out_.empty()) return std::move(out_);
    if (identity(a_).with_locations != identity(b_).with_locations) source_lines();
    return std::move(out_);
  }

 private:
  static std::vector<std::pair<std::string, std::string>> rows(const KernelModule& k,
                                                               const std::vector<std::string>& names) {
    std::vector<std::pair<std::string, std::string>> out;
    std::string what;
    for (const std::vector<std::string>& cells : header_text(k, names).rows) {
      if (!cells[0].empty()) what = cells[0];
      if (what == "payload") continue;
      // Rows are matched by kind and number; options by their text.
      std::string key = what, text;
      const bool numbered = what == "operands" || what == "results" || what == "scratch";
      for (size_t i = 1; i < cells.size(); ++i) {
        if (numbered && i == 1) {
          key += " " + cells[i];
          continue;
        }
        if (!cells[i].empty()) text.append(text.empty() ? "" : "  ").append(cells[i]);
      }
      if (what == "options") key += " " + text.substr(0, text.find(' '));
      out.emplace_back(key, text);
    }
    return out;
  }

  void header() {
    const auto left = rows(a_, a_.arg_names), right = rows(b_, b_names_);
    const auto find = [](const auto& list, const std::string& key) -> const std::string* {
      for (const auto& [k, text] : list)
        if (k == key) return &text;
      return nullptr;
    };
    for (const auto& [key, text] : left) {
      const std::string* other = find(right, key);
      if (!other)
        out_ += key + ": only in the first: " + text + "\n";
      else if (*other != text)
        out_ += key + ": " + text + "\n" + std::string(key.size(), ' ') + "-> " + *other + "\n";
    }
    for (const auto& [key, text] : right)
      if (!find(left, key)) out_ += key + ": only in the second: " + text + "\n";
  }

  void show(const KernelModule& k, const BodyLine& line, const char* sign) {
    const std::string where = place(k, line);
    out_ += std::string(sign) + std::string(static_cast<size_t>(2 * line.indent), ' ') + line.text;
    if (!where.empty()) out_.append("    # ").append(where);
    out_ += "\n";
  }

  void body() {
    const BodyText left = body_text(a_.module, *a_.main, a_.arg_names),
                   right = body_text(b_.module, *b_.main, b_names_);
    std::vector<Shape> ls, rs;
    for (const BodyLine& line : left.lines) ls.push_back(shape_of(line));
    for (const BodyLine& line : right.lines) rs.push_back(shape_of(line));
    const auto pairs = align(ls, rs);
    // Aligned lines say which value of one body is which of the other; where that does not hold, operands differ.
    std::map<std::string, std::string> same;
    size_t i = 0, j = 0;
    bool headed = false;
    const auto heading = [&] {
      if (!headed) out_ += "body:\n";
      headed = true;
    };
    const auto skip_to = [&](size_t to_i, size_t to_j) {
      for (; i < to_i; ++i) {
        heading();
        show(a_, left.lines[i], "- ");
      }
      for (; j < to_j; ++j) {
        heading();
        show(b_, right.lines[j], "+ ");
      }
    };
    for (const auto& [pi, pj] : pairs) {
      skip_to(pi, pj);
      bool agree = true;
      for (size_t n = 0; n < ls[pi].names.size(); ++n) {
        const auto [at, fresh] = same.emplace(ls[pi].names[n], rs[pj].names[n]);
        agree = agree && at->second == rs[pj].names[n];
      }
      if (!agree) {
        heading();
        show(a_, left.lines[pi], "- ");
        show(b_, right.lines[pj], "+ ");
      }
      ++i;
      ++j;
    }
    skip_to(left.lines.size(), right.lines.size());
  }

  void source_lines() {
    const BodyText left = body_text(a_.module, *a_.main, a_.arg_names),
                   right = body_text(b_.module, *b_.main, b_names_);
    std::vector<std::string> moved;
    for (size_t i = 0; i < std::min(left.lines.size(), right.lines.size()); ++i) {
      const std::string from = place(a_, left.lines[i]), to = place(b_, right.lines[i]);
      const std::string text = (from.empty() ? "unknown" : from) + " -> " + (to.empty() ? "unknown" : to);
      if (from != to && (moved.empty() || moved.back() != text)) moved.push_back(text);
    }
    out_ += "only source lines and names differ: the program is the same, its bytes are not\n";
    constexpr size_t kMaxShown = 10;
    for (size_t i = 0; i < std::min(moved.size(), kMaxShown); ++i) out_ += "  " + moved[i] + "\n";
    if (moved.size() > kMaxShown) out_ += "  and " + std::to_string(moved.size() - kMaxShown) + " more\n";
  }

  const KernelModule& a_;
  const KernelModule& b_;
  const std::vector<std::string>& b_names_;
  std::string out_;
};

}  // namespace

std::string diff(const KernelModule& a, const KernelModule& b) { return Differ(a, b).run(); }

}  // namespace tilecheck::mosaic
