// Kernels decoded once: a second call with the same payload, types and options does no decoding.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "harness/outcome.h"
#include "sim/mosaic/payload.h"
#include "tools/python/native/call.h"
#include "tools/python/native/options.h"

namespace tilecheck::python {

struct Kernel {
  int number = 0;  // in order of decoding
  CallOptions options;
  std::shared_ptr<const mosaic::Payload> payload;
  KernelSpec spec;  // grid extents that are operands are not known here
  Body body;
  int devices = 1;
  Dims mesh;
  // Fit, compile rules and time, and the findings of these: they do not depend on values.
  Outcome analysis;
  // Milliseconds spent on exploring schedules, in all calls.
  std::shared_ptr<std::atomic<int64_t>> explored_ms = std::make_shared<std::atomic<int64_t>>(0);
};

class KernelCache {
 public:
  // Decodes at the first call with a signature. InputError and Incomplete as the payload reader throws them; these are
  // thrown again at each call.
  std::shared_ptr<const Kernel> find(const CallSignature& signature);
  struct Stats {
    uint64_t hits = 0, misses = 0;
    size_t kernels = 0;
  };
  Stats stats() const;
  void clear();

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<const Kernel>> kernels_;
  uint64_t hits_ = 0, misses_ = 0;
  int next_number_ = 0;
};

}  // namespace tilecheck::python
