// Rules over a body's operations: accesses, copies, semaphores, and the forms of vector operations.
#include <algorithm>
#include <bit>
#include <numeric>

#include "sim/fit/compile_facts.h"
#include "sim/fit/compile_rules.h"
#include "sim/fit/compile_table.h"
#include "sim/fit/compile_types.h"
#include "sim/fit/vmem_blocks.h"

namespace tilecheck::fit {
namespace {

bool is_hbm(Space space) { return space == Space::any || space == Space::hbm; }

std::string count_of(int64_t n, const std::string& unit) {
  return std::to_string(n) + " " + unit + (n == 1 ? "" : "s");
}

class BodyRules {
 public:
  BodyRules(const KernelSpec& spec, const Body& body, const Target& target, const CompileOptions& options)
      : spec_(spec), body_(body), target_(target), options_(options), facts_(body) {}

  std::vector<Finding> run() {
    block(body_.top);
    barrier();
    return std::move(findings_);
  }

 private:
  void add(Kind kind, const Op& op, std::string message, std::string help) {
    const Loc at = op.at.known() ? op.at : spec_.at;
    for (Finding& f : findings_)
      if (f.kind == kind && f.at == at && f.message == message) {
        ++f.repeats;
        return;
      }
    Finding f = Finding::make(kind, std::move(message), at);
    if (!help.empty()) f.helps.push_back(std::move(help));
    findings_.push_back(std::move(f));
  }
  void add(const Op& op, std::optional<Refusal> refusal) {
    if (refusal) add(refusal->kind, op, std::move(refusal->message), std::move(refusal->help));
  }
  const TileType& type(ValueId v) const { return type_of(body_, v); }
  const RefInfo& info(RefId ref) const { return body_.refs[static_cast<size_t>(ref)]; }
  std::string ref_name(RefId ref) const {
    const RefInfo& root = info(root_of(body_, ref));
    const size_t i = static_cast<size_t>(std::max(0, root.root_index));
    std::string name;
    switch (root.root) {
      case RefRoot::window:
        name = i < spec_.in.size()                      ? spec_.in[i].name
               : i < spec_.in.size() + spec_.out.size() ? spec_.out[i - spec_.in.size()].name
                                                        : "";
        if (name.empty()) name = "window " + std::to_string(i);
        return name;
      case RefRoot::scratch:
        name = i < spec_.scratch.size() ? spec_.scratch[i].name : "";
        return name.empty() ? "scratch " + std::to_string(i) : name;
      case RefRoot::prefetch:
        name = i < spec_.prefetch.size() ? spec_.prefetch[i].name : "";
        return name.empty() ? "prefetch " + std::to_string(i) : name;
      default:
        return std::string(tilecheck::name(root.dtype)) + "[" + to_string(root.shape) + "]";
    }
  }

  void block(const Block& b) {
    for (const Op& op : b.ops) {
      operation(op);
      if (op.kind == OpKind::branch) {  // what never runs is not compiled
        const std::optional<int64_t> condition = facts_.constant(op.in[0]);
        for (size_t i = 0; i < op.blocks.size(); ++i)
          if (!condition || (i == 0) == (*condition != 0)) block(op.blocks[i]);
        continue;
      }
      for (const Block& inner : op.blocks) block(inner);
    }
  }

