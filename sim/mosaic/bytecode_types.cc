// How the bytecode writes types.
#include <utility>

#include "sim/mosaic/bytecode_attrs.h"
#include "sim/mosaic/bytecode_format.h"
#include "sim/mosaic/text.h"

namespace tilecheck::mosaic {

using namespace bytecode;

Type* AttrTables::decode_type(const Entry& entry, int depth) {
  if (!entry.custom) {
    TextCursor text(text_of(entry), name_, entry.offset);
    const Type* type = parse_type(module_, text);
    if (!text.done()) text.fail("the end of the type");
    return module_.make(*type);
  }
  ByteCursor at = cursor(entry);
  Type type;
  type.kind = TypeKind::scalar;
  const auto opaque = [&](std::string text) {
    type.kind = TypeKind::opaque;
    type.text = module_.copy(text);
    return module_.make(type);
  };
  const auto types = [&] {
    std::vector<const Type*> list(at.count("a number of types"));
    for (const Type*& t : list) t = type_number(at.index(types_.size(), "a type"), depth + 1);
    return module_.copy(std::span<const Type* const>(list));
  };
  const auto shape = [&] {
    const size_t rank = at.count("a rank");
    if (rank > kMaxRank) at.fail("at most 10 dimensions", std::to_string(rank));
    for (size_t i = 0; i < rank; ++i) {
      const int64_t dim = at.signed_varint("a dimension");
      if (dim < 0 && dim != kDynamic) at.fail("a dimension of at least 0", std::to_string(dim));
      type.shape.push_back(dim);
    }
    const Type* element = type_number(at.index(types_.size(), "an element type"), depth + 1);
    type.dtype = element->dtype;
    return element;
  };
  const uint64_t code = at.varint("a type's code");
  switch (code) {
    case kIntegerType: {
      const uint64_t v = at.varint("an integer's width");
      const uint64_t width = v >> 2;
      const bool is_unsigned = (v & 3) == 2;
      type.written_signed = (v & 3) == 1;
      if (width == 1)
        type.dtype = DType::b1;
      else if (width == 2)
        type.dtype = is_unsigned ? DType::u2 : DType::i2;
      else if (width == 4)
        type.dtype = is_unsigned ? DType::u4 : DType::i4;
      else if (width == 8)
        type.dtype = is_unsigned ? DType::u8 : DType::i8;
      else if (width == 16)
        type.dtype = is_unsigned ? DType::u16 : DType::i16;
      else if (width == 32)
        type.dtype = is_unsigned ? DType::u32 : DType::i32;
      else if (width == 64)
        type.dtype = is_unsigned ? DType::u64 : DType::i64;
      else
        return opaque((is_unsigned ? "ui" : "i") + std::to_string(width));
      break;
    }
    case kIndexType:
      type.kind = TypeKind::index;
      type.dtype = DType::i64;
      break;
    case kFunctionType:
      type.kind = TypeKind::function;
      type.inputs = types();
      type.results = types();
      break;
    case kBf16:
      type.dtype = DType::bf16;
      break;
    case kF16:
      type.dtype = DType::f16;
      break;
    case kF32:
      type.dtype = DType::f32;
      break;
    case kF64:
      type.dtype = DType::f64;
      break;
    case kF8E5M2:
      type.dtype = DType::f8e5m2;
      break;
    case kF8E4M3FN:
      type.dtype = DType::f8e4m3fn;
      break;
    case kF8E4M3B11FNUZ:
      type.dtype = DType::f8e4m3b11fnuz;
      break;
    case kF8E8M0FNU:
      type.dtype = DType::f8e8m0fnu;
      break;
    case kF4E2M1FN:
      type.dtype = DType::f4e2m1fn;
      break;
    case kMemref:
    case kMemrefWithSpace: {
      type.kind = TypeKind::memref;
      if (code == kMemrefWithSpace) {
        const Attr* space = attr_number(at.index(attrs_.size(), "a memory space"), depth + 1);
        if (space->kind != AttrKind::dialect || space->mnemonic != "tpu.memory_space" ||
            !parse_space(*space, type.space))
          return opaque("memref in " + to_string(*space));
      }
      const Type* element = shape();
      if (element->kind != TypeKind::scalar) return opaque("memref of " + to_string(*element));
      const Attr* layout = attr_number(at.index(attrs_.size(), "a layout"), depth + 1);
      if (layout->kind != AttrKind::affine_map || !layout->map->is_identity()) type.layout = layout;
      break;
    }
    case kNone:
      type.kind = TypeKind::none;
      break;
    case kTensor:
    case kVector: {
      type.kind = code == kVector ? TypeKind::vector : TypeKind::tensor;
      const Type* element = shape();
      if (element->kind != TypeKind::scalar && !(code == kTensor && element->kind == TypeKind::index))
        return opaque((code == kVector ? "vector of " : "tensor of ") + to_string(*element));
      break;
    }
    default: {
      static constexpr std::pair<uint64_t, const char*> kNames[] = {{kF80, "f80"},
                                                                    {kF128, "f128"},
                                                                    {kTf32, "tf32"},
                                                                    {kF8E4M3, "f8E4M3"},
                                                                    {kF8E5M2FNUZ, "f8E5M2FNUZ"},
                                                                    {kF8E4M3FNUZ, "f8E4M3FNUZ"},
                                                                    {kF8E3M4, "f8E3M4"},
                                                                    {kF6E2M3FN, "f6E2M3FN"},
                                                                    {kF6E3M2FN, "f6E3M2FN"}};
      for (const auto& [known, name] : kNames)
        if (known == code) return opaque(name);
      return opaque("type of code " + std::to_string(code));
    }
  }
  return module_.make(type);
}

}  // namespace tilecheck::mosaic
