// A decoded kernel made ready to launch: its spec and body, for the same machine as C++ kernels.
#pragma once

#include <memory>
#include <span>

#include "sim/machine/launch.h"
#include "sim/mosaic/kernel_module.h"
#include "sim/mosaic/program.h"

namespace tilecheck::mosaic {

class Payload : public std::enable_shared_from_this<Payload> {
 public:
  // Compiles body and index maps. An index map with an operation that is not modelled throws Incomplete here, a body
  // with one when it is asked for.
  static std::shared_ptr<const Payload> make(KernelModule kernel);

  const KernelModule& kernel() const { return kernel_; }
  // `bounds`: the dynamic grid bounds in order; without them, dynamic extents are fit::kDynamicGrid. A bound below zero
  // is zero (machine-rules 7).
  KernelSpec spec(std::span<const int64_t> bounds = {}) const;
  Body body() const;  // throws Incomplete
  // Why body() throws: the first operation that is not modelled, and where; empty: it does not.
  const std::string& not_modelled() const { return not_modelled_; }

  // One device's operands of the custom call -> dynamic bounds and launch arguments. Arrays change their type where the
  // kernel sees another one of the same width (unsigned as signless, bool as i32). InputError for arrays that do not
  // fit the call.
  std::vector<int64_t> bounds(std::span<const HostArray> operands) const;
  DeviceArgs arguments(std::span<const HostArray> operands) const;
  // A result as the call declares it.
  HostArray declared_result(int i, const HostArray& result) const;

 private:
  explicit Payload(KernelModule kernel);
  Window window(int i, const Dims& grid) const;

  KernelModule kernel_;
  std::unique_ptr<Program> program_;  // null: the body holds what is not modelled
  std::string not_modelled_;
  std::vector<std::shared_ptr<const Program>> transforms_;  // per window; null: none
};

// The same elements under another type of equal width (u32 as i32, b1 as i32 by value).
HostArray retyped(const HostArray& array, DType to);

}  // namespace tilecheck::mosaic