  void operation(const Op& op) {
    switch (op.kind) {
      case OpKind::load:
        if (!op.is_dead) access(op, true);
        return;
      case OpKind::store:
        access(op, false);
        return;
      case OpKind::dma_start:
        copy(op);
        return;
      case OpKind::dma_wait:
        semaphore_of(op, "wait for a copy");
        if (!options_.lowered_by_jax && op.sem != kNone && info(op.sem).dtype == DType::semaphore)
          add(Kind::semaphore_misuse, op, "waits for a copy on " + ref_name(op.sem) + ", a regular semaphore",
              "use a DMA semaphore, or wait with semaphore_wait");
        return;
      case OpKind::sem_signal:
      case OpKind::sem_wait:
        semaphore_of(op, op.kind == OpKind::sem_signal ? "signal" : "wait");
        if (!options_.lowered_by_jax && op.sem != kNone && info(op.sem).dtype == DType::dma_semaphore)
          add(Kind::semaphore_misuse, op,
              std::string(op.kind == OpKind::sem_signal ? "signals " : "waits on ") + ref_name(op.sem) +
                  ", a DMA semaphore",
              "signals and semaphore_wait need a regular semaphore (SemaphoreType.REGULAR)");
        return;
      case OpKind::matmul:
        add(op, refuse_matmul(op, body_, target_, options_));
        return;
      case OpKind::reshape:
        reshape(op);
        return;
      case OpKind::rotate:
        rotate(op);
        return;
      case OpKind::gather:
        gather(op);
        return;
      case OpKind::slice:
        value_slice(op);
        return;
      case OpKind::opaque:
        opaque(op);
        return;
      default:
        add(op, refuse_type(op, body_, target_, options_));
        return;
    }
  }

  // ---- Loads and stores.
  void access(const Op& op, bool is_load) {
    const RefInfo& ref = info(op.ref);
    const RefInfo& root = info(root_of(body_, op.ref));
    const ValueId value = is_load ? (op.out.empty() ? kNone : op.out[0]) : (op.in.empty() ? kNone : op.in[0]);
    if (value == kNone) return;
    const TileType& tile = type(value);
    const bool is_scalar = tile.shape.rank() == 0;
    const std::string verb = is_load ? "load from " : "store to ";
    if (is_hbm(root.space)) {
      add(Kind::memory_space, op, verb + ref_name(op.ref) + " in HBM: only copies reach it",
          "copy the data to VMEM first (make_async_copy), or let a window bring it");
      return;
    }
    if (root.space == Space::smem) {
      if (!is_scalar)
        add(Kind::memory_space, op,
            verb + ref_name(op.ref) + " in SMEM of " + type_text(tile) + ": SMEM holds scalars only",
            "access one element at a time, or keep the array in VMEM");
      else if (!is_load && is_floating(tile.dtype) && bits(tile.dtype) < 32 && is_constant(value))
        add(Kind::dtype_unsupported, op,
            "store of a " + std::string(tilecheck::name(tile.dtype)) + " constant to " + ref_name(op.ref) +
                ": scalar constants are f32 and integers",
            "convert an f32, or keep the array in f32");
      return;
    }
    if (root.space != Space::vmem) return;
    if (!is_load && is_scalar && !options_.lowered_by_jax) {
      add(Kind::memory_space, op, "store of a scalar to " + ref_name(op.ref) + " in VMEM",
          "broadcast it to a vector first, or keep scalars in SMEM");
      return;
    }
    if (!is_load && !options_.lowered_by_jax) store_type(op, ref, tile);
    if (tile.dtype == DType::f16 || tile.dtype == DType::f64 || tile.dtype == DType::i64 || tile.dtype == DType::u64) {
      add(Kind::dtype_unsupported, op,
          verb + ref_name(op.ref) + " of " + type_text(tile) + ": not a type of the vector unit", "use bf16 or f32");
      return;
    }
    if (strided(op, ref, tile)) return;
    alignment(op, is_load, tile);
  }

  void store_type(const Op& op, const RefInfo& ref, const TileType& tile) {
    if (ref.dtype != tile.dtype && ref.dtype != DType::b1 && tile.dtype != DType::b1)
      add(Kind::type_mismatch, op,
          "store of " + type_text(tile) + " to " + ref_name(op.ref) + " of " + std::string(tilecheck::name(ref.dtype)),
          "convert the value to the Ref's type");
    int64_t elements = 1;
    for (int64_t n : op.extent) elements *= n;
    if (!op.extent.empty() && elements != element_count(tile.shape))
      add(Kind::type_mismatch, op,
          "store of " + type_text(tile) + " to a place of " + to_string(op.extent) + " in " + ref_name(op.ref),
          "store a value of the place's shape");
  }

