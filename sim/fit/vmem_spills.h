// Register spills: how many vector registers' worth of values a body keeps alive beyond the register file.
//
// An estimate. The compiler schedules a straight run of code so that elementwise chains need few registers, but values
// that live across a reduction, a matmul, a loop or a branch wait in registers, or in spill slots of VMEM.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/fit/body.h"
#include "sim/fit/vmem_live.h"
#include "sim/target/target.h"

namespace tilecheck::fit {

// Vector registers that a tile takes; 0 for scalars.
int64_t vector_registers(const TileType& type, const Target& target);

struct SpillEstimate {
  double pressure_registers = 0;  // most values alive at once
  // min and max set apart verdicts that a small error of the estimate would change. They are no bound: half of libtpu's
  // rows that spill lie within them.
  int64_t bytes = 0, min_bytes = 0, max_bytes = 0;
  // Nine in ten kernels whose spills are foreseen lie within these (tests/conformance holds it). Equal to `bytes` where
  // none are foreseen: 26 of 779 such rows spill after all, 3 to 96 registers.
  int64_t low_bytes = 0, high_bytes = 0;
};
SpillEstimate spill_estimate(const Body& body, const std::vector<Survival>& survival, const Target& target);

}  // namespace tilecheck::fit
