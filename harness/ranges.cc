#include "harness/ranges.h"

#include <algorithm>
#include <charconv>
#include <unordered_set>

#include "sim/types/error.h"

namespace tilecheck {
namespace {

bool parse(std::string_view text, int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

// The values of one range "A..B", "A..B*M" or "A..B+S".
std::vector<std::string> expand_range(std::string_view item, const std::string& where) {
  const auto refuse = [&](const std::string& what) {
    throw InputError(where, "range '" + std::string(item) + "' " + what);
  };
  const size_t dots = item.find("..");
  const std::string_view rest = item.substr(dots + 2);
  const size_t sign = rest.find_first_of("*+", rest.starts_with('+') ? 1 : 0);
  const bool adds = sign != std::string_view::npos && rest[sign] == '+';
  int64_t first = 0, last = 0, step = 2;
  if (!parse(item.substr(0, dots), first) || !parse(rest.substr(0, sign), last) ||
      (sign != std::string_view::npos && !parse(rest.substr(sign + 1), step)))
    refuse("is not A..B, A..B*M or A..B+S with whole numbers");
  if (first > last) refuse("is empty: it begins above its end");
  if (adds ? step < 1 : step < 2) refuse(adds ? "needs a step of at least 1" : "needs a factor of at least 2");
  if (!adds && first < 1) refuse("must begin at 1 or more to be multiplied; or use A..B+S");
  std::vector<std::string> values;
  for (int64_t value = first; value <= last;) {
    if (values.size() == kMaxRangeValues) refuse("has more than " + std::to_string(kMaxRangeValues) + " values");
    values.push_back(std::to_string(value));
    if (adds ? __builtin_add_overflow(value, step, &value) : __builtin_mul_overflow(value, step, &value)) break;
  }
  return values;
}

}  // namespace

std::vector<std::string> expand_ranges(std::string_view text, const std::string& where) {
  std::vector<std::string> values;
  std::unordered_set<std::string> seen;
  while (true) {
    const size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    if (item.empty()) throw InputError(where, "a value is missing");
    for (std::string& value :
         item.find("..") == std::string_view::npos ? std::vector{std::string(item)} : expand_range(item, where)) {
      if (!seen.insert(value).second) continue;
      if (values.size() == kMaxRangeValues)
        throw InputError(where, "more than " + std::to_string(kMaxRangeValues) + " values");
      values.push_back(std::move(value));
    }
    if (comma == std::string_view::npos) return values;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace tilecheck