  bool is_constant(ValueId value) const {
    const Op* made_by = facts_.definition(value);
    return made_by && made_by->kind == OpKind::constant;
  }

  // Strided accesses exist for 32-bit rows of at most 128 lanes.
  bool strided(const Op& op, const RefInfo& ref, const TileType& tile) {
    if (op.strides.empty()) return false;
    const std::string what = "strided access to " + ref_name(op.ref) + " (strides " + to_tuple(op.strides) + ")";
    if (op.strides.back() != 1) {
      add(Kind::operation_unsupported, op, what + ": the stride of the last dimension must be 1",
          "stride over rows, or load whole rows and select lanes");
    } else if (memory_bits(tile.dtype) != 32) {
      add(Kind::operation_unsupported, op,
          what + " of " + std::string(tilecheck::name(tile.dtype)) + ": strided accesses take 32-bit types",
          "bitcast the Ref to 32 bits, or load all rows");
    } else if (ref.shape.rank() > 0 && ref.shape.back() > target_.lanes()) {
      add(Kind::operation_unsupported, op,
          what + ": the Ref's last dimension is " + std::to_string(ref.shape.back()) +
              ", strided accesses take at most " + std::to_string(target_.lanes()),
          "split the last dimension into rows of 128");
    } else {
      return false;
    }
    return true;
  }

  void alignment(const Op& op, bool is_load, const TileType& tile) {
    const int rank = static_cast<int>(op.starts.size());
    if (rank == 0 || op.extent.rank() != rank) return;
    const CompileFacts::Slice view = facts_.slice(op.ref);
    const RefInfo& root = info(view.root);
    const int width = memory_bits(root.dtype);
    const std::string what = std::string(is_load ? "load from " : "store to ") + ref_name(op.ref);
    const Offset& column = op.starts[static_cast<size_t>(rank - 1)];
    const auto total = [&](const Offset& start, int64_t view_divisor, bool view_known, int64_t view_at) {
      const std::optional<int64_t> number = facts_.constant(start);
      struct Start {
        bool known;
        int64_t at, divisor;
      };
      return Start{number.has_value() && view_known, number.value_or(0) + view_at,
                   std::gcd(facts_.divisor(start), view_divisor)};
    };
    const auto unproved = [&](int axis, int64_t tile_size) {
      add(Kind::unaligned_slice, op,
          what + ": the start in dimension " + std::to_string(axis) + " cannot be proved a multiple of " +
              std::to_string(tile_size) + " (E2003)",
          "index by a multiple (i * " + std::to_string(tile_size) + "), say pl.multiple_of(i, " +
              std::to_string(tile_size) + "), or index a dimension in front of the last two");
    };
    const bool is_line = root.shape.rank() == 1;
    const int64_t column_tile = is_line ? line_tile(width, target_) : target_.lanes();
    const auto c = total(column, view.column_divisor, view.columns_known, view.column);
    if (!c.known && c.divisor % column_tile != 0) {
      unproved(rank - 1, column_tile);
      return;
    }
    if (width >= 32) return;
    const std::string masks =
        ": " + std::to_string(width) + "-bit masks inside a register are not supported on " + target_.name;
    if (is_line) {
      // A store of part of a row keeps the rest of it.
      const int64_t line = target_.lanes() * (32 / width);
      if (!is_load && c.known && (c.at % line != 0 || op.extent[rank - 1] % line != 0) &&
          target_.generation() < submask_generation(width))
        add(Kind::operation_unsupported, op, what + " of " + type_text(tile) + masks,
            "use whole multiples of " + std::to_string(line) + " elements, or a 32-bit type");
      return;
    }
    if (rank < 2) return;
    const Offset& row = op.starts[static_cast<size_t>(rank - 2)];
    const int64_t root_rows = root.shape[root.shape.rank() - 2];
    const int64_t tile_rows = row_tile(width, root_rows, target_);
    const auto r = total(row, view.row_divisor, view.rows_known, view.row);
    if (!r.known) {
      if (r.divisor % tile_rows != 0) unproved(rank - 2, tile_rows);
      return;
    }
    // A start inside a tile and an end beyond it: rows are shifted across registers under masks.
    const int64_t in_tile = r.at % tile_rows;
    const bool crosses = in_tile != 0 && in_tile + op.extent[rank - 2] > tile_rows;
    const int64_t from = width == 8 && !is_load ? 4 : submask_generation(width);
    if (crosses && target_.generation() < from)
      add(Kind::operation_unsupported, op, what + " from row " + std::to_string(r.at) + masks,
          "start at a multiple of " + std::to_string(tile_rows) + " rows, or use a 32-bit type");
  }

