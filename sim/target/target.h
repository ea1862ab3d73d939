// The chip generations Tilecheck knows: memories, limits, tile shapes, rates, each figure with its source.
//
// All figures are of one TensorCore, which is what one kernel instance runs on. The table is in table.cc.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/types/dtype.h"

namespace tilecheck {

// Every figure of a target. kFigures describes them; Target holds a value and a source for each.
enum class FigureId : uint8_t {
  generation,                // 2..7: what rules that changed with a generation ask for
  cores,                     // TensorCores of a chip
  vmem_bytes,                // the largest single allocation, as libtpu's message has it
  vmem_usable_bytes,         // the largest need that compiles, whatever vmem_limit_bytes says
  vmem_default_limit_bytes,  // scoped VMEM limit of a kernel that sets none
  smem_bytes,
  smem_reserved_bytes,       // of smem_bytes, kept by the compiler
  semaphore_memory_bytes,    // "sflag"
  semaphore_bytes,           // of one semaphore
  semaphore_reserved_bytes,  // of semaphore_memory_bytes, kept by the compiler
  lanes,
  sublanes,
  vector_registers,
  spill_free_registers,  // values of one vector register each that stay live across a barrier without a spill
  mxu_size,              // rows and columns of one matrix unit
  mxus,
  clock_hz,
  hbm_bytes,
  hbm_bytes_per_second,
  matmul_bf16_per_second,  // operations, a multiply-add is two; f32 at default precision runs at this rate too
  matmul_int8_per_second,  // 0: no faster path, or not supported (see matmul_types)
  matmul_fp8_per_second,
  matmul_int4_per_second,
};
inline constexpr int kFigureCount = static_cast<int>(FigureId::matmul_int4_per_second) + 1;

enum class Unit : uint8_t { count, bytes, hertz, bytes_per_second, operations_per_second };

struct FigureInfo {
  std::string_view name;  // the key in a target file: "vmem_usable_bytes"
  Unit unit;
  int64_t min, max;  // outside: absurd, refused in a target file
  std::string_view meaning;
};
const FigureInfo& info(FigureId id);

struct Figure {
  int64_t value = 0;
  std::string source;       // where the value comes from
  std::string disagreeing;  // another source's other value, and which; empty when sources agree or there is one
};

struct Target {
  std::string name;                       // "v5e"
  std::vector<std::string> device_kinds;  // JAX's: "TPU v5 lite", "TPU v5e"; other names it goes by follow
  std::array<Figure, kFigureCount> figures;
  std::vector<DType> matmul_types;         // operand types for which the compiler accepts a matmul (both of one type)
  std::vector<DType> native_matmul_types;  // those of them that run without a conversion
  std::string matmul_source;

  const Figure& figure(FigureId id) const { return figures[static_cast<size_t>(id)]; }
  int64_t operator[](FigureId id) const { return figure(id).value; }

  int generation() const { return static_cast<int>((*this)[FigureId::generation]); }
  int64_t lanes() const { return (*this)[FigureId::lanes]; }
  int64_t sublanes() const { return (*this)[FigureId::sublanes]; }
  int64_t vector_register_bytes() const { return lanes() * sublanes() * 4; }
  bool accepts_matmul(DType type) const;
};

// v2, v3, v4, v5e, v5p, v6e, v7x, in this order.
std::span<const Target> targets();

// By name ("v5e") or any JAX device-kind string ("TPU v5 lite"), exactly. InputError with the nearest name otherwise.
const Target& target_named(std::string_view name);

// "all", or names parted by commas.
std::vector<Target> targets_named(std::string_view list);

// A target from a JSON file: {"name": "my-chip", "based_on": "v6e", "vmem_usable_bytes": 201326592, "matmul_types":
// ["f32", "bf16"], ...}. Without "based_on" every figure must be there. InputError names a missing, unknown or absurd
// one. `source` in the file replaces the default source text ("FILE").
Target read_target(const std::string& path);
Target parse_target(std::string_view json_text, const std::string& where);

// The table as `tilecheck targets` prints it, sources as numbered notes; and as JSON text.
std::string targets_text(std::span<const Target> list);
std::string targets_json(std::span<const Target> list);

// The entry of `names` that takes the fewest insertions and deletions; empty when all are far. For messages.
std::string nearest_name(std::string_view name, std::span<const std::string> names);

}  // namespace tilecheck
