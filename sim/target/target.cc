// Finding a target by name.
#include "sim/target/target.h"

#include <algorithm>
#include <numeric>

#include "sim/types/error.h"

namespace tilecheck {
namespace {

bool same_letter(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

// Letters to insert or delete, compared without case: "v6" is nearer to "v6e" than to "v2".
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replace = diagonal + (same_letter(a[i - 1], b[j - 1]) ? 0 : 2);
      diagonal = row[j];
      row[j] = std::min({replace, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

const Target* find_target(std::string_view name) {
  for (const Target& t : targets()) {
    if (t.name == name) return &t;
    if (std::find(t.device_kinds.begin(), t.device_kinds.end(), name) != t.device_kinds.end()) return &t;
  }
  return nullptr;
}

}  // namespace

bool Target::accepts_matmul(DType type) const {
  return std::find(matmul_types.begin(), matmul_types.end(), type) != matmul_types.end();
}

// Near: at most half as many letters inserted and deleted as `name` has (two for short ones); else the shortest that
// begins with `name` or holds it.
std::string nearest_name(std::string_view name, std::span<const std::string> names) {
  if (name.empty()) return "";
  std::string best;
  size_t best_distance = std::max<size_t>(2, name.size() / 2) + 1;
  for (const std::string& candidate : names) {
    const size_t d = distance(name, candidate);
    if (d < best_distance) {
      best = candidate;
      best_distance = d;
    }
  }
  if (!best.empty() || name.size() < 2) return best;
  for (const std::string& candidate : names) {
    const auto at = std::ranges::search(candidate, name, same_letter).begin();
    const bool is_part = at == candidate.begin() || (at != candidate.end() && name.size() > 2);
    if (is_part && (best.empty() || candidate.size() < best.size())) best = candidate;
  }
  return best;
}

const Target& target_named(std::string_view name) {
  if (const Target* t = find_target(name)) return *t;
  // JAX knows these device kinds; no libtpu figures have been measured for them.
  for (std::string_view kind : {"TPU v4 lite", "TPU8i", "TPU8t", "v4i", "8i", "8t"}) {
    if (name == kind)
      throw InputError("target", "\"" + std::string(name) +
                                     "\" is a TPU without a row in the table (see `tilecheck "
                                     "targets`); describe it in a target file");
  }
  std::vector<std::string> names;
  std::string known;
  for (const Target& t : targets()) {
    names.push_back(t.name);
    known += (known.empty() ? "" : ", ") + t.name;
    names.insert(names.end(), t.device_kinds.begin(), t.device_kinds.end());
  }
  const std::string nearest = nearest_name(name.substr(0, 100), names);
  throw InputError("target", "no target is named \"" + std::string(name.substr(0, 100)) + "\"" +
                                 (nearest.empty() ? "" : "; did you mean \"" + nearest + "\"?") + " (known: " + known +
                                 ", JAX's device kinds, and files FILE.json)");
}

std::vector<Target> targets_named(std::string_view list) {
  if (list == "all") return {targets().begin(), targets().end()};
  std::vector<Target> found;
  while (true) {
    const size_t comma = list.find(',');
    found.push_back(target_named(list.substr(0, comma)));
    if (comma == std::string_view::npos) return found;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace tilecheck