  // ---- Copies.
  void copy(const Op& op) {
    if (op.ref == kNone || op.ref2 == kNone) return;
    const RefInfo &from = info(op.ref), &to = info(op.ref2);
    if (!options_.lowered_by_jax) {
      if (from.dtype != to.dtype)
        add(Kind::type_mismatch, op,
            "copy of " + std::string(tilecheck::name(from.dtype)) + " (" + ref_name(op.ref) + ") to " +
                std::string(tilecheck::name(to.dtype)) + " (" + ref_name(op.ref2) + ")",
            "both sides of a copy need one element type");
      else if (from.shape != to.shape)
        add(Kind::type_mismatch, op,
            "copy of " + to_tuple(from.shape) + " (" + ref_name(op.ref) + ") to " + to_tuple(to.shape) + " (" +
                ref_name(op.ref2) + ")",
            "both sides of a copy need one shape");
    }
    semaphore_of(op, "copy");
    for (RefId ref : {op.ref, op.ref2}) {
      copied_slice(op, ref);
      narrow_copy(op, ref);
    }
  }

  // Fewer packed rows than a tile has move in units of 32 bits where the start is known, and as one power of two that
  // the start is a multiple of where it is not.
  static bool small_part(int64_t rows, int64_t start, bool start_known, int64_t packing, int64_t tile) {
    if (rows <= 0 || rows >= tile || rows % packing != 0) return false;
    return start_known ? start % packing == 0 : std::has_single_bit(static_cast<uint64_t>(rows)) && start % rows == 0;
  }

  void copied_slice(const Op& op, RefId ref) {
    const CompileFacts::Slice s = facts_.slice(ref);
    if (!s.is_sliced) return;
    const RefInfo& root = info(s.root);
    if ((root.space != Space::vmem && !is_hbm(root.space)) || root.shape.rank() < 2) return;
    const int width = memory_bits(root.dtype);
    const int64_t rows = root.shape[root.shape.rank() - 2], columns = root.shape.back();
    const std::string what = "copy of a slice of " + ref_name(ref);
    const auto refuse = [&](const std::string& part, int axis, int64_t tile) {
      add(Kind::unaligned_slice, op,
          what + ": the " + part + " in dimension " + std::to_string(axis) + " is not proved a multiple of the tile (" +
              std::to_string(tile) + ")",
          "slice whole tiles, say pl.multiple_of where the start is one, or slice a dimension in front of the last "
          "two");
    };
    const int64_t lanes = target_.lanes();
    const int last = root.shape.rank() - 1;
    if (!s.columns_sized || s.columns != columns || !s.columns_known || s.column != 0) {
      const int64_t divisor = s.columns_known ? s.column : s.column_divisor;
      if (divisor % lanes != 0) return refuse("start", last, lanes);
      const bool is_whole = s.columns_sized && s.columns == columns;
      if (s.columns_multiple % lanes != 0 && !is_whole) return refuse("size", last, lanes);
    }
    // Rows of 32 bits move one by one when it is known how many.
    if (width >= 32) {
      if (!s.rows_sized && s.rows_multiple % target_.sublanes() != 0) refuse("size", last - 1, target_.sublanes());
      return;
    }
    int64_t tile = row_tile(width, rows, target_);
    if (target_.generation() >= 7 && width == 16 && root.space == Space::vmem && rows % 16 == 0) tile = 16;
    if (s.rows_sized && s.rows == rows && s.rows_known && s.row == 0) return;
    const int64_t divisor = s.rows_known ? s.row : s.row_divisor;
    if (s.rows_sized && small_part(s.rows, divisor, s.rows_known, 32 / width, tile)) return;
    if (divisor % tile != 0) return refuse("start", last - 1, tile);
    const int64_t size_tile = std::min<int64_t>(tile, 8);
    const bool is_whole = s.rows_sized && s.rows == rows;
    if (s.rows_multiple % size_tile != 0 && !is_whole) refuse("size", last - 1, size_tile);
  }

