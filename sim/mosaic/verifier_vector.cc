// Type rules of what rearranges, reduces and multiplies vectors.
#include <algorithm>
#include <string>

#include "sim/mosaic/op_attrs.h"
#include "sim/mosaic/verifier_rules.h"
#include "sim/types/error.h"

namespace tilecheck::mosaic {
namespace {

bool is_vector_of(const Type& type, DType dtype, const Shape& shape) {
  return type.is_vector() && type.dtype == dtype && type.shape == shape;
}
// A vector, or for rank 0 also the scalar that MLIR writes there.
bool is_value_of(const Type& type, DType dtype, const Shape& shape) {
  if (shape.empty() && type.kind == TypeKind::scalar) return type.dtype == dtype;
  return is_vector_of(type, dtype, shape);
}

// Distinct numbers below `limit`.
bool is_subset(const Dims& dims, int limit) {
  uint32_t seen = 0;
  for (int64_t d : dims) {
    if (d < 0 || d >= limit || (seen >> d & 1) != 0) return false;
    seen |= 1u << d;
  }
  return true;
}

void check_broadcast(const OpCheck& c) {
  const Type& from = c.operand(0);
  const Type& to = c.result();
  c.require(to.is_vector() && (from.is_vector() || from.kind == TypeKind::scalar) && from.dtype == to.dtype,
            "a scalar or vector of the result's element type");
  const int lead = to.shape.rank() - (from.is_vector() ? from.shape.rank() : 0);
  c.require(lead >= 0, "a result of at least the operand's rank");
  if (!from.is_vector()) return;
  for (int i = 0; i < from.shape.rank(); ++i)
    c.require(from.shape[i] == 1 || from.shape[i] == to.shape[lead + i],
              "operand dimensions that are 1 or the result's");
}

Shape without(const Shape& shape, const Dims& dims) {
  Shape out;
  for (int i = 0; i < shape.rank(); ++i)
    if (std::find(dims.begin(), dims.end(), i) == dims.end()) out.push_back(shape[i]);
  return out;
}

void check_reduction(const OpCheck& c) {
  const Type& from = c.operand(0);
  const Dims dims = c.integers(AttrName::reduction_dims);
  c.require(from.is_vector() && is_subset(dims, from.shape.rank()), "a vector and distinct dimensions of it");
  c.require(is_value_of(c.result(), from.dtype, without(from.shape, dims)), "a result without the reduced dimensions");
  c.require(c.operand(1) == c.result(), "an accumulator of the result's type");
  const std::optional<ReductionKind> kind = reduction_kind(c.op);
  c.require(kind && *kind <= ReductionKind::xor_, "a known reduction kind");
  const bool float_kind = *kind >= ReductionKind::maximumf && *kind <= ReductionKind::minnumf;
  const bool either = *kind == ReductionKind::add || *kind == ReductionKind::mul;
  c.require(either || float_kind == is_floating(from.dtype), "a reduction kind that fits the element type");
}

void check_contract(const OpCheck& c) {
  const Attr* maps = c.op.find(AttrName::indexing_maps);
  const Attr* iterators = c.op.find(AttrName::iterator_types);
  c.require(maps && maps->kind == AttrKind::array && maps->elements.size() == 3 && iterators &&
                iterators->kind == AttrKind::array && iterators->elements.size() <= kMaxRank,
            "three indexing maps and the iterator types");
  const auto loops = static_cast<int>(iterators->elements.size());
  Dims extents = Dims::filled(loops, -1);
  for (size_t i = 0; i < 3; ++i) {
    const Attr* attr = maps->elements[i];
    const Type& type = c.operand(i);
    c.require(attr->kind == AttrKind::affine_map && attr->map->dims == loops && attr->map->symbols == 0 &&
                  type.is_vector() && attr->map->results.size() == static_cast<size_t>(type.shape.rank()),
              "vectors and an indexing map for each of their dimensions");
    for (size_t d = 0; d < attr->map->results.size(); ++d) {
      const AffineExpr& e = attr->map->nodes[attr->map->results[d]];
      c.require(e.kind == AffineExpr::Kind::dim, "indexing maps that select dimensions");
      int64_t& extent = extents[static_cast<int>(e.value)];
      c.require(extent == -1 || extent == type.shape[static_cast<int>(d)], "extents that agree along each loop");
      extent = type.shape[static_cast<int>(d)];
    }
  }
  c.require(c.operand(2) == c.result(), "an accumulator of the result's type");
}

void check_extract(const OpCheck& c) {
  const Type& from = c.operand(0);
  const Dims position = c.integers(AttrName::static_position);
  c.require(from.is_vector() && position.rank() <= from.shape.rank(), "a vector and a position in it");
  size_t dynamic = 0;
  for (int i = 0; i < position.rank(); ++i) {
    dynamic += position[i] == kDynamic;
    c.require(position[i] == kDynamic || (position[i] >= 0 && position[i] < from.shape[i]),
              "a position inside the vector");
  }
  c.require(dynamic + 1 == c.op.operands.size(), "an operand for each dynamic position");
  for (size_t i = 1; i < c.op.operands.size(); ++i) c.require(is_integer_scalar(c.operand(i)), "integer positions");
  Shape rest;
  for (int i = position.rank(); i < from.shape.rank(); ++i) rest.push_back(from.shape[i]);
  c.require(is_value_of(c.result(), from.dtype, rest), "a result of the remaining dimensions");
}

void check_insert(const OpCheck& c) {
  const Type& into = c.operand(1);
  const Dims position = c.integers(AttrName::static_position);
  c.require(into.is_vector() && into == c.result() && position.rank() <= into.shape.rank(),
            "a vector and a position in it");
  size_t dynamic = 0;
  for (int i = 0; i < position.rank(); ++i) {
    dynamic += position[i] == kDynamic;
    c.require(position[i] == kDynamic || (position[i] >= 0 && position[i] < into.shape[i]),
              "a position inside the vector");
  }
  c.require(dynamic + 2 == c.op.operands.size(), "an operand for each dynamic position");
  for (size_t i = 2; i < c.op.operands.size(); ++i) c.require(is_integer_scalar(c.operand(i)), "integer positions");
  Shape rest;
  for (int i = position.rank(); i < into.shape.rank(); ++i) rest.push_back(into.shape[i]);
  c.require(is_value_of(c.operand(0), into.dtype, rest), "a value of the remaining dimensions");
}

void check_slice(const OpCheck& c) {
  const Type& from = c.operand(0);
  const Dims offsets = c.integers(AttrName::offsets), sizes = c.integers(AttrName::sizes),
             strides = c.integers(AttrName::strides);
  c.require(from.is_vector() && offsets.rank() <= from.shape.rank() && offsets.rank() == sizes.rank() &&
                offsets.rank() == strides.rank(),
            "a vector and equally many offsets, sizes and strides");
  Shape shape = from.shape;
  for (int i = 0; i < offsets.rank(); ++i) {
    c.require(offsets[i] >= 0 && sizes[i] >= 0 && strides[i] == 1 && offsets[i] <= from.shape[i] &&
                  sizes[i] <= from.shape[i] - offsets[i],
              "a slice inside the vector, with strides of 1");
    shape[i] = sizes[i];
  }
  c.require(is_vector_of(c.result(), from.dtype, shape), "a result of the slice's shape");
}

void check_insert_slice(const OpCheck& c) {
  const Type &value = c.operand(0), &into = c.operand(1);
  const Dims offsets = c.integers(AttrName::offsets), strides = c.integers(AttrName::strides);
  c.require(value.is_vector() && into.is_vector() && into == c.result() && value.dtype == into.dtype,
            "two vectors of one element type");
  const int lead = into.shape.rank() - value.shape.rank();
  c.require(lead >= 0 && offsets.rank() == into.shape.rank() && strides.rank() == value.shape.rank(),
            "an offset for each dimension");
  for (int i = 0; i < into.shape.rank(); ++i) {
    const int64_t size = i < lead ? 1 : value.shape[i - lead];
    c.require(offsets[i] >= 0 && offsets[i] <= into.shape[i] && size <= into.shape[i] - offsets[i],
              "a slice inside the vector");
  }
  for (int64_t s : strides) c.require(s == 1, "strides of 1");
}

void check_transpose(const OpCheck& c) {
  const Type& from = c.operand(0);
  const Dims permutation = c.integers(AttrName::permutation);
  c.require(from.is_vector() && permutation.rank() == from.shape.rank() && is_subset(permutation, from.shape.rank()),
            "a vector and a permutation of its dimensions");
  Shape shape;
  for (int64_t d : permutation) shape.push_back(from.shape[static_cast<int>(d)]);
  c.require(is_vector_of(c.result(), from.dtype, shape), "a result of the permuted shape");
}

// Same bits in all; a change of width scales one dimension, counted from the last.
void check_bitcast(const OpCheck& c, int scaled_from_last) {
  const Type &from = c.operand(0), &to = c.result();
  c.require(from.is_vector() && to.is_vector() && from.shape.rank() == to.shape.rank(), "two vectors of one rank");
  const int from_bits = bits(from.dtype), to_bits = bits(to.dtype);
  for (int i = 0; i < from.shape.rank(); ++i) {
    const bool scaled = from_bits != to_bits && i == from.shape.rank() - scaled_from_last;
    c.require(scaled ? from.shape[i] * from_bits == to.shape[i] * to_bits : from.shape[i] == to.shape[i],
              "a result of as many bits, scaled along the dimension that packs");
  }
  c.require(from_bits == to_bits || from.shape.rank() >= scaled_from_last, "a dimension to pack along");
}

void check_same_elements(const OpCheck& c) {
  const Type &from = c.operand(0), &to = c.result();
  c.require(from.is_vector() && to.is_vector() && from.dtype == to.dtype &&
                element_count(from.shape) == element_count(to.shape),
            "a vector of as many elements of the same type");
}

void check_iota(const OpCheck& c) {
  const Type& to = c.result();
  const Dims dims = c.integers(AttrName::dimensions);
  c.require(to.is_vector() && is_integer(to) && !dims.empty() && is_subset(dims, to.shape.rank()),
            "an integer vector and distinct dimensions of it");
}

void check_concatenate(const OpCheck& c) {
  const Type& to = c.result();
  c.require(to.is_vector(), "a vector");
  const int along = c.axis(AttrName::dimension, to.shape.rank());
  int64_t total = 0;
  for (size_t i = 0; i < c.op.operands.size(); ++i) {
    const Type& part = c.operand(i);
    c.require(part.is_vector() && part.dtype == to.dtype && part.shape.rank() == to.shape.rank(),
              "vectors of one rank and element type");
    for (int d = 0; d < to.shape.rank(); ++d)
      c.require(d == along || part.shape[d] == to.shape[d], "vectors that agree in the other dimensions");
    total += part.shape[along];
  }
  c.require(total == to.shape[along], "a result as long as its parts together");
}

void check_repeat(const OpCheck& c) {
  const Type& from = c.operand(0);
  c.require(from.is_vector(), "a vector");
  const int along = c.axis(AttrName::dimension, from.shape.rank());
  const int64_t times = c.integer(AttrName::times);
  Shape shape = from.shape;
  c.require(times >= 0 && times <= (int64_t{1} << 31), "a number of times");
  shape[along] *= times;
  c.require(is_vector_of(c.result(), from.dtype, shape), "a result of the repeated shape");
}

void check_rotate(const OpCheck& c) {
  const Type& from = c.operand(0);
  c.require(from.is_vector() && from == c.result() && is_integer_scalar(c.operand(1)),
            "a vector and an integer amount");
  c.axis(AttrName::dimension, from.shape.rank());
  c.require(c.op.has(AttrName::stride) == c.op.has(AttrName::stride_dimension), "stride and stride_dimension together");
  if (!c.op.has(AttrName::stride)) return;
  c.integer(AttrName::stride);
  c.axis(AttrName::stride_dimension, from.shape.rank());
}

void check_gather(const OpCheck& c) {
  const Type &from = c.operand(0), &indices = c.operand(1);
  const Dims dims = c.integers(AttrName::dimensions);
  c.require(from.is_vector() && indices.is_vector() && is_integer(indices) &&
                from.shape.rank() == indices.shape.rank() && !dims.empty() && is_subset(dims, from.shape.rank()),
            "a vector, integer indices of its rank and distinct dimensions");
  c.require(is_vector_of(c.result(), from.dtype, indices.shape), "a result of the indices' shape");
  for (int i = 0; i < from.shape.rank(); ++i) {
    const bool gathered = std::find(dims.begin(), dims.end(), i) != dims.end();
    c.require(gathered ? from.shape[i] > 0 || indices.shape[i] == 0 : from.shape[i] == indices.shape[i],
              "indices of the source's shape outside the gathered dimensions");
  }
}

void check_reduce_index(const OpCheck& c) {
  const Type& from = c.operand(0);
  c.require(from.is_vector() && c.result().is_vector() && is_integer(c.result()), "a vector and an integer vector");
  const int along = c.axis(AttrName::axis, from.shape.rank());
  c.require(c.result().shape == without(from.shape, {along}), "a result without the reduced dimension");
  const std::optional<ReductionKind> kind = reduction_kind(c.op);
  c.require(kind && *kind >= ReductionKind::arg_max, "arg_max, arg_min or find_first_set");
}

void check_matmul(const OpCheck& c) {
  const Type &lhs = c.operand(0), &rhs = c.operand(1), &to = c.result();
  c.require(lhs.is_vector() && rhs.is_vector() && to.is_vector() && c.operand(2) == to,
            "vectors, and an accumulator of the result's type");
  // Floats and integers mix (bf16 weights times int8); which pairs compile depends on the generation.
  c.require(lhs.dtype != DType::b1 && rhs.dtype != DType::b1 && to.dtype != DType::b1, "operands that are no masks");
  c.require(precision(c.op).has_value(), "a known precision");
  const std::optional<DotDims> dims = dot_dims(c.op, lhs.shape.rank(), rhs.shape.rank());
  c.require(dims.has_value(), "dimension numbers that name each operand dimension once");
  for (int i = 0; i < dims->lhs_contract.rank(); ++i)
    c.require(lhs.shape[static_cast<int>(dims->lhs_contract[i])] == rhs.shape[static_cast<int>(dims->rhs_contract[i])],
              "contracted extents that agree");
  for (int i = 0; i < dims->lhs_batch.rank(); ++i)
    c.require(lhs.shape[static_cast<int>(dims->lhs_batch[i])] == rhs.shape[static_cast<int>(dims->rhs_batch[i])],
              "batch extents that agree");
  Shape shape;
  if (dims->out_order.empty()) {
    for (int64_t d : dims->lhs_batch) shape.push_back(lhs.shape[static_cast<int>(d)]);
    for (int64_t d : dims->lhs_keep) shape.push_back(lhs.shape[static_cast<int>(d)]);
    for (int64_t d : dims->rhs_keep) shape.push_back(rhs.shape[static_cast<int>(d)]);
  }
  for (int i = 0; i < dims->out_order.rank(); i += 2)
    shape.push_back((dims->out_order[i] == 0 ? lhs : rhs).shape[static_cast<int>(dims->out_order[i + 1])]);
  c.require(to.shape == shape, "a result of the kept dimensions");
}

void check_pack(const OpCheck& c) {
  const Type& from = c.operand(0);
  for (size_t i = 1; i < c.op.operands.size(); ++i) c.require(c.operand(i) == from, "operands of one type");
  const DType narrow = c.element_type(AttrName::target_type);
  c.require(from.is_vector() && c.result().is_vector() && is_integer(c.result()) && same_shape(from, c.result()),
            "vectors of one shape, packed into integers");
  c.require(is_floating(narrow) == is_floating(from.dtype) && bits(narrow) <= bits(from.dtype),
            "a narrower target type of the same class");
  c.require(static_cast<int64_t>(c.op.operands.size()) * bits(narrow) <= bits(c.result().dtype),
            "sources that fit into the result's bits");
}

void check_unpack(const OpCheck& c) {
  const DType narrow = c.element_type(AttrName::source_type);
  const int64_t index = c.integer(AttrName::index);
  c.require(c.operand(0).is_vector() && is_integer(c.operand(0)) && c.result().is_vector() &&
                same_shape(c.operand(0), c.result()),
            "vectors of one shape, unpacked from integers");
  c.require(is_floating(narrow) == is_floating(c.result().dtype) && bits(narrow) <= bits(c.result().dtype),
            "a wider result of the same class");
  c.require(index >= 0 && (index + 1) * bits(narrow) <= bits(c.operand(0).dtype), "an index inside the word");
}

}  // namespace

void check_vector_types(const OpCheck& c) {
  const auto count = c.op.operands.size();
  switch (c.op.code) {
    case OpCode::vector_broadcast:
    case OpCode::vector_splat:
      return check_broadcast(c);
    case OpCode::vector_shape_cast:
    case OpCode::tpu_reshape:
    case OpCode::tpu_relayout:
      return check_same_elements(c);
    case OpCode::vector_multi_reduction:
      return check_reduction(c);
    case OpCode::vector_reduction: {
      const Type& from = c.operand(0);
      c.require(from.is_vector() && from.shape.rank() == 1 && c.result().kind == TypeKind::scalar &&
                    c.result().dtype == from.dtype,
                "a vector of rank 1, giving an element");
      c.require(count == 1 || c.operand(1) == c.result(), "an accumulator of the result's type");
      const std::optional<ReductionKind> kind = reduction_kind(c.op);
      c.require(kind && *kind <= ReductionKind::xor_, "a known reduction kind");
      return;
    }
    case OpCode::vector_contract:
      return check_contract(c);
    case OpCode::vector_extract:
      return check_extract(c);
    case OpCode::vector_extractelement:
      c.require(c.operand(0).is_vector() && c.operand(0).shape.rank() == (count == 2 ? 1 : 0) &&
                    c.result().kind == TypeKind::scalar && c.result().dtype == c.operand(0).dtype &&
                    (count == 1 || is_integer_scalar(c.operand(1))),
                "a vector of rank 1 and an index, or one of rank 0");
      return;
    case OpCode::vector_insert:
      return check_insert(c);
    case OpCode::vector_extract_strided_slice:
      return check_slice(c);
    case OpCode::vector_insert_strided_slice:
      return check_insert_slice(c);
    case OpCode::vector_transpose:
    case OpCode::tpu_transpose:
      return check_transpose(c);
    case OpCode::vector_bitcast:
      return check_bitcast(c, 1);
    case OpCode::tpu_bitcast:
      return check_bitcast(c, 2);
    case OpCode::vector_step:
      c.require(c.result().is_vector() && c.result().shape.rank() == 1 && is_integer(c.result()),
                "an integer vector of rank 1");
      return;
    case OpCode::vector_from_elements: {
      const Type& to = c.result();
      c.require(to.is_vector() && element_count(to.shape) == static_cast<int64_t>(count),
                "as many operands as the vector has elements");
      for (size_t i = 0; i < count; ++i)
        c.require(c.operand(i).kind == TypeKind::scalar && c.operand(i).dtype == to.dtype,
                  "scalars of the element type");
      return;
    }
    case OpCode::tpu_iota:
      return check_iota(c);
    case OpCode::tpu_concatenate:
      return check_concatenate(c);
    case OpCode::tpu_repeat:
      return check_repeat(c);
    case OpCode::tpu_dynamic_rotate:
      return check_rotate(c);
    case OpCode::tpu_dynamic_gather:
      return check_gather(c);
    case OpCode::tpu_reduce_index:
      return check_reduce_index(c);
    case OpCode::tpu_all_reduce:
      c.require(c.operand(0).is_vector() && reduction_kind(c.op).has_value(), "a vector and a known reduction kind");
      c.axis(AttrName::dim, c.operand(0).shape.rank());
      return;
    case OpCode::tpu_matmul:
      return check_matmul(c);
    case OpCode::tpu_stochastic_convert:
    case OpCode::tpu_stochastic_convert_elementwise:
      c.require(is_float(c.operand(0)) && is_integer(c.operand(1)) && same_shape(c.operand(0), c.operand(1)) &&
                    same_shape(c.operand(0), c.result()),
                "a float vector and random integers of its shape");
      c.require(c.op.code == OpCode::tpu_stochastic_convert_elementwise ||
                    (is_float(c.result()) && bits(c.result().dtype) < bits(c.operand(0).dtype)),
                "a narrower float result");
      return;
    case OpCode::tpu_pack_elementwise:
      return check_pack(c);
    case OpCode::tpu_unpack_elementwise:
      return check_unpack(c);
    default:
      return check_memory_types(c);
  }
}

}  // namespace tilecheck::mosaic
