#include "sim/fit/recorded_numbers.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace tilecheck::fit {
namespace {

// A table of more entries is not made; the number is then taken as the first coordinates have it.
constexpr size_t kMaxEntries = 1 << 16;

using Key = std::vector<int64_t>;

Key key_of(const Seen& seen, const std::vector<size_t>& coordinates) {
  Key key;
  for (size_t c : coordinates) key.push_back(seen.at[c]);
  return key;
}

// Whether equal coordinates always saw the same number.
bool explains(const std::vector<Seen>& seen, size_t which, const std::vector<size_t>& coordinates) {
  std::map<Key, int64_t> numbers;
  for (const Seen& s : seen)
    if (numbers.try_emplace(key_of(s, coordinates), s.numbers[which]).first->second != s.numbers[which]) return false;
  return true;
}

std::vector<size_t> smallest_explanation(const std::vector<Seen>& seen, size_t which,
                                         const std::vector<size_t>& usable) {
  if (explains(seen, which, {})) return {};
  for (size_t c : usable)
    if (explains(seen, which, {c})) return {c};
  for (size_t i = 0; i < usable.size(); ++i)
    for (size_t k = i + 1; k < usable.size(); ++k)
      if (explains(seen, which, {usable[i], usable[k]})) return {usable[i], usable[k]};
  return usable;
}

}  // namespace

bool Affine::is_constant() const {
  return std::ranges::all_of(slopes, [](int64_t slope) { return slope == 0; });
}

std::optional<Affine> affine(const std::vector<Seen>& seen, size_t which) {
  Affine f;
  if (seen.empty()) return f;
  const size_t n = seen[0].at.size();
  f.slopes.assign(n, 0);
  f.base = seen[0].numbers[which];
  if (std::ranges::all_of(seen, [&](const Seen& s) { return s.numbers[which] == f.base; })) return f;
  // A slope shows between two places that differ in one coordinate.
  for (size_t c = 0; c < n; ++c) {
    for (size_t i = 1; i < seen.size() && f.slopes[c] == 0; ++i)
      for (size_t k = 0; k < i && f.slopes[c] == 0; ++k) {
        bool others_equal = true;
        for (size_t d = 0; d < n; ++d) others_equal &= d == c || seen[i].at[d] == seen[k].at[d];
        const int64_t by = seen[i].at[c] - seen[k].at[c];
        const int64_t rise = seen[i].numbers[which] - seen[k].numbers[which];
        if (!others_equal || by == 0 || rise == 0) continue;
        if (rise % by != 0) return std::nullopt;
        f.slopes[c] = rise / by;
      }
  }
  const auto sum = [&](const Seen& s) {
    int64_t total = 0;
    for (size_t c = 0; c < n; ++c) total += f.slopes[c] * s.at[c];
    return total;
  };
  f.base = seen[0].numbers[which] - sum(seen[0]);
  for (const Seen& s : seen)
    if (s.numbers[which] != f.base + sum(s)) return std::nullopt;
  return f;
}

int64_t common_divisor(const std::vector<Seen>& seen, size_t which) {
  int64_t divisor = 0;
  for (const Seen& s : seen) divisor = std::gcd(divisor, s.numbers[which]);
  return std::max<int64_t>(divisor, 1);
}

NumberTable tabulate(const std::vector<Seen>& seen, size_t which, const std::vector<size_t>& usable) {
  NumberTable table;
  table.coordinates = smallest_explanation(seen, which, usable);
  size_t entries = 1;
  std::vector<size_t> kept;
  for (size_t c : table.coordinates) {
    std::vector<int64_t> points;
    for (const Seen& s : seen) points.push_back(s.at[c]);
    std::ranges::sort(points);
    points.erase(std::unique(points.begin(), points.end()), points.end());
    if (entries * points.size() > kMaxEntries) break;
    entries *= points.size();
    kept.push_back(c);
    table.lookup.points.push_back(std::move(points));
  }
  table.coordinates = kept;
  // Places in between that were not looked at have the number of the place before them.
  std::map<Key, int64_t> numbers;
  for (const Seen& s : seen) numbers[key_of(s, kept)] = s.numbers[which];
  int64_t last = seen[0].numbers[which];
  for (size_t e = 0; e < entries; ++e) {
    Key key(kept.size());
    size_t rest = e;
    for (size_t i = kept.size(); i-- > 0; rest /= table.lookup.points[i].size())
      key[i] = table.lookup.points[i][rest % table.lookup.points[i].size()];
    if (const auto it = numbers.find(key); it != numbers.end()) last = it->second;
    table.lookup.numbers.push_back(last);
  }
  return table;
}

}  // namespace tilecheck::fit
