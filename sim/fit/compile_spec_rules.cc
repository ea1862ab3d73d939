// Rules over a spec: windows and their blocks, scratch, grid, aliases.
#include <algorithm>
#include <numeric>
#include <optional>

#include "sim/fit/compile_rules.h"
#include "sim/fit/compile_table.h"
#include "sim/fit/vmem_blocks.h"

namespace tilecheck::fit {
namespace {

// Index maps are asked at so many grid steps at most.
constexpr int64_t kAskedSteps = 4096;

// Scalar prefetch of which nothing is known: odd numbers, so that an index taken from it is a multiple of nothing.
class UnknownPrefetch final : public PrefetchReader {
 public:
  int64_t read(int operand, const Dims& index) const override {
    int64_t n = operand;
    for (int64_t i : index) n = n * 3 + i;
    return 2 * (n & 0xff) + 1;
  }
};

class SpecRules {
 public:
  SpecRules(const KernelSpec& spec, const Target& target, const CompileOptions& options)
      : spec_(spec), target_(target), options_(options) {}

  std::vector<Finding> run() {
    for (size_t i = 0; i < spec_.in.size(); ++i) window(spec_.in[i], "input " + std::to_string(i));
    for (size_t i = 0; i < spec_.out.size(); ++i) window(spec_.out[i], "output " + std::to_string(i));
    scratch();
    grid();
    aliases();
    return std::move(findings_);
  }

 private:
  Finding& add(Kind kind, std::string message, Loc at = {}) {
    findings_.push_back(Finding::make(kind, std::move(message), at.known() ? at : spec_.at));
    return findings_.back();
  }
  std::string called(const Window& w, const std::string& role) const {
    return w.name.empty() ? role : role + " (" + w.name + ")";
  }

  void window(const Window& w, const std::string& role) {
    if (w.space == Space::semaphore || is_semaphore(w.dtype)) return;
    const std::string what = called(w, role);
    if (target_.generation() < 4 && bits(w.dtype) == 4)
      add(Kind::dtype_unsupported,
          what + " is " + std::string(tilecheck::name(w.dtype)) + ": " + target_.name +
              " has no layout for 4-bit arrays",
          w.at)
          .helps.push_back("pass the values as int8");
    const Shape sizes = w.block_sizes();
    if (!options_.lowered_by_jax) {
      if (!block_ranks(w, what, sizes)) return;
      if (w.buffers > 2)
        add(Kind::unsupported_buffering,
            what + " asks for " + std::to_string(w.buffers) + " buffers; only single (1) and double (2) are supported",
            w.at)
            .helps.push_back("Buffered(2), or a loop of emit_pipeline, which has more");
      block_shape(w, what, sizes);
    }
    if (!w.pipelined()) return;
    element_window(w, what);
    if (w.space == Space::vmem) block_tiling(w, what, sizes);
  }

  // Ranks and sizes that no later rule could make sense of.
  bool block_ranks(const Window& w, const std::string& what, const Shape& sizes) {
    if (sizes.rank() != w.array.rank()) {
      add(Kind::block_shape,
          what + ": the block has " + std::to_string(sizes.rank()) + " dimensions, the array " + to_tuple(w.array) +
              " has " + std::to_string(w.array.rank()),
          w.at)
          .helps.push_back("give the block one entry for each dimension of the array; None (squeezed) drops one");
      return false;
    }
    for (const Shape& shape : {w.array, sizes})
      for (int64_t d : shape)
        if (d <= 0) {
          add(Kind::block_shape, what + ": shape " + to_tuple(shape) + " has a dimension of size " + std::to_string(d),
              w.at)
              .helps.push_back("arrays and blocks need positive sizes; leave the call out when there is nothing to do");
          return false;
        }
    if (w.index) {
      std::array<Index, kMaxRank> step;
      for (int axis = 0; axis < spec_.grid.rank(); ++axis) step[static_cast<size_t>(axis)] = Index::grid(axis, 0);
      const UnknownPrefetch prefetch;
      const Indices indices =
          w.index(std::span(step).first(static_cast<size_t>(spec_.grid.rank())), PrefetchRefs(&prefetch));
      if (indices.rank != sizes.rank()) {
        add(Kind::block_shape,
            what + ": the index map returns " + std::to_string(indices.rank) + " values for a block of " +
                std::to_string(sizes.rank()) + " dimensions",
            w.at)
            .helps.push_back("return one block index per dimension, squeezed ones included");
        return false;
      }
    }
    return true;
  }

  bool is_whole(const Window& w) const {
    if (w.trivial || w.block.empty()) return true;
    const Shape sizes = w.block_sizes();
    if (sizes != w.array) return false;
    return !w.index || w.index.dependence(spec_.grid.rank()) == Dependence{};
  }

