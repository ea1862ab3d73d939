#include "sim/fit/time_table.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tilecheck::fit {
namespace {

// clang-format off
// libtpu 0.0.42.1. Units: bundle capacities as the compiler prints them. Latencies and weights: least squares on the
// bundles after register allocation of kernel bodies (see tests/conformance/time for the split). Copies: exact.
constexpr TimeTable kTables[] = {
    {.target = "v4", .group = CostGroup::v4,
     .slots_per_cycle = {.mxu = 4, .xlu = 2, .valu = 2, .eup = 1, .load = 1, .store = 1, .pop = 1},
     .eup_slots_per_push = 2, .xlu_cycles = 8, .mxu_size = 128, .mxu_slots_per_row = 1, .bf16_is_native = false,
     .lane_reduce = 78.4, .lane_accumulate = 0.602, .sublane_reduce = 55.9, .transpose = 178, .transcendental = 10, .matmul = 180, .matmul_in_order = 0,
     .busiest_unit = 0.924, .second_unit = 0.139, .weight_push = 0.369, .region = 4.66, .step = 0, .window = 26.1,
     // No copy model in libtpu for v4: bandwidth from its roofline (491 GB/s at 1.045 GHz), latencies as v5p.
     .copy_in_latency = 687, .copy_out_latency = 645, .bytes_per_cycle = 470, .copies_measured = false, .issue = 20,
     .body_error_median = 0.034, .body_error_p90 = 0.18, .kernel_error_median = 0, .kernel_error_p90 = 0},
    {.target = "v5e", .group = CostGroup::v5,
     .slots_per_cycle = {.mxu = 4, .xlu = 3, .valu = 4, .eup = 1, .load = 3, .store = 1, .pop = 2},
     .eup_slots_per_push = 1, .xlu_cycles = 8, .mxu_size = 128, .mxu_slots_per_row = 1, .bf16_is_native = false,
     .lane_reduce = 101, .lane_accumulate = 1.52, .sublane_reduce = 55.5, .transpose = 249, .transcendental = 7.3, .matmul = 163, .matmul_in_order = 0.266,
     .busiest_unit = 0.959, .second_unit = 0.0599, .weight_push = 1.31, .region = 22.6, .step = 4.1, .window = 15.6,
     .copy_in_latency = 1141, .copy_out_latency = 447, .bytes_per_cycle = 491, .copies_measured = true, .issue = 9,
     .body_error_median = 0.042, .body_error_p90 = 0.163, .kernel_error_median = 0.009, .kernel_error_p90 = 0.033},
    {.target = "v5p", .group = CostGroup::v5,
     .slots_per_cycle = {.mxu = 4, .xlu = 3, .valu = 4, .eup = 1, .load = 3, .store = 1, .pop = 2},
     .eup_slots_per_push = 1, .xlu_cycles = 8, .mxu_size = 128, .mxu_slots_per_row = 1, .bf16_is_native = false,
     .lane_reduce = 106, .lane_accumulate = 1.44, .sublane_reduce = 56.6, .transpose = 249, .transcendental = 8.98, .matmul = 161, .matmul_in_order = 0.266,
     .busiest_unit = 0.961, .second_unit = 0.0546, .weight_push = 1.31, .region = 31, .step = 0, .window = 26,
     .copy_in_latency = 687, .copy_out_latency = 645, .bytes_per_cycle = 1251, .copies_measured = true, .issue = 20,
     .body_error_median = 0.037, .body_error_p90 = 0.162, .kernel_error_median = 0.014, .kernel_error_p90 = 0.049},
    {.target = "v6e", .group = CostGroup::v6,
     .slots_per_cycle = {.mxu = 2, .xlu = 2, .valu = 4, .eup = 1, .load = 3, .store = 2, .pop = 2},
     .eup_slots_per_push = 1, .xlu_cycles = 4, .mxu_size = 256, .mxu_slots_per_row = 0.5, .bf16_is_native = true,
     .lane_reduce = 125, .lane_accumulate = 1.35, .sublane_reduce = 24.2, .transpose = 107, .transcendental = 8.99, .matmul = 229, .matmul_in_order = 0.661,
     .busiest_unit = 0.883, .second_unit = 0.0691, .weight_push = 1.62, .region = 21.1, .step = 49.4, .window = 12.4,
     .copy_in_latency = 560, .copy_out_latency = 468, .bytes_per_cycle = 776, .copies_measured = true, .issue = 14,
     .body_error_median = 0.045, .body_error_p90 = 0.128, .kernel_error_median = 0.018, .kernel_error_p90 = 0.045},
    {.target = "v7x", .group = CostGroup::v6,
     .slots_per_cycle = {.mxu = 2, .xlu = 2, .valu = 4, .eup = 1, .load = 3, .store = 2, .pop = 2},
     .eup_slots_per_push = 1, .xlu_cycles = 4, .mxu_size = 256, .mxu_slots_per_row = 0.5, .bf16_is_native = true,
     .lane_reduce = 132, .lane_accumulate = 1.31, .sublane_reduce = 23.4, .transpose = 79.8, .transcendental = 0, .matmul = 236, .matmul_in_order = 0.457,
     .busiest_unit = 0.894, .second_unit = 0.169, .weight_push = 1.98, .region = 26.7, .step = 41.5, .window = 14.2,
     .copy_in_latency = 708, .copy_out_latency = 612, .bytes_per_cycle = 1688, .copies_measured = true, .issue = 17,
     .body_error_median = 0.049, .body_error_p90 = 0.144, .kernel_error_median = 0, .kernel_error_p90 = 0},
};

// VALU slots and transcendental pushes of one register: f32 (or i32) per group, bf16 per group (v4 and v5 work on two
// unpacked halves: both halves' slots, one operand's two unpackings and one packing are included).
struct FnRow {
  Fn fn;
  std::array<double, 3> f32_valu;   // v4, v5, v6
  std::array<double, 3> bf16_valu;
  std::array<double, 3> pushes;
};
constexpr FnRow kFns[] = {
    {Fn::add,  {1, 1, 1}, {5, 5, 1}, {0, 0, 0}},
    {Fn::exp,  {2, 2, 2}, {7, 7, 2}, {1, 1, 1}},
    {Fn::exp2, {1, 1, 1}, {5, 5, 1}, {1, 1, 1}},
    {Fn::log,  {2, 2, 2}, {7, 7, 2}, {1, 1, 1}},
    {Fn::log1p, {9, 9, 9}, {21, 21, 9}, {1, 1, 1}},
    {Fn::reciprocal, {13, 13, 1}, {7, 7, 2}, {1, 1, 1}},
    {Fn::approx_reciprocal, {1, 1, 1}, {5, 5, 1}, {1, 1, 1}},
    {Fn::rsqrt, {9, 9, 1}, {5, 5, 1}, {1, 1, 1}},
    {Fn::sqrt, {12, 12, 7}, {27, 27, 7}, {1, 1, 1}},
    {Fn::tanh, {1, 1, 1}, {5, 5, 1}, {1, 1, 1}},
    {Fn::logistic, {16, 16, 4}, {20, 20, 5}, {2, 2, 2}},
    {Fn::erf,  {38, 38, 1}, {79, 79, 1}, {1, 1, 1}},
    {Fn::sin,  {197, 148, 96}, {399, 299, 182}, {0, 0, 2}},
    {Fn::cos,  {197, 148, 96}, {399, 299, 182}, {0, 0, 2}},
    {Fn::tan,  {197, 148, 96}, {399, 299, 182}, {0, 0, 2}},  // not measured; as sin
    {Fn::atan2, {197, 148, 96}, {399, 299, 182}, {0, 0, 2}},  // not measured; as sin
    {Fn::pow,  {50, 54, 14}, {103, 111, 14}, {1, 1, 2}},
    {Fn::abs,  {1, 1, 1}, {1, 1, 1}, {0, 0, 0}},
    {Fn::floor, {11, 1, 1}, {25, 5, 1}, {0, 0, 0}},
    {Fn::ceil, {11, 1, 1}, {25, 5, 1}, {0, 0, 0}},
    {Fn::round, {10, 8, 8}, {23, 19, 19}, {0, 0, 0}},  // v7x: 1
    {Fn::round_even, {10, 8, 8}, {23, 19, 19}, {0, 0, 0}},
};
struct IntRow {
  Fn fn;
  std::array<double, 3> valu;
};
constexpr IntRow kIntFns[] = {
    {Fn::mul, {2, 1, 1}}, {Fn::max, {2, 2, 2}}, {Fn::min, {2, 2, 2}}, {Fn::abs, {3, 3, 2}},
    {Fn::div, {66, 31, 12}}, {Fn::rem, {66, 31, 12}},
};
struct ConvertRow {
  DType from, to;
  std::array<double, 3> valu;  // per register of `from`
};
constexpr ConvertRow kConverts[] = {
    {DType::f32, DType::bf16, {0.5, 0.5, 0.5}}, {DType::bf16, DType::f32, {2, 2, 2}},
    {DType::i8, DType::f32, {12, 8, 8}}, {DType::i8, DType::bf16, {14, 10, 4}}, {DType::i8, DType::i32, {8, 4, 4}},
    {DType::i32, DType::f32, {1, 1, 1}}, {DType::i32, DType::bf16, {1.5, 1.5, 1.5}}, {DType::i32, DType::i8, {7, 0.75, 0.75}},
    {DType::f32, DType::i32, {1, 5, 2}}, {DType::f32, DType::i8, {10, 7.75, 4.75}},
    {DType::bf16, DType::i32, {4, 12, 6}}, {DType::bf16, DType::i8, {22, 17.5, 1.5}},
};
// clang-format on

size_t column(const TimeTable& table) { return static_cast<size_t>(table.group); }

DType signed_of(DType dtype) {
  switch (dtype) {
    case DType::u32:
      return DType::i32;
    case DType::u16:
      return DType::i16;
    case DType::u8:
      return DType::i8;
    default:
      return dtype;
  }
}

}  // namespace

