// What a run's arrays take in the host's memory, before anything is allocated.
#include <unistd.h>

#include "harness/format.h"
#include "harness/run.h"
#include "sim/types/error.h"

namespace tilecheck {
namespace {

// Doubles: shapes may have more elements than 64 bits count.
double bytes_of(const Shape& shape, double element_bytes) {
  for (const int64_t d : shape) element_bytes *= static_cast<double>(d);
  return element_bytes;
}

std::string shown(double bytes) {
  constexpr double kMost = 0x1p62;
  return bytes < kMost ? human_bytes(static_cast<int64_t>(bytes)) : "more than " + human_bytes(int64_t{1} << 62);
}

}  // namespace

int64_t machine_memory_bytes() {
  const int64_t pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGE_SIZE);
  return pages > 0 && page_bytes > 0 ? pages * page_bytes : INT64_MAX;
}

void refuse_too_large(const Subject& subject, const RunOptions& options, int64_t memory_bytes) {
  const bool has_reference = options.compare && subject.reference;
  const bool has_naive = options.compare && subject.naive;
  double total = 0, largest = -1;
  std::string name;
  const auto add = [&](const std::string& what, DType dtype, const Shape& shape, double extra_bytes) {
    const double bytes = bytes_of(shape, storage_bytes(dtype));
    total += (bytes + bytes_of(shape, extra_bytes)) * subject.devices;
    if (bytes <= largest) return;
    largest = bytes;
    name = what + ": " + array_text(dtype, shape) + " has " + shown(bytes);
  };
  if (options.arrays.empty())
    for (const Operand& o : subject.operands) add("operand " + o.name, o.dtype, o.shape, 0);
  for (const ResultInfo& r : subject.results) {
    constexpr double kReferenceBytes = 8;  // f64
    add("result " + r.name, r.dtype, r.shape,
        (has_reference ? kReferenceBytes : 0) + (has_naive ? storage_bytes(r.dtype) : 0));
  }
  if (total <= static_cast<double>(memory_bytes)) return;
  const size_t colon = name.find(':');
  throw InputError(name.substr(0, colon), name.substr(colon + 2) + "; operands, results and references take " +
                                              shown(total) + ", this machine has " + human_bytes(memory_bytes) +
                                              " of memory");
}

}  // namespace tilecheck
