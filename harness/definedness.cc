#include "harness/definedness.h"

#include <cassert>
#include <cstring>

#include "harness/format.h"

namespace tilecheck {
namespace {

Dims index_of(int64_t flat, const Shape& shape) {
  Dims index = Dims::filled(shape.rank(), 0);
  for (int d = shape.rank(); d-- > 0; flat /= shape[d]) index[d] = flat % shape[d];
  return index;
}

bool is_marked(const DeviceResults& device, size_t result, int64_t element) {
  if (result >= device.undefined.size() || device.undefined[result].empty()) return false;
  return device.undefined[result][static_cast<size_t>(element)] != 0;
}

}  // namespace

DefinednessOutcome check_definedness(const Subject& subject, const RunOptions& options, int fills) {
  assert(fills >= 2);
  std::vector<std::vector<DeviceResults>> runs;
  RunOptions one = options;
  one.compare = false;
  one.analyse_fit = false;
  for (int i = 0; i < fills; ++i) {
    one.launch.garbage = static_cast<uint32_t>(i);
    runs.push_back(run_subject(subject, one).devices);
  }
  DefinednessOutcome outcome;
  for (size_t d = 0; d < runs[0].size(); ++d) {
    for (size_t r = 0; r < runs[0][d].out.size(); ++r) {
      const HostArray& first = runs[0][d].out[r];
      const auto bytes = static_cast<size_t>(storage_bytes(first.dtype()));
      for (int64_t i = 0; i < first.size(); ++i) {
        const size_t offset = static_cast<size_t>(i) * bytes;
        const bool marked = is_marked(runs[0][d], r, i);
        bool moved = false;
        for (const auto& run : runs) {
          moved = moved || std::memcmp(first.data() + offset, run[d].out[r].data() + offset, bytes) != 0;
          if (is_marked(run[d], r, i) != marked && outcome.differing_marks.empty())
            outcome.differing_marks = subject.results[r].name + index_text(index_of(i, first.shape()));
        }
        ++outcome.elements;
        outcome.marked += marked;
        outcome.moved += moved;
        outcome.never_moved += marked && !moved;
        if (!moved || marked) continue;
        if (outcome.missed++ == 0)
          outcome.first_missed = subject.results[r].name + index_text(index_of(i, first.shape()));
      }
    }
  }
  return outcome;
}

}  // namespace tilecheck
