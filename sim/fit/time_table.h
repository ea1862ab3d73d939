// What libtpu's own timing simulator charges: vector-unit slots per operation, latencies and copy rates, per
// generation.
//
// Every number of the time model is in time_table.cc. Sources: libtpu 0.0.42.1 compiling ahead of time; slots and
// matmul figures from kernels of one operation over a block (slope between two sizes), copies from kernels of one copy
// (exact linear fit), latencies and weights fitted on the bundles of whole bodies.
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/fit/body.h"
#include "sim/target/target.h"
#include "sim/types/dtype.h"

namespace tilecheck::fit {

// The units of a core whose slots bound a straight run of code. Slots are what one bundle (one cycle) can hold.
struct UnitSlots {
  double mxu = 0;    // rows pushed through one matrix unit
  double xlu = 0;    // cross-lane unit, in the cycles that one operation occupies it
  double valu = 0;   // vector arithmetic
  double eup = 0;    // transcendental pushes
  double load = 0;   // vector loads
  double store = 0;  // vector stores
  double pop = 0;    // results popped from MXU, XLU and EUP

  UnitSlots& operator+=(const UnitSlots& other);
  UnitSlots operator*(double factor) const;
};

// Slots of an elementwise function on one vector register of f32 (or i32).
struct FnSlots {
  double valu = 1;
  double eup = 0;  // transcendental pushes of one register each
};

// Which functions share a table column: v4; v5e and v5p; v6e and v7x.
enum class CostGroup : uint8_t { v4, v5, v6 };

struct TimeTable {
  std::string_view target;  // the generation measured: "v5e"
  CostGroup group;

  UnitSlots slots_per_cycle;
  double eup_slots_per_push;  // v4 takes two
  double xlu_cycles;          // that a lane reduction, lane rotation or transpose of one register occupies an XLU
  int64_t mxu_size;           // rows and columns of weights; a matmul makes ceil(k/size) x ceil(n/size) passes
  double mxu_slots_per_row;   // of one pass
  bool bf16_is_native;        // VALU and EUP take packed bf16; else each operation unpacks and packs

  // Latencies, in cycles, along the longest chain of dependent operations of a straight run of code.
  double lane_reduce;      // reduction over lanes, or another XLU round trip
  double lane_accumulate;  // per register folded into a lane reduction before the XLU
  double sublane_reduce;
  double transpose;
  double transcendental;
  double matmul;           // first push to first result
  double matmul_in_order;  // share of the wait when each matmul starts only after the one before it has started
  // Weights.
  double busiest_unit;  // cycles per cycle of the busiest unit
  double second_unit;   // of the second busiest
  double weight_push;   // per eight registers of matmul weights
  double region;        // per straight run of code
  double step, window;  // per grid step, and per window and grid step

  // Copies: cycles = latency + bytes / bytes_per_cycle, whatever the shape, type or number in flight.
  double copy_in_latency, copy_out_latency;
  double bytes_per_cycle;
  bool copies_measured;  // else derived from the roofline of libtpu's cost model
  double issue;          // bundles to issue one copy

  // Errors against libtpu on kernels that were not used for the fit: median and 90th percentile, as fractions.
  double body_error_median, body_error_p90;
  double kernel_error_median, kernel_error_p90;  // 0: libtpu gives no whole-kernel figure for this generation
};

// The table for a target; for one that was not measured (a user's own), the measured one of the nearest generation
// from v4 on. Null below v4.
const TimeTable* time_table(const Target& target);

// Slots of `fn` on one register of f32 or i32; and of bf16, 32 bits of two packed rows each.
FnSlots fn_slots(const TimeTable& table, Fn fn, DType dtype);
// VALU slots to convert one register of `from`.
double convert_slots(const TimeTable& table, DType from, DType to);

}  // namespace tilecheck::fit