  // The (8, 128) rule of JAX's lowering.
  void block_shape(const Window& w, const std::string& what, const Shape& sizes) {
    if (w.space == Space::any || w.space == Space::hbm) {
      if (!is_whole(w))
        add(Kind::memory_space,
            what + " stays in " + std::string(name(w.space)) + " but asks for blocks of " + to_tuple(sizes), w.at)
            .helps.push_back(
                "only the whole array can stay in HBM: drop block and index map and copy slices of it, or let "
                "the window live in VMEM");
      return;
    }
    if (w.space == Space::smem && is_whole(w)) return;
    if (!w.pipelined()) return;
    const int rank = sizes.rank();
    if (rank == 0) {
      add(Kind::block_shape, what + ": a block needs at least one dimension", w.at)
          .helps.push_back("reshape the array to (1,), or pass scalars in SMEM");
      return;
    }
    const int64_t lanes = target_.lanes(), sublanes = target_.sublanes();
    if (rank == 1) {
      const int64_t tile = lanes * packing(w.dtype), chunk = lanes * sublanes;
      const int64_t n = sizes[0];
      if (n == w.array[0] || n % chunk == 0 || (n >= tile && (n & (n - 1)) == 0)) return;
      add(Kind::block_shape,
          what + ": a rank-1 block of " + std::to_string(n) + " " + std::string(tilecheck::name(w.dtype)) +
              " is neither the whole array (" + std::to_string(w.array[0]) + "), nor a multiple of " +
              std::to_string(chunk) + ", nor a power of two of at least " + std::to_string(tile),
          w.at)
          .helps.push_back("use blocks of " + std::to_string(std::max(tile, n / chunk * chunk)) + " elements");
      return;
    }
    const int64_t rows = sizes[rank - 2], columns = sizes[rank - 1];
    const bool rows_fit = rows == w.array[rank - 2] || rows % sublanes == 0;
    const bool columns_fit = columns == w.array[rank - 1] || columns % lanes == 0;
    if (rows_fit && columns_fit) return;
    const bool is_rows = columns_fit;
    const int at = is_rows ? rank - 2 : rank - 1;
    Finding& f =
        add(Kind::block_shape,
            what + ": block " + to_tuple(sizes) + " of array " + to_tuple(w.array) + " has " +
                std::to_string(sizes[at]) + " in dimension " + std::to_string(at) + ", neither a multiple of " +
                std::to_string(is_rows ? sublanes : lanes) + " nor the whole " + std::to_string(w.array[at]),
            w.at);
    const bool squeezed =
        static_cast<size_t>(at) < w.block.size() && w.block[static_cast<size_t>(at)].kind == BlockDim::Kind::squeezed;
    f.helps.push_back(squeezed ? "squeeze a dimension in front of the last two instead"
                               : "round it up to " +
                                     std::to_string((sizes[at] + (is_rows ? sublanes : lanes) - 1) /
                                                    (is_rows ? sublanes : lanes) * (is_rows ? sublanes : lanes)) +
                                     ", or take the whole dimension");
  }

  // Blocks of packed arrays must lie on the tiles of the array in HBM (E2002).
  void block_tiling(const Window& w, const std::string& what, const Shape& sizes) {
    const int rank = sizes.rank();
    const int width = memory_bits(w.dtype);
    if (rank == 0 || w.array.rank() != rank || width >= 32) return;
    const bool is_line = rank == 1;
    if (is_line && target_.generation() >= 4) return;  // JAX's own rule covers these
    const int at = is_line ? 0 : rank - 2;
    const int64_t tile = is_line ? line_tile(width, target_) : row_tile(width, w.array[at], target_);
    if (!is_line && tile <= 8) return;
    if (sizes[at] == w.array[at] || sizes[at] % tile == 0) return;
    add(Kind::block_shape,
        what + ": array " + to_tuple(w.array) + " of " + std::string(tilecheck::name(w.dtype)) +
            " lies in HBM in tiles of " + std::to_string(tile) + (is_line ? " elements" : " rows") +
            ", which a block of " + std::to_string(sizes[at]) + " does not divide into (E2002)",
        w.at)
        .helps.push_back("make the block's dimension " + std::to_string(at) + " a multiple of " + std::to_string(tile) +
                         ", or the whole " + std::to_string(w.array[at]));
  }

  void element_window(const Window& w, const std::string& what) {
    bool has_element = false;
    for (const BlockDim& d : w.block) {
      has_element |= d.kind == BlockDim::Kind::element;
      if (d.kind == BlockDim::Kind::element && d.pad_lo > 0) {
        add(Kind::unsupported_window,
            what + ": padding before the array (" + std::to_string(d.pad_lo) + ") is not supported", w.at)
            .helps.push_back("pad the array outside the kernel, or shift the index and mask in the body");
        return;
      }
    }
    if (!has_element || !w.index) return;
    // The compiler must prove that an index in elements is a multiple of the tile.
    const int rank = static_cast<int>(w.block.size());
    for (int at = std::max(0, rank - 2); at < rank; ++at) {
      if (w.block[static_cast<size_t>(at)].kind != BlockDim::Kind::element) continue;
      const int64_t tile = at == rank - 1 ? target_.lanes() : row_tile(memory_bits(w.dtype), w.array[at], target_);
      const int64_t divisor = index_divisor(w, at);
      if (divisor % tile == 0) continue;
      add(Kind::unaligned_slice,
          what + ": the index map's dimension " + std::to_string(at) + " cannot be proved a multiple of the tile (" +
              std::to_string(tile) + ")",
          w.at)
          .helps.push_back("step the element index by multiples of " + std::to_string(tile));
      return;
    }
  }