  // v2 and v3 move 32-bit arrays in runs of 1024 bytes.
  void narrow_copy(const Op& op, RefId ref) {
    const RefInfo& root = info(root_of(body_, ref));
    if (target_.generation() >= 4 || memory_bits(root.dtype) != 32 || root.shape.rank() < 2) return;
    if (root.space != Space::vmem && !is_hbm(root.space)) return;
    const CompileFacts::Slice s = facts_.slice(ref);
    const int64_t row_bytes = (root.shape.back() + 127) / 128 * 128 * 4;
    if (row_bytes % 1024 == 0) return;
    const bool moves_part = s.rows_multiple * row_bytes % 1024 != 0;
    if (!moves_part && !(is_hbm(root.space) && s.is_sliced && s.is_dynamic)) return;
    add(Kind::unaligned_slice, op,
        "copy of " + (s.rows_sized ? count_of(s.rows, "row") : "rows") + " of " + std::to_string(row_bytes) +
            " bytes of " + ref_name(ref) + ": " + target_.name + " moves runs of 1024 bytes",
        "make rows a multiple of 256 elements wide");
  }

  // ---- Semaphores.
  void semaphore_of(const Op& op, const std::string& use) {
    if (options_.lowered_by_jax || op.sem == kNone) return;
    const RefInfo& sem = info(op.sem);
    if (element_count(sem.shape) <= 1) return;
    add(Kind::semaphore_misuse, op,
        use + " on " + ref_name(op.sem) + ", an array of semaphores of shape " + to_tuple(sem.shape),
        "pick one: sem.at[i]");
  }

  void barrier() {
    if (options_.lowered_by_jax) return;
    bool uses_barrier = false;
    for (const RefInfo& ref : body_.refs) uses_barrier |= ref.root == RefRoot::other && ref.space == Space::semaphore;
    Op at;
    at.at = spec_.at;
    if (uses_barrier && !spec_.collective_id)
      add(Kind::semaphore_misuse, at, "uses the barrier semaphore without a collective_id",
          "give the kernel a collective_id: devices find each other's barrier by it");
    if (!uses_barrier && spec_.collective_id)
      add(Kind::semaphore_misuse, at, "has a collective_id but uses no barrier semaphore", "leave collective_id out");
  }

  // ---- Values.
  // Reshapes of reshapes are folded: what counts is the shape they began with.
  void reshape(const Op& op) {
    const Op* first = &op;
    while (const Op* before = facts_.definition(first->in[0])) {
      if (before->kind != OpKind::reshape) break;
      first = before;
      if (type(first->in[0]).shape == type(op.out[0]).shape) return;
    }
    add(op, refuse_reshape(type(op.in[0]), type(op.out[0]), facts_.lanes_alike(op.in[0]), target_));
  }