UnitSlots& UnitSlots::operator+=(const UnitSlots& other) {
  mxu += other.mxu;
  xlu += other.xlu;
  valu += other.valu;
  eup += other.eup;
  load += other.load;
  store += other.store;
  pop += other.pop;
  return *this;
}

UnitSlots UnitSlots::operator*(double factor) const {
  return {mxu * factor, xlu * factor, valu * factor, eup * factor, load * factor, store * factor, pop * factor};
}

const TimeTable* time_table(const Target& target) {
  for (const TimeTable& table : kTables)
    if (table.target == target.name) return &table;
  switch (target.generation()) {
    case 2:
    case 3:
      return nullptr;
    case 4:
      return &kTables[0];
    case 5:
      return target[FigureId::cores] > 1 ? &kTables[2] : &kTables[1];
    case 6:
      return &kTables[3];
    default:
      return &kTables[4];
  }
}

FnSlots fn_slots(const TimeTable& table, Fn fn, DType dtype) {
  const size_t c = column(table);
  if (!is_floating(dtype)) {
    for (const IntRow& row : kIntFns)
      if (row.fn == fn) return {row.valu[c], 0};
    return {};
  }
  const bool rounds_in_one = table.target == "v7x" && (fn == Fn::round || fn == Fn::round_even);
  if (rounds_in_one) return {};
  const FnRow* found = &kFns[0];
  for (const FnRow& row : kFns)
    if (row.fn == fn) found = &row;
  if (bits(dtype) != 16) return {found->f32_valu[c], found->pushes[c]};
  // Two halves of the register are pushed on every generation: as two operations, or as one of two cycles.
  return {found->bf16_valu[c], 2 * found->pushes[c]};
}

double convert_slots(const TimeTable& table, DType from, DType to) {
  from = signed_of(from);
  to = signed_of(to);
  if (table.target == "v7x" && from == DType::f32 && to == DType::i8) return 1.75;
  for (const ConvertRow& row : kConverts)
    if (row.from == from && row.to == to) return row.valu[column(table)];
  // Not measured: one slot per register of the wider side.
  const double width = static_cast<double>(std::max(bits(from), bits(to))) / bits(from);
  return std::max(1.0, width);
}

}  // namespace tilecheck::fit
