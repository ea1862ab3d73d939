// The texts of the kind table. Facts about the chip: JAX's Pallas TPU documentation and what libtpu 0.0.42 reports.
#include "sim/report/kinds.h"

#include <array>
#include <cassert>

namespace tilecheck {
namespace {

constexpr auto kError = Severity::error;
constexpr auto kWarning = Severity::warning;
constexpr auto kNote = Severity::note;

constexpr std::array<KindInfo, kKindCount> kKinds = {{
    // ---- Capacity and compile-time rules.
    {Kind::vmem_overflow, "vmem-overflow", kError, false,
     "the kernel's blocks, scratch and spilled registers need more VMEM than it may use",
     "Everything a kernel holds in fast memory is placed before it runs: each pipelined window once per slot (two "
     "slots "
     "when its index map moves with the grid), scratch, and the registers the compiler spills. The sum must stay below "
     "the scoped limit (16 MiB on v5e unless vmem_limit_bytes says otherwise), else the compiler refuses the kernel.",
     "Shrink the block that takes the most, give windows whose copies need not overlap one slot (Buffered(1)), or "
     "raise "
     "vmem_limit_bytes where the chip has more."},
    {Kind::smem_overflow, "smem-overflow", kError, false,
     "scalar prefetch, SMEM windows and SMEM scratch need more scalar memory than the core has",
     "SMEM holds the scalars that steer a kernel and is small (1 MiB on v5e, part of it the compiler's). A vector of "
     "indices per grid step soon fills it: arrays in SMEM are padded too.",
     "Prefetch only what index maps read, move large tables to HBM or VMEM, or split the call."},
    {Kind::block_shape, "block-shape", kError, false,
     "a block's last two dimensions are neither multiples of the tile nor the whole array dimension",
     "The core works on tiles of 8 sublanes by 128 lanes of 32 bits. A block whose last dimension is no multiple of "
     "128, "
     "or whose second last is no multiple of 8, would begin in the middle of a tile, which the copy engine cannot "
     "address, unless the block spans the array there.",
     "Round the block to a multiple of (8, 128), or take the whole dimension."},
    {Kind::unaligned_slice, "unaligned-slice", kError, false,
     "a slice starts or ends inside a tile, or its start cannot be proved aligned",
     "Dynamic slices and DMAs move whole tiles. The compiler must prove that the start of a slice is a multiple of the "
     "tile; what it cannot prove it refuses.",
     "Slice at multiples of the tile, tell the compiler with a multiple_of hint, or move the sliced dimension in front "
     "of the last two."},
    {Kind::memory_space, "memory-space", kError, true, "an access that this memory space does not allow",
     "The vector unit reads VMEM, the scalar unit reads SMEM, and HBM is reached by DMA alone. A load from HBM has no "
     "instruction, and a vector access to SMEM none either.",
     "Copy HBM data to VMEM first, let a window bring it, or give the operand the space the access needs."},
    {Kind::dtype_unsupported, "dtype-unsupported", kError, false,
     "an element type that this operation or this chip generation does not have",
     "Registers and the matrix unit know fixed element types, and they differ by generation: fp8 matmul, int4 and bf16 "
     "vector arithmetic are not everywhere.",
     "Convert to a supported type first, or pick a generation that has the type (see `tilecheck targets`)."},
    {Kind::operation_unsupported, "operation-unsupported", kError, false,
     "an operation that the compiler does not implement in this form",
     "Some shapes, layouts and reductions have no lowering on the vector unit; the compiler refuses them.",
     "Write it with supported operations: work on the last two dimensions, keep the reduced dimension, or convert "
     "first."},
    {Kind::unsupported_buffering, "unsupported-buffering", kError, false,
     "a buffer count that the compiler does not support for this window",
     "A pallas_call pipeline has two slots per window or one. More slots exist only inside emit_pipeline.",
     "Use Buffered(1) or Buffered(2), or move the loop into emit_pipeline."},
    {Kind::unsupported_window, "unsupported-window", kError, false, "a window that the compiler does not support",
     "Not every combination of block dimensions, padding and memory space has a copy that the pipeline can make.",
     "Use a blocked window of whole tiles, or keep the array in HBM and copy by hand."},
    {Kind::dimension_semantics, "dimension-semantics", kError, false, "the grid's dimension semantics are not valid",
     "There must be one semantics per grid axis, parallel axes must come first where cores share the grid, and an axis "
     "that carries state from step to step may not be parallel.",
     "Give one of parallel or arbitrary per axis; make every axis that accumulates arbitrary."},
    {Kind::internal_scratch, "internal-scratch", kError, false,
     "the compiler's own scratch does not fit beside the kernel",
     "Some operations (transposes, relayouts, strided copies) make the compiler set memory aside in VMEM.",
     "Shrink the blocks, raise internal_scratch_in_bytes, or avoid the relayout."},
    {Kind::semaphore_misuse, "semaphore-misuse", kError, false,
     "a semaphore used in a way that its type does not allow",
     "DMA semaphores count bytes and only copies move them; regular semaphores count signals. Mixing them up leaves a "
     "count that no wait matches.",
     "Wait for copies on DMA semaphores; signal and wait on regular ones."},
    {Kind::alias_mismatch, "alias-mismatch", kError, false, "an aliased operand and result differ in shape or type",
     "An alias makes one buffer of the two, so they must have the same shape and element type.",
     "Give both the same shape and type, or drop the alias."},
    {Kind::type_mismatch, "type-mismatch", kError, false, "shapes or types of operation and operands do not match",
     "Each operation fixes how its operand and result types relate; a module that breaks this does not compile.",
     "Convert or broadcast explicitly."},
    // ---- Memory.
    {Kind::out_of_bounds_read, "out-of-bounds-read", kError, true, "a read reaches outside its array",
     "The chip does not trap: it returns whatever bytes lie there, or stops with a bounds check when that is on. An "
     "interpreter that clamps the index hides the bug.",
     "Clamp or mask the index where the array ends."},
    {Kind::out_of_bounds_write, "out-of-bounds-write", kError, true, "a write reaches outside its array",
     "The chip does not trap: the write lands on a neighbour's bytes and shows up later, elsewhere.",
     "Clamp or mask the index where the array ends."},
    {Kind::out_of_bounds_block, "out-of-bounds-block", kError, true,
     "an index map names a block that lies wholly outside the array",
     "The copy engine would fetch or overwrite memory that belongs to something else. Blocks that stick out partly are "
     "fine: only what exists is moved.",
     "Index maps return block indices, not element offsets; check the grid's size against the number of blocks."},
    {Kind::undefined_use, "undefined-use", kError, true,
     "a branch, address, size or count was computed from memory nobody wrote",
     "Fresh VMEM and SMEM hold what the last kernel left. On a chip the branch goes one way today and another "
     "tomorrow.",
     "Initialise the memory first, usually in the first grid step."},
    {Kind::undefined_output, "undefined-output", kWarning, false,
     "part of a result is undefined: never written, or computed from memory nobody wrote",
     "Output buffers are not zeroed. What a kernel does not write is whatever the memory held: on a real TPU often the "
     "block of two steps ago, since output windows alternate between two slots.",
     "Write every element of each output block, and initialise accumulators before the first use."},
    {Kind::output_revisited, "output-revisited", kError, false, "an output block is left and later entered again",
     "The pipeline writes a block back when the index map leaves it and does not read it again: the second visit "
     "starts "
     "from stale or undefined bytes and overwrites the first.",
     "Order the grid so that all visits of one output block follow each other: the reduction axis innermost."},
    {Kind::parallel_order_dependent, "parallel-order-dependent", kWarning, false,
     "the result depends on the order of grid steps that are declared parallel",
     "Parallel axes may run in any order and be split over cores, each with its own VMEM.",
     "Make the axis arbitrary, or give each parallel coordinate its own output block."},
    {Kind::index_map_reads_written_smem, "index-map-reads-written-smem", kWarning, false,
     "an index map reads scalar memory that the body writes",
     "Step s+1's index maps run before the body of step s, since the pipeline fetches ahead. They see the old value.",
     "Compute what index maps read before the call, or copy by hand."},
    {Kind::use_after_scope, "use-after-scope", kError, true, "memory is used after its scope has ended",
     "Scoped allocations are reused as soon as the scope ends: the access reads or destroys another buffer's bytes.",
     "Wait for copies before the scope ends, and keep its Refs inside."},
    // ---- Ordering.
    {Kind::race, "race", kError, false, "two accesses to the same bytes, at least one a write, and nothing orders them",
     "Copies run beside the core. Until a wait that guarantees the copy's end, its bytes may move at any time, so "
     "either "
     "order can happen, differently on every run.",
     "Wait on the copy's semaphore before the other access; one semaphore per slot, so that a wait can tell copies "
     "apart."},
    {Kind::deadlock, "deadlock", kError, true, "nothing can run any more: every agent waits",
     "A wait on the chip has no timeout: the program hangs until the host gives up.",
     "Look at each waiter below: signal what it needs, or wait for less."},
    {Kind::dma_not_awaited, "dma-not-awaited", kError, false, "a copy was started and never waited for",
     "When the kernel ends its memory is given to others while the copy still moves bytes, and the semaphore keeps a "
     "count that breaks the next kernel.",
     "Wait for every copy before the kernel, or the scope that holds its memory, ends."},
    {Kind::semaphore_not_drained, "semaphore-not-drained", kError, false, "a semaphore is not zero when its life ends",
     "Semaphores are reused: the next kernel's first wait would pass too early. libtpu halts the chip when it finds "
     "one.",
     "Wait for exactly as much as was signalled."},
    {Kind::semaphore_overflow, "semaphore-overflow", kError, false,
     "more semaphores than the core has memory for, or a count beyond its range",
     "Semaphore memory is small, and an array of semaphores takes one word each; a count that wraps loses signals.",
     "Use fewer semaphores, or wait before signalling more."},
    {Kind::wait_without_start, "wait-without-start", kError, true, "a wait for a copy that nothing can have started",
     "The wait blocks for ever on the chip.", "Start the copy before waiting, on the same semaphore."},
    {Kind::relies_on_message_order, "relies-on-message-order", kWarning, false,
     "the kernel is right only if remote copies between two cores arrive in order",
     "Nothing documents that order; JAX's documentation calls a receive semaphore shared by two messages unsafe.",
     "One receive semaphore per message in flight. --remote-order none makes this a race."},
    {Kind::collective_mismatch, "collective-mismatch", kError, true,
     "devices disagree about a collective: its barrier, its ids or its partners",
     "Devices that enter different collectives wait for each other for ever, or write into each other's memory.",
     "Give every device the same collective id and the mirrored neighbour."},
    {Kind::dma_serialized, "dma-serialized", kNote, false,
     "a copy is started and waited for at once, so nothing runs while it moves",
     "The point of an asynchronous copy is to work while it moves; here the core idles for the whole copy.",
     "Start the copy of the next block before working on this one (two slots)."},
    // ---- Results.
    {Kind::result_mismatch, "result-mismatch", kError, false, "a result differs from its reference",
     "The kernel computes something else than its reference, beyond what rounding in its own types explains.",
     "Look at the worst element, and at the grid step and window that wrote it."},
    {Kind::non_finite, "non-finite", kError, false, "a result has NaN or infinity where its reference has none",
     "An overflow, 0/0, or exp of a value that was never masked has reached the output.",
     "Mask before exp and division, subtract the running maximum, and keep accumulators in f32."},
    {Kind::nothing_compared, "nothing-compared", kError, false,
     "a comparison had nothing to compare: no elements, or only zeros on both sides",
     "An empty or all-zero comparison passes for every wrong kernel too.",
     "Give inputs that exercise the kernel (--fill random), and a reference with values in it."},
}};

constexpr bool in_order() {
  for (int i = 0; i < kKindCount; ++i)
    if (static_cast<int>(kKinds[static_cast<size_t>(i)].kind) != i) return false;
  return true;
}
static_assert(in_order(), "kKinds has one row per Kind, in the enum's order");

}  // namespace

std::string_view name(Severity severity) {
  switch (severity) {
    case Severity::note:
      return "note";
    case Severity::warning:
      return "warning";
    case Severity::error:
      return "error";
  }
  return "";
}

const KindInfo& info(Kind kind) { return kKinds[static_cast<size_t>(kind)]; }

std::span<const KindInfo> all_kinds() { return kKinds; }

std::optional<Kind> parse_kind(std::string_view text) {
  for (const KindInfo& k : kKinds)
    if (k.name == text) return k.kind;
  return std::nullopt;
}

}  // namespace tilecheck