  // The largest number that divides the map's index in `dimension` at the steps asked; 0: it is always 0.
  int64_t index_divisor(const Window& w, int dimension) const {
    int64_t steps = 1;
    for (int64_t g : spec_.grid) {
      if (g <= 0) return 0;
      steps = std::min(kAskedSteps, steps * std::min(g, kAskedSteps));
    }
    const UnknownPrefetch prefetch;
    int64_t divisor = 0;
    for (int64_t k = 0; k < steps; ++k) {
      std::array<Index, kMaxRank> step;
      int64_t rest = k;
      for (int axis = spec_.grid.rank() - 1; axis >= 0; --axis) {
        step[static_cast<size_t>(axis)] = Index::grid(axis, rest % spec_.grid[axis]);
        rest /= spec_.grid[axis];
      }
      const Indices indices =
          w.index(std::span(step).first(static_cast<size_t>(spec_.grid.rank())), PrefetchRefs(&prefetch));
      if (dimension < indices.rank) divisor = std::gcd(divisor, indices.values[static_cast<size_t>(dimension)].value());
    }
    return divisor;
  }

  void scratch() {
    for (const Scratch& s : spec_.scratch) {
      if (s.space != Space::any) continue;
      add(Kind::memory_space,
          "scratch " + s.name + " " + to_tuple(s.shape) + " names no memory: its space cannot be inferred")
          .helps.push_back("say VMEM, SMEM or HBM");
    }
    if (spec_.internal_scratch_bytes) {
      const int64_t rounded = (*spec_.internal_scratch_bytes + kInternalScratchGranule - 1) / kInternalScratchGranule *
                              kInternalScratchGranule;
      if (rounded < kInternalScratchMinBytes)
        add(Kind::internal_scratch, "internal scratch of " + std::to_string(*spec_.internal_scratch_bytes) +
                                        " bytes is less than the compiler's minimum of " +
                                        std::to_string(kInternalScratchMinBytes))
            .helps.push_back("leave internal_scratch_in_bytes out, or ask for at least " +
                             std::to_string(kInternalScratchMinBytes));
    }
  }

  void grid() {
    if (!options_.lowered_by_jax && !spec_.semantics.empty() &&
        static_cast<int>(spec_.semantics.size()) != spec_.grid.rank())
      add(Kind::dimension_semantics, std::to_string(spec_.semantics.size()) + " dimension semantics for a grid of " +
                                         std::to_string(spec_.grid.rank()) + " dimensions")
          .helps.push_back("give one for each grid dimension, or none");
    const int64_t cores = core_parallel_cores(target_);
    for (size_t axis = 0; axis < spec_.semantics.size(); ++axis) {
      if (spec_.semantics[axis] != Semantics::core_parallel || static_cast<int>(axis) >= spec_.grid.rank()) continue;
      const int64_t extent = spec_.grid[static_cast<int>(axis)];
      if (extent < 0 || extent == cores) continue;
      add(Kind::dimension_semantics, "core_parallel dimension " + std::to_string(axis) + " has " +
                                         std::to_string(extent) + " steps; " + target_.name + " runs a kernel on " +
                                         std::to_string(cores) + (cores == 1 ? " core" : " cores"))
          .helps.push_back("make its extent the number of cores, or use `parallel`");
    }
  }

  void aliases() {
    if (options_.lowered_by_jax) return;
    for (const Alias& alias : spec_.aliases) {
      if (alias.input < 0 || alias.output < 0 || static_cast<size_t>(alias.input) >= spec_.in.size() ||
          static_cast<size_t>(alias.output) >= spec_.out.size())
        continue;  // validate() has said so
      const Window& in = spec_.in[static_cast<size_t>(alias.input)];
      const Window& out = spec_.out[static_cast<size_t>(alias.output)];
      if (in.dtype == out.dtype && in.array == out.array) continue;
      const auto text = [](const Window& w) {
        return std::string(tilecheck::name(w.dtype)) + "[" + to_string(w.array) + "]";
      };
      add(Kind::alias_mismatch,
          "input " + std::to_string(alias.input) + " is " + text(in) + " but output " + std::to_string(alias.output) +
              ", which shares its memory, is " + text(out),
          out.at)
          .helps.push_back("an aliased pair needs one shape and one type");
    }
  }

  const KernelSpec& spec_;
  const Target& target_;
  CompileOptions options_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> check_spec(const KernelSpec& spec, const Target& target, const CompileOptions& options) {
  return SpecRules(spec, target, options).run();
}

}  // namespace tilecheck::fit