  void rotate(const Op& op) {
    const TileType& tile = type(op.in[0]);
    const int rank = tile.shape.rank();
    const std::string what = "rotation of " + type_text(tile);
    const int axis = op.axes.empty() ? 0 : static_cast<int>(op.axes[0]);
    const int64_t unit = axis == rank - 1 ? target_.lanes() : axis == rank - 2 ? target_.sublanes() : 1;
    if (op.in.size() > 1 && !facts_.constant(op.in[1]) && tile.shape[axis] % unit != 0)
      add(Kind::operation_unsupported, op,
          what + " by an amount known at run time only: dimension " + std::to_string(axis) + " is no multiple of " +
              std::to_string(unit),
          "pad it, or rotate by a constant");
    if (op.in.size() > 1 && !options_.lowered_by_jax)
      if (const std::optional<int64_t> amount = facts_.constant(op.in[1]); amount && *amount < 0)
        add(Kind::operation_unsupported, op,
            what + " by " + std::to_string(*amount) + ": the amount must not be negative",
            "rotate by the size minus the amount");
    if (rank >= 2 && !op.axes.empty() && op.axes[0] == rank - 2 && bits(tile.dtype) < 32)
      add(Kind::operation_unsupported, op, what + " along the rows: packed types rotate along lanes only",
          "convert to 32 bits first");
  }

  void gather(const Op& op) {
    const TileType& from = type(op.in[0]);
    const TileType& at = type(op.in[1]);
    const int rank = from.shape.rank();
    const std::string what = "take_along_axis of " + type_text(from);
    const auto refuse = [&](const std::string& why, const std::string& help) {
      add(Kind::operation_unsupported, op, what + ": " + why, help);
    };
    if (bits(from.dtype) != bits(at.dtype))
      return refuse(
          "indices of " + std::to_string(bits(at.dtype)) + " bits pick values of " + std::to_string(bits(from.dtype)),
          "convert the values to 32 bits");
    if (op.axes.empty() || rank < 2) return;
    const bool is_rows = op.axes[0] == rank - 2, is_lanes = op.axes[0] == rank - 1;
    if (is_rows && target_.generation() < 5)
      return refuse("rows cannot be picked on " + target_.name, "use a one-hot matmul, or slices in a loop");
    if (is_lanes && target_.generation() < 4)
      return refuse("lanes cannot be picked on " + target_.name, "use a one-hot matmul");
    if ((is_rows && from.shape[rank - 2] > target_.sublanes()) || (is_lanes && from.shape.back() > target_.lanes()))
      refuse("several registers along the picked dimension", "pick within " + std::to_string(target_.sublanes()) +
                                                                 " rows or " + std::to_string(target_.lanes()) +
                                                                 " lanes, or use a one-hot matmul");
  }

  void value_slice(const Op& op) {
    const TileType& from = type(op.in[0]);
    const int rank = from.shape.rank(), width = memory_bits(from.dtype);
    if (rank < 2 || width >= 32 || op.starts.size() != static_cast<size_t>(rank)) return;
    const int64_t start = op.starts[static_cast<size_t>(rank - 2)].constant;
    const int64_t rows = type(op.out[0]).shape.rank() == rank ? type(op.out[0]).shape[rank - 2] : 1;
    const int64_t generation = target_.generation();
    if (generation >= submask_generation(width)) return;
    const int64_t tile = generation == 4 && width == 8 ? 32 : 8;
    const bool shifts =
        width == 8 && generation < 4 ? start % tile != 0 && start % tile + rows > tile : start % tile != 0;
    if (!shifts) return;
    add(Kind::operation_unsupported, op,
        "slice of " + type_text(from) + " from row " + std::to_string(start) + ": " + std::to_string(width) +
            "-bit masks inside a register are not supported on " + target_.name,
        "slice at multiples of " + std::to_string(tile) + " rows, or use a 32-bit type");
  }

  void opaque(const Op& op) {
    if (op.name.ends_with("prng_set_seed_32") && op.in.size() > 2)
      add(Kind::operation_unsupported, op,
          "a seed of " + std::to_string(op.in.size()) + " values: at most 2 are supported",
          "mix the values into one or two");
  }

  const KernelSpec& spec_;
  const Body& body_;
  const Target& target_;
  CompileOptions options_;
  CompileFacts facts_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> check_body(const KernelSpec& spec, const Body& body, const Target& target,
                                const CompileOptions& options) {
  return BodyRules(spec, body, target, options).run();
}

}  // namespace tilecheck::fit
