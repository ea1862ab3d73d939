// A kernel call as it arrives from Python: its payload, the types at its boundary, and the arrays of each device.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/mosaic/stablehlo_scan.h"
#include "sim/types/host_array.h"

namespace tilecheck::python {

// Everything about a call but its values; equal signatures share one decoded kernel. Views into the caller's memory.
struct CallSignature {
  std::string_view config;   // backend_config: JSON
  std::string_view name;     // the kernel's
  std::string_view options;  // JSON, see options.h
  std::vector<mosaic::ArrayType> operands, results;
  std::vector<Alias> aliases;  // input: an operand's number
  int devices = 1;             // that meet in the kernel
  Dims mesh;                   // their logical grid; empty: {devices}
};

// One array in the caller's memory, row-major.
struct CallArray {
  mosaic::ArrayType type;
  void* data = nullptr;
  bool packed = false;  // elements narrower than a byte share bytes, the first in the low bits; else one byte each
};

// One device's part of a call.
struct DeviceArrays {
  std::vector<CallArray> operands, results;
};

// How a call ended.
struct CallStatus {
  enum class Code { ok, findings, incomplete, bad_input, cancelled };
  Code code = Code::ok;
  std::string message;  // what to raise; empty when ok
};

}  // namespace tilecheck::python
