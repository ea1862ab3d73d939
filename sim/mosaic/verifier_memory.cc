// Type rules of what touches memory: loads, stores, Refs, copies, semaphores.
#include <algorithm>

#include "sim/mosaic/verifier_rules.h"
#include "sim/types/error.h"

namespace tilecheck::mosaic {
namespace {

using Ids = std::span<const ValueId>;

// A Ref and one index for each of its dimensions.
void check_indices(const OpCheck& c, const Type& ref, Ids indices) {
  c.require(ref.is_memref() && indices.size() == static_cast<size_t>(ref.shape.rank()),
            "a memref and an index for each dimension");
  for (ValueId id : indices) c.require(is_integer_scalar(c.type(id)), "integer indices");
}

// The vector covers the Ref's trailing dimensions (all, as Pallas emits it).
void check_vector_access(const OpCheck& c, const Type& ref, Ids indices, const Type& vector) {
  check_indices(c, ref, indices);
  c.require(vector.is_vector() && vector.dtype == ref.dtype && vector.shape.rank() <= ref.shape.rank(),
            "a vector of the memref's element type");
}

void check_mask(const OpCheck& c, Ids mask, const Type& vector) {
  c.require(mask.size() <= 1, "at most one mask");
  if (mask.empty()) return;
  const Type& type = c.type(mask[0]);
  c.require(type.is_vector() && type.dtype == DType::b1 && type.shape == vector.shape,
            "an i1 mask of the vector's shape");
}

// Strides: none, or a positive one for each dimension.
void check_strides(const OpCheck& c, int rank, bool optional, int64_t least = 1) {
  const std::span<const int64_t> strides = c.op.ints(AttrName::strides);
  c.require((optional && strides.empty()) || strides.size() == static_cast<size_t>(rank),
            "a stride for each dimension");
  for (int64_t s : strides)
    c.require(s >= least && s <= (int64_t{1} << 31), least > 0 ? "positive strides" : "strides of at least 0");
}

bool same_ref_kind(const Type& a, const Type& b) { return a.is_memref() && b.is_memref() && a.dtype == b.dtype; }

void check_slice(const OpCheck& c) {
  const Ids base = c.op.segment(segment::kSliceBase), starts = c.op.segment(segment::kSliceStart),
            sizes = c.op.segment(segment::kSliceSizes);
  c.require(base.size() == 1, "one memref");
  const Type &from = c.type(base[0]), &to = c.result();
  check_indices(c, from, starts);
  c.require(same_ref_kind(from, to) && from.shape.rank() == to.shape.rank(),
            "a memref of the same rank and element type");
  for (ValueId id : sizes) c.require(is_integer_scalar(c.type(id)), "integer sizes");
  c.require(sizes.size() == static_cast<size_t>(std::count(to.shape.begin(), to.shape.end(), kDynamic)),
            "a size for each dynamic dimension of the result");
}

void check_squeeze(const OpCheck& c) {
  const Type &from = c.operand(0), &to = c.result();
  c.require(same_ref_kind(from, to), "two memrefs of one element type");
  // The result's dimensions in order, with some of the operand's ones left out.
  int at = 0;
  for (int64_t dim : from.shape) {
    if (at < to.shape.rank() && to.shape[at] == dim && (dim != 1 || from.shape.rank() - to.shape.rank() == 0)) {
      ++at;
      continue;
    }
    if (dim == 1 && at < to.shape.rank() && to.shape[at] == 1) {
      // A 1 kept among several: which one does not matter to the shape, so long as enough remain.
      ++at;
      continue;
    }
    c.require(dim == 1, "a result without some dimensions of size 1");
  }
  c.require(at == to.shape.rank(), "a result without some dimensions of size 1");
}

void check_reshape(const OpCheck& c) {
  const Type &from = c.operand(0), &to = c.result();
  c.require(same_ref_kind(from, to) && from.is_static() && to.is_static() &&
                element_count(from.shape) == element_count(to.shape),
            "a static memref of as many elements of the same type");
}

void check_ref_bitcast(const OpCheck& c) {
  const Type &from = c.operand(0), &to = c.result();
  c.require(from.is_memref() && to.is_memref() && !is_semaphore(from.dtype) && !is_semaphore(to.dtype) &&
                from.is_static() && to.is_static() && from.shape.rank() == to.shape.rank() && from.space == to.space,
            "two static memrefs of one rank and space");
  const int from_bits = bits(from.dtype), to_bits = bits(to.dtype), rank = from.shape.rank();
  c.require(from_bits == to_bits || rank >= 2, "a second-minor dimension to pack along");
  for (int i = 0; i < rank; ++i) {
    const bool packs = from_bits != to_bits && i == rank - 2;
    c.require(packs ? from.shape[i] * from_bits == to.shape[i] * to_bits : from.shape[i] == to.shape[i],
              "the second-minor dimension scaled by the ratio of widths");
  }
}

const Type& semaphore(const OpCheck& c, ValueId id) {
  const Type& type = c.type(id);
  c.require(type.is_memref() && is_semaphore(type.dtype) && type.is_static() && element_count(type.shape) == 1,
            "a single semaphore");
  return type;
}

// Zero or one integer operand.
void check_optional_id(const OpCheck& c, Ids ids) {
  c.require(ids.size() <= 1, "at most one operand for each of device, core and subcore");
  for (ValueId id : ids) c.require(is_integer_scalar(c.type(id)), "integer device and core numbers");
}

void check_copy_refs(const OpCheck& c, ValueId source, ValueId target) {
  const Type &from = c.type(source), &to = c.type(target);
  c.require(same_ref_kind(from, to) && !is_semaphore(from.dtype) && from.shape.rank() == to.shape.rank(),
            "source and target memrefs of one element type and rank");
  for (int i = 0; i < from.shape.rank(); ++i)
    c.require(from.shape[i] == to.shape[i] || from.shape[i] == kDynamic || to.shape[i] == kDynamic,
              "source and target of one shape");
}

void check_dma(const OpCheck& c) {
  const auto seg = [&](int i) { return c.op.segment(i); };
  c.require(seg(segment::kDmaSource).size() == 1 && seg(segment::kDmaTarget).size() == 1, "one source and one target");
  check_copy_refs(c, seg(segment::kDmaSource)[0], seg(segment::kDmaTarget)[0]);
  const Ids source_semaphore = seg(segment::kDmaSourceSemaphore), target_semaphore = seg(segment::kDmaTargetSemaphore);
  c.require(source_semaphore.size() <= 1 && target_semaphore.size() <= 1, "at most one semaphore for each side");
  for (ValueId id : source_semaphore) semaphore(c, id);
  for (ValueId id : target_semaphore) semaphore(c, id);
  for (int i : {segment::kDmaDevice, segment::kDmaCore, segment::kDmaSubcore}) check_optional_id(c, seg(i));
  if (c.op.code != OpCode::tpu_enqueue_dma) return;
  c.require(target_semaphore.size() == 1, "a target semaphore");
  const bool remote = !seg(segment::kDmaDevice).empty() || !seg(segment::kDmaCore).empty();
  c.require(remote == !source_semaphore.empty(), "a source semaphore if and only if the copy is remote");
}

void check_wait(const OpCheck& c) {
  const auto seg = [&](int i) { return c.op.segment(i); };
  c.require(seg(segment::kWaitSemaphore).size() == 1 && seg(segment::kWaitSource).size() == 1 &&
                seg(segment::kWaitTarget).size() == 1,
            "a semaphore, a source and a target");
  semaphore(c, seg(segment::kWaitSemaphore)[0]);
  check_copy_refs(c, seg(segment::kWaitSource)[0], seg(segment::kWaitTarget)[0]);
  for (int i : {segment::kWaitDevice, segment::kWaitCore}) check_optional_id(c, seg(i));
}

}  // namespace

void check_memory_types(const OpCheck& c) {
  const Ids operands = c.op.operands;
  switch (c.op.code) {
    case OpCode::vector_load:
      return check_vector_access(c, c.operand(0), operands.subspan(1), c.result());
    case OpCode::memref_load:
      check_indices(c, c.operand(0), operands.subspan(1));
      return c.require(c.result().is_scalar() && c.result().dtype == c.operand(0).dtype,
                       "a result of the element type");
    case OpCode::memref_store:
      check_indices(c, c.operand(1), operands.subspan(2));
      return c.require(c.operand(0).is_scalar() && c.operand(0).dtype == c.operand(1).dtype,
                       "a value of the element type");
    case OpCode::memref_alloca:
      return c.require(operands.empty() && c.result().is_memref() && c.result().is_static(), "a static memref");
    case OpCode::memref_cast:
    case OpCode::tpu_assume_layout:
    case OpCode::tpu_erase_memref_layout:
      return c.require(same_ref_kind(c.operand(0), c.result()) && c.operand(0).shape.rank() == c.result().shape.rank(),
                       "two memrefs of one rank and element type");
    case OpCode::memref_dim:
      return c.require(
          c.operand(0).is_memref() && is_integer_scalar(c.operand(1)) && c.result().kind == TypeKind::index,
          "a memref and an index");
    case OpCode::tpu_vector_load: {
      const Ids base = c.op.segment(segment::kLoadBase);
      c.require(base.size() == 1, "one memref");
      check_vector_access(c, c.type(base[0]), c.op.segment(segment::kLoadIndices), c.result());
      check_strides(c, c.type(base[0]).shape.rank(), true);
      return check_mask(c, c.op.segment(segment::kLoadMask), c.result());
    }
    case OpCode::tpu_vector_store: {
      const Ids value = c.op.segment(segment::kStoreValue), base = c.op.segment(segment::kStoreBase);
      c.require(value.size() == 1 && base.size() == 1, "one value and one memref");
      check_vector_access(c, c.type(base[0]), c.op.segment(segment::kStoreIndices), c.type(value[0]));
      check_strides(c, c.type(base[0]).shape.rank(), true);
      return check_mask(c, c.op.segment(segment::kStoreMask), c.type(value[0]));
    }
    case OpCode::tpu_strided_load:
      check_vector_access(c, c.operand(0), operands.subspan(1), c.result());
      c.require(c.result().shape.rank() == c.operand(0).shape.rank(), "a vector of the memref's rank");
      return check_strides(c, c.operand(0).shape.rank(), false, 0);  // 0: the same row again and again
    case OpCode::tpu_strided_store:
      check_vector_access(c, c.operand(1), operands.subspan(2), c.operand(0));
      c.require(c.operand(0).shape.rank() == c.operand(1).shape.rank(), "a vector of the memref's rank");
      return check_strides(c, c.operand(1).shape.rank(), false);
    case OpCode::tpu_load:
      return check_indices(c, c.operand(0), operands.subspan(1));
    case OpCode::tpu_store: {
      const Ids value = c.op.segment(segment::kStoreValue), base = c.op.segment(segment::kStoreBase);
      c.require(value.size() == 1 && base.size() == 1, "one value and one memref");
      return check_indices(c, c.type(base[0]), c.op.segment(segment::kStoreIndices));
    }
    case OpCode::tpu_memref_slice:
      return check_slice(c);
    case OpCode::tpu_memref_squeeze:
      return check_squeeze(c);
    case OpCode::tpu_memref_reshape:
      return check_reshape(c);
    case OpCode::tpu_memref_bitcast:
      return check_ref_bitcast(c);
    case OpCode::tpu_reinterpret_cast: {
      const Ids base = c.op.segment(segment::kReinterpretBase);
      return c.require(base.size() == 1 && same_ref_kind(c.type(base[0]), c.result()),
                       "two memrefs of one element type");
    }
    case OpCode::tpu_internal_scratch:
      return c.require(c.result().is_memref() && c.result().is_static(), "a static memref");
    case OpCode::tpu_sem_alloc:
      return c.require(c.result().is_memref() && is_semaphore(c.result().dtype) && c.result().is_static(),
                       "a static memref of semaphores");
    case OpCode::tpu_sem_barrier:
      semaphore(c, c.op.result());
      return;
    case OpCode::tpu_sem_read:
      semaphore(c, operands[0]);
      return c.require(is_integer_scalar(c.result()), "an integer result");
    case OpCode::tpu_sem_wait:
      semaphore(c, operands[0]);
      return c.require(is_integer_scalar(c.operand(1)), "an integer amount");
    case OpCode::tpu_sem_signal: {
      const Ids ref = c.op.segment(segment::kSignalSemaphore), amount = c.op.segment(segment::kSignalAmount);
      c.require(ref.size() == 1 && amount.size() == 1 && is_integer_scalar(c.type(amount[0])),
                "a semaphore and an integer amount");
      semaphore(c, ref[0]);
      for (int i : {segment::kSignalDevice, segment::kSignalCore, segment::kSignalSubcore})
        check_optional_id(c, c.op.segment(i));
      return;
    }
    case OpCode::tpu_enqueue_dma:
    case OpCode::tpu_wait_dma:
      return check_dma(c);
    case OpCode::tpu_wait_dma2:
      return check_wait(c);
    case OpCode::tpu_log_buffer:
      return c.require(c.operand(0).is_memref(), "a memref");
    default:
      return;
  }
}

}  // namespace tilecheck::mosaic
