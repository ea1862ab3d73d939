// KernelSpec: what a kernel is made of, without memory or threads. Both doors fill one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/report/loc.h"
#include "sim/spec/index_map.h"
#include "sim/types/dtype.h"
#include "sim/types/shape.h"

namespace tilecheck {

enum class Space : uint8_t { any, vmem, smem, hbm, cmem, semaphore, vmem_shared, host };
std::string_view name(Space space);  // "VMEM", ...

// One dimension of a window's block.
struct BlockDim {
  enum class Kind : uint8_t {
    blocked,   // starts at index * size
    squeezed,  // size 1, hidden from the body's Ref; index counts elements
    element,   // starts at index (in elements) - pad_lo; what lies outside the array is undefined
  };
  int64_t size = 1;
  Kind kind = Kind::blocked;
  int64_t pad_lo = 0, pad_hi = 0;  // element only

  BlockDim() = default;
  BlockDim(int64_t size_) : size(size_) {}  // NOLINT(google-explicit-constructor): block shapes read {128, 256}
  static BlockDim squeezed() {
    BlockDim d;
    d.kind = Kind::squeezed;
    return d;
  }
  static BlockDim element(int64_t size, int64_t pad_lo = 0, int64_t pad_hi = 0) {
    BlockDim d(size);
    d.kind = Kind::element;
    d.pad_lo = pad_lo;
    d.pad_hi = pad_hi;
    return d;
  }
};
using BlockShape = std::vector<BlockDim>;

enum class Revisit : uint8_t { immediate, any };

// An operand or result of the kernel and how its blocks reach the body.
struct Window {
  std::string name;
  DType dtype = DType::f32;
  Shape array;
  BlockShape block;           // empty: the body sees the whole array (and, in VMEM or SMEM, one copy of it)
  IndexMap index;             // grid coordinates (and scalar prefetch) -> block index; unset: all zeros
  Space space = Space::vmem;  // any, hbm: not copied, the body gets the array itself
  int buffers = 0;            // 0: as the pipeline chooses (two, or one: see slot_count); 1, 2: asked for
  Revisit revisit = Revisit::immediate;
  bool trivial = false;   // the block is the whole array at index 0 (a payload's window without index map)
  bool resident = false;  // VMEM or SMEM: the array itself lies there, before and after the kernel too; not copied
  Loc at;

  bool pipelined() const { return !resident && (space == Space::vmem || space == Space::smem); }
  Shape block_sizes() const;  // sizes as the array's rank has them; the array's own shape when `block` is empty
  Shape shown_shape() const;  // what the body's Ref shows: squeezed dimensions dropped
};

// Memory that lives for the whole kernel. Semaphores: dtype semaphore or dma_semaphore, space semaphore.
struct Scratch {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  Space space = Space::vmem;
};

enum class Semantics : uint8_t { parallel, arbitrary, core_parallel, subcore_parallel };
std::string_view name(Semantics semantics);

// Result `output` and operand `input` (an index into `in`, or into scalar prefetch + in when counts_prefetch) are one
// buffer.
struct Alias {
  int input = 0;
  int output = 0;
};

// A scalar-prefetch operand: an array in SMEM, there before the first index map runs.
struct Prefetch {
  std::string name;
  DType dtype = DType::i32;
  Shape shape;
};

struct CostEstimate {
  int64_t flops = 0, transcendentals = 0, bytes_accessed = 0, remote_bytes = 0;
};

struct KernelSpec {
  std::string name;
  Dims grid;                         // extents; empty: one step without a grid
  std::vector<Semantics> semantics;  // per grid axis; empty: all arbitrary
  std::vector<Prefetch> prefetch;
  std::vector<Window> in, out;
  std::vector<Scratch> scratch;
  std::vector<Alias> aliases;
  std::optional<int64_t> vmem_limit_bytes;
  std::optional<int64_t> internal_scratch_bytes;
  std::optional<CostEstimate> cost;
  std::optional<int32_t> collective_id;  // names the barrier semaphore
  bool has_communication = false;        // remote copies or signals, or a barrier
  bool skip_device_barrier = false;
  bool disable_bounds_checks = false;
  bool disable_semaphore_checks = false;
  Loc at;

  int64_t step_count() const;  // product of the grid
};

// Throws InputError naming the field: ranks that do not match, zero or negative blocks, a grid whose product overflows,
// aliases of different type or shape, ... Needs no target; the target's own rules are findings of the fit model.
void validate(const KernelSpec& spec);

// How many VMEM slots a window has, and why ("index map uses i1", "no grid", "asked for by Buffered(1)", ...).
struct SlotCount {
  int slots;
  std::string reason;
};
SlotCount slot_count(const KernelSpec& spec, const Window& window);

}  // namespace tilecheck
