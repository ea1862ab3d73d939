// When copies between HBM and VMEM arrive.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/fit/time_table.h"

namespace tilecheck::fit {

enum class CopyDirection : uint8_t { in, out };  // HBM to VMEM, and back

class CopyTimer {
 public:
  // bytes_per_cycle: of one copy. is_shared: copies in flight share that bandwidth (libtpu's own model lets each have
  // all of it).
  CopyTimer(const TimeTable& table, double bytes_per_cycle, bool is_shared)
      : in_latency_(table.copy_in_latency - table.issue),
        out_latency_(table.copy_out_latency - table.issue),
        issue_(table.issue),
        bytes_per_cycle_(bytes_per_cycle),
        is_shared_(is_shared) {}

  double issue_cycles() const { return issue_; }
  double cycles(CopyDirection direction, int64_t bytes) const {
    return latency(direction) + static_cast<double>(bytes) / bytes_per_cycle_;
  }
  // A copy issued at `now`: when it is done.
  double start(CopyDirection direction, int64_t bytes, double now) {
    if (!is_shared_) return now + cycles(direction, bytes);
    // The bus serves copies in order; latencies overlap.
    bus_free_ = std::max(bus_free_, now + latency(direction)) + static_cast<double>(bytes) / bytes_per_cycle_;
    return bus_free_;
  }

 private:
  double latency(CopyDirection d) const { return d == CopyDirection::in ? in_latency_ : out_latency_; }
  double in_latency_, out_latency_, issue_, bytes_per_cycle_;
  bool is_shared_;
  double bus_free_ = 0;
};

}  // namespace tilecheck::fit
