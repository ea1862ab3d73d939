// Loads, stores and views of memory.
#include <algorithm>
#include <array>

#include "sim/mosaic/op_attrs.h"
#include "sim/mosaic/program.h"

namespace tilecheck::mosaic {
namespace {

// instr.in: [value, ] base, indices..., [mask]. ints[0]: position of base; ints[1]: number of indices; ints[2]:
// position of the mask or -1; then strides, if any. shape: of the accessed part.
struct Access3 {
  size_t base, indices;
  int64_t mask;
};
Access3 parts(const Instr& instr) {
  return {static_cast<size_t>(instr.ints[0]), static_cast<size_t>(instr.ints[1]), instr.ints[2]};
}

Ref accessed(Activation& frame, const Instr& instr) {
  const Access3 a = parts(instr);
  const Ref& base = frame.refs[instr.in[a.base].index];
  std::array<Slice, kMaxRank> slices;
  const int lead = static_cast<int>(a.indices) - instr.shape.rank();  // dimensions that the vector does not have
  for (size_t d = 0; d < a.indices; ++d) {
    const int64_t start = index_of(frame, instr.in[a.base + 1 + d], instr, "an address");
    const int own = static_cast<int>(d) - lead;
    const int64_t stride = instr.ints.size() > 3 ? instr.ints[3 + d] : 1;
    slices[d] = own < 0       ? Slice(start)
                : stride == 0 ? Slice(start, 1, 1)  // one element, again and again
                              : Slice(start, instr.shape[own], stride);
  }
  return base.slice({slices.data(), a.indices});
}

void run_load(Activation& frame, const Instr& instr) {
  const Access3 a = parts(instr);
  Access access;
  if (a.mask >= 0) access.mask = tile_of(frame, instr.in[static_cast<size_t>(a.mask)]);
  set_tile(frame, instr.out[0], frame.core->load(accessed(frame, instr), access, instr.loc));
}

void run_repeating_load(Activation& frame, const Instr& instr) {
  Tile once = frame.core->load(accessed(frame, instr), {}, instr.loc);
  OpCall repeat;
  repeat.op = OpId::broadcast;
  repeat.shape = instr.shape;
  set_tile(frame, instr.out[0], apply(frame.core->ops(), repeat, {&once, 1}));
}

void run_store(Activation& frame, const Instr& instr) {
  const Access3 a = parts(instr);
  Access access;
  if (a.mask >= 0) access.mask = tile_of(frame, instr.in[static_cast<size_t>(a.mask)]);
  access.add = instr.op->bool_or(AttrName::add, false);
  const Tile value = take_tile(frame, instr, 0);
  frame.core->store(accessed(frame, instr), value, access, instr.loc);
}

Ref scalar_ref(Activation& frame, const Instr& instr, size_t base_at) {
  const Ref& base = frame.refs[instr.in[base_at].index];
  std::array<Slice, kMaxRank> slices;
  size_t n = 0;
  for (size_t i = base_at + 1; i < instr.in.size(); ++i)
    slices[n++] = Slice(index_of(frame, instr.in[i], instr, "an address"));
  return base.slice({slices.data(), n});
}

void run_scalar_load(Activation& frame, const Instr& instr) {
  const Slot& out = instr.out[0];
  if (!frame.core) {  // an index map
    Dims at;
    for (size_t i = 1; i < instr.in.size(); ++i) at.push_back(static_cast<int64_t>(frame.scalars[instr.in[i].index]));
    frame.scalars[out.index] = static_cast<uint64_t>(frame.prefetch->at(frame.prefetch_operand[instr.in[0].index], at));
    frame.undefined[out.index] = 0;
    return;
  }
  frame.scalars[out.index] =
      frame.core->load_scalar(scalar_ref(frame, instr, 0), &frame.undefined[out.index], instr.loc);
}

void run_scalar_store(Activation& frame, const Instr& instr) {
  frame.core->store_scalar(scalar_ref(frame, instr, 1), frame.scalars[instr.in[0].index],
                           frame.undefined[instr.in[0].index], instr.loc);
}

// ints: how many start operands. shape: the result's, kDynamic where a size operand follows.
void run_slice(Activation& frame, const Instr& instr) {
  const Ref& base = frame.refs[instr.in[0].index];
  const size_t starts = static_cast<size_t>(instr.ints[0]);
  std::array<Slice, kMaxRank> slices;
  size_t size_at = 1 + starts;
  for (size_t d = 0; d < starts; ++d) {
    const int64_t start = index_of(frame, instr.in[1 + d], instr, "an address");
    int64_t size = instr.shape[static_cast<int>(d)];
    if (size == kDynamic) size = index_of(frame, instr.in[size_at++], instr, "a size");
    slices[d] = ds(start, std::max<int64_t>(size, 0));
  }
  frame.refs[instr.out[0].index] = base.slice({slices.data(), starts});
}

// ints: per dimension of the source, 1 where it is dropped.
void run_squeeze(Activation& frame, const Instr& instr) {
  const Ref& base = frame.refs[instr.in[0].index];
  std::array<Slice, kMaxRank> slices;
  for (size_t d = 0; d < instr.ints.size(); ++d) slices[d] = instr.ints[d] ? Slice(0) : all();
  frame.refs[instr.out[0].index] = base.slice({slices.data(), instr.ints.size()});
}

void run_reshape(Activation& frame, const Instr& instr) {
  frame.refs[instr.out[0].index] = frame.refs[instr.in[0].index].reshaped(instr.shape);
}

void run_bitcast(Activation& frame, const Instr& instr) {
  frame.refs[instr.out[0].index] = frame.refs[instr.in[0].index].bitcast(instr.out[0].dtype);
}

void run_same_ref(Activation& frame, const Instr& instr) {
  frame.refs[instr.out[0].index] = frame.refs[instr.in[0].index];
}

void run_dim(Activation& frame, const Instr& instr) {
  const Shape shape = frame.refs[instr.in[0].index].shape();
  const int64_t d = index_of(frame, instr.in[1], instr, "a dimension");
  frame.scalars[instr.out[0].index] =
      d >= 0 && d < shape.rank() ? static_cast<uint64_t>(shape[static_cast<int>(d)]) : 0;
  frame.undefined[instr.out[0].index] = 0;
}

void set_access(Instr& instr, size_t base, size_t indices, int64_t mask, const Dims& strides = {}) {
  instr.ints = {static_cast<int64_t>(base), static_cast<int64_t>(indices), mask};
  for (int64_t s : strides) instr.ints.push_back(s);
}

bool all_ones(const Dims& strides) {
  return std::all_of(strides.begin(), strides.end(), [](int64_t s) { return s == 1; });
}

}  // namespace

bool lower_memory(LowerContext& context, const Op& op, Instr& instr) {
  const auto type = [&](size_t operand) -> const Type& { return context.function.type_of(op.operands[operand]); };
  switch (op.code) {
    case OpCode::vector_load:
      set_access(instr, 0, op.operands.size() - 1, -1);
      instr.run = run_load;
      return true;
    case OpCode::vector_store:
      set_access(instr, 1, op.operands.size() - 2, -1);
      instr.shape = type(0).shape;
      instr.run = run_store;
      return true;
    case OpCode::tpu_vector_load: {
      const bool masked = !op.segment(segment::kLoadMask).empty();
      const Dims strides = op.dims(AttrName::strides);
      set_access(instr, 0, op.segment(segment::kLoadIndices).size(),
                 masked ? static_cast<int64_t>(op.operands.size()) - 1 : -1, all_ones(strides) ? Dims{} : strides);
      instr.run = run_load;
      return true;
    }
    case OpCode::tpu_vector_store: {
      const bool masked = !op.segment(segment::kStoreMask).empty();
      const Dims strides = op.dims(AttrName::strides);
      set_access(instr, 1, op.segment(segment::kStoreIndices).size(),
                 masked ? static_cast<int64_t>(op.operands.size()) - 1 : -1, all_ones(strides) ? Dims{} : strides);
      instr.shape = type(0).shape;
      instr.run = run_store;
      return true;
    }
    case OpCode::tpu_strided_load:
      set_access(instr, 0, op.operands.size() - 1, -1, op.dims(AttrName::strides));
      instr.run = std::ranges::count(op.dims(AttrName::strides), 0) > 0 ? run_repeating_load : run_load;
      return true;
    case OpCode::tpu_strided_store:
      set_access(instr, 1, op.operands.size() - 2, -1, op.dims(AttrName::strides));
      instr.shape = type(0).shape;
      instr.run = run_store;
      return true;
    case OpCode::memref_load:
      instr.run = run_scalar_load;
      return true;
    case OpCode::memref_store:
      instr.run = run_scalar_store;
      return true;
    case OpCode::tpu_memref_slice:
      instr.ints = {static_cast<int64_t>(op.segment(segment::kSliceStart).size())};
      instr.run = run_slice;
      return true;
    case OpCode::tpu_memref_squeeze: {
      const Shape& from = type(0).shape;
      int k = instr.shape.rank() - 1;
      instr.ints.assign(static_cast<size_t>(from.rank()), 0);
      for (int d = from.rank() - 1; d >= 0; --d) {
        if (k >= 0 && from[d] == instr.shape[k]) {
          --k;
        } else {
          instr.ints[static_cast<size_t>(d)] = 1;
        }
      }
      instr.run = run_squeeze;
      return true;
    }
    case OpCode::tpu_memref_reshape:
      if (!context.function.type_of(op.result()).is_static()) not_modelled(context, op, "to a dynamic shape");
      instr.run = run_reshape;
      return true;
    case OpCode::tpu_memref_bitcast:
      instr.run = run_bitcast;
      return true;
    case OpCode::tpu_reinterpret_cast: {
      const Type& from = type(0);
      const Type& to = context.function.type_of(op.result());
      if (op.operands.size() != 1 || !(from.shape == to.shape) || from.dtype != to.dtype)
        not_modelled(context, op, "to another shape");
      instr.run = run_same_ref;
      return true;
    }
    case OpCode::memref_cast:
    case OpCode::tpu_assume_layout:
    case OpCode::tpu_erase_memref_layout:
      instr.run = run_same_ref;
      return true;
    case OpCode::memref_dim:
      instr.run = run_dim;
      return true;
    default:
      return false;
  }
}

}  // namespace tilecheck::mosaic
