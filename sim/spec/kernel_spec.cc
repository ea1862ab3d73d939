#include "sim/spec/kernel_spec.h"

#include "sim/types/error.h"

namespace tilecheck {

std::string_view name(Space space) {
  switch (space) {
    case Space::any:
      return "ANY";
    case Space::vmem:
      return "VMEM";
    case Space::smem:
      return "SMEM";
    case Space::hbm:
      return "HBM";
    case Space::cmem:
      return "CMEM";
    case Space::semaphore:
      return "SEMAPHORE";
    case Space::vmem_shared:
      return "VMEM_SHARED";
    case Space::host:
      return "HOST";
  }
  return "?";
}

std::string_view name(Semantics semantics) {
  switch (semantics) {
    case Semantics::parallel:
      return "parallel";
    case Semantics::arbitrary:
      return "arbitrary";
    case Semantics::core_parallel:
      return "core_parallel";
    case Semantics::subcore_parallel:
      return "subcore_parallel";
  }
  return "?";
}

Shape Window::block_sizes() const {
  if (block.empty()) return array;
  Shape sizes;
  for (const BlockDim& d : block) sizes.push_back(d.size);
  return sizes;
}

Shape Window::shown_shape() const {
  if (block.empty() || !pipelined()) return array;
  Shape shown;
  for (const BlockDim& d : block)
    if (d.kind != BlockDim::Kind::squeezed) shown.push_back(d.size);
  return shown;
}

int64_t KernelSpec::step_count() const {
  int64_t n = 1;
  for (int64_t g : grid) n *= g;
  return n;
}

namespace {

std::string where(const KernelSpec& spec, const std::string& part) {
  return "kernel " + (spec.name.empty() ? std::string("(unnamed)") : spec.name) + ", " + part;
}

void validate_window(const KernelSpec& spec, const Window& w, const std::string& part) {
  const std::string at = where(spec, part + " '" + w.name + "'");
  if (w.dtype != DType::semaphore && w.dtype != DType::dma_semaphore &&
      checked_element_count(w.array, storage_bytes(w.dtype)) < 0)
    throw InputError(at, "array shape " + to_tuple(w.array) + " is negative or overflows 64 bits");
  if (!w.block.empty()) {
    if (static_cast<int>(w.block.size()) != w.array.rank())
      throw InputError(at, "the block has " + std::to_string(w.block.size()) + " dimensions, the array " +
                               std::to_string(w.array.rank()));
    int64_t elements = 1;
    for (size_t i = 0; i < w.block.size(); ++i) {
      const BlockDim& d = w.block[i];
      if (d.size <= 0)
        throw InputError(
            at, "block dimension " + std::to_string(i) + " is " + std::to_string(d.size) + "; it must be at least 1");
      if (d.pad_lo < 0 || d.pad_hi < 0) throw InputError(at, "negative padding in dimension " + std::to_string(i));
      if (__builtin_mul_overflow(elements, d.size, &elements) || elements > (int64_t{1} << 48))
        throw InputError(at, "the block's size overflows");
    }
  }
  if (w.buffers < 0) throw InputError(at, "buffer count " + std::to_string(w.buffers) + " is negative");
  if (w.resident && ((w.space != Space::vmem && w.space != Space::smem) || !w.block.empty()))
    throw InputError(at, "only a whole array in VMEM or SMEM is resident");
}

}  // namespace

void validate(const KernelSpec& spec) {
  if (spec.grid.rank() > kMaxRank - 1)
    throw InputError(where(spec, "grid"), "at most " + std::to_string(kMaxRank - 1) + " axes are supported");
  int64_t steps = 1;
  for (int i = 0; i < spec.grid.rank(); ++i) {
    if (spec.grid[i] < 0)
      throw InputError(where(spec, "grid"), "axis " + std::to_string(i) + " is " + std::to_string(spec.grid[i]) +
                                                "; extents must not be negative");
    if (__builtin_mul_overflow(steps, std::max<int64_t>(spec.grid[i], 1), &steps))
      throw InputError(where(spec, "grid"), "the number of steps overflows 64 bits: " + to_tuple(spec.grid));
  }
  if (!spec.semantics.empty() && static_cast<int>(spec.semantics.size()) != spec.grid.rank())
    throw InputError(
        where(spec, "dimension semantics"),
        std::to_string(spec.semantics.size()) + " entries for a grid of rank " + std::to_string(spec.grid.rank()));
  for (const Window& w : spec.in) validate_window(spec, w, "input");
  for (const Window& w : spec.out) validate_window(spec, w, "output");
  for (const Prefetch& p : spec.prefetch)
    if (checked_element_count(p.shape, storage_bytes(p.dtype)) < 0)
      throw InputError(where(spec, "scalar prefetch '" + p.name + "'"), "shape " + to_tuple(p.shape) + " overflows");
  for (const Scratch& s : spec.scratch) {
    if (checked_element_count(s.shape, storage_bytes(s.dtype)) < 0)
      throw InputError(where(spec, "scratch '" + s.name + "'"),
                       "shape " + to_tuple(s.shape) + " is negative or overflows");
    if (is_semaphore(s.dtype) != (s.space == Space::semaphore))
      throw InputError(where(spec, "scratch '" + s.name + "'"),
                       "semaphores live in semaphore memory, and only they do");
  }
  for (const Alias& a : spec.aliases) {
    if (a.input < 0 || a.input >= static_cast<int>(spec.in.size()) || a.output < 0 ||
        a.output >= static_cast<int>(spec.out.size()))
      throw InputError(where(spec, "alias"), "input " + std::to_string(a.input) + " and output " +
                                                 std::to_string(a.output) + " do not both exist");
    const Window& in = spec.in[static_cast<size_t>(a.input)];
    const Window& out = spec.out[static_cast<size_t>(a.output)];
    if (in.dtype != out.dtype || !(in.array == out.array))
      throw InputError(where(spec, "alias"), "input '" + in.name + "' is " + std::string(name(in.dtype)) +
                                                 to_tuple(in.array) + ", output '" + out.name + "' " +
                                                 std::string(name(out.dtype)) + to_tuple(out.array) +
                                                 "; they must be equal");
  }
}

}  // namespace tilecheck
