// Types, attributes and frames as MLIR writes them.
#include <cmath>
#include <cstdio>
#include <cstring>

#include "sim/mosaic/ir.h"
#include "sim/mosaic/text.h"
#include "sim/types/float_formats.h"

namespace tilecheck::mosaic {
namespace {

std::string element_text(const Type& type) {
  if (type.dtype == DType::semaphore) return "!tpu.semaphore";
  if (type.dtype == DType::dma_semaphore) return "!tpu.dma_semaphore";
  return std::string(info(type.dtype).mlir_name);
}

template <typename List, typename Fn>
std::string joined(const List& list, Fn&& text) {
  std::string out;
  for (const auto& item : list) {
    if (!out.empty()) out += ", ";
    out += text(item);
  }
  return out;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\' || u < 0x20 || u >= 0x7f) {
      char buffer[4];
      std::snprintf(buffer, sizeof(buffer), "\\%02X", u);
      out += buffer;
    } else {
      out += c;
    }
  }
  return out + '"';
}

// The shortest of the %g forms that reads back as the same element; non-finite values as their bits.
std::string number(DType dtype, double value, uint64_t raw) {
  char buffer[40];
  if (!std::isfinite(value)) {
    std::snprintf(buffer, sizeof(buffer), "0x%llX", static_cast<unsigned long long>(raw));
    return buffer;
  }
  for (int digits = 6; digits <= 17; ++digits) {
    std::snprintf(buffer, sizeof(buffer), "%.*g", digits, value);
    double back = 0;
    std::sscanf(buffer, "%lf", &back);
    uint64_t element = 0;
    store_from_double(dtype, &element, back);
    if (load_as_double(dtype, &element) == value) break;
  }
  std::string out = buffer;
  if (out.find_first_of(".en") == std::string::npos) out += ".0";
  return out;
}

std::string element_value(DType dtype, const std::byte* data) {
  uint64_t raw = 0;
  std::memcpy(&raw, data, static_cast<size_t>(dtype == DType::b1 ? 1 : storage_bytes(dtype)));
  if (dtype == DType::b1) return raw & 1 ? "true" : "false";
  const double value = load_as_double(dtype, data);
  if (is_floating(dtype)) return number(dtype, value, raw);
  if (bits(dtype) == 64)
    return is_unsigned_int(dtype) ? std::to_string(raw) : std::to_string(static_cast<int64_t>(raw));
  return std::to_string(static_cast<int64_t>(value));
}

void affine_text(const AffineMap& map, uint32_t at, bool nested, std::string& out, int depth) {
  const AffineExpr& e = map.nodes[at];
  if (depth > 100) {
    out += "...";
    return;
  }
  using K = AffineExpr::Kind;
  switch (e.kind) {
    case K::dim:
    case K::symbol:
      out.append(e.kind == K::dim ? "d" : "s").append(std::to_string(e.value));
      return;
    case K::constant:
      out += std::to_string(e.value);
      return;
    default:
      break;
  }
  const char* op = e.kind == K::add        ? " + "
                   : e.kind == K::mul      ? " * "
                   : e.kind == K::mod      ? " mod "
                   : e.kind == K::floordiv ? " floordiv "
                                           : " ceildiv ";
  if (nested) out += '(';
  affine_text(map, e.left, true, out, depth + 1);
  out += op;
  affine_text(map, e.right, true, out, depth + 1);
  if (nested) out += ')';
}

std::string to_text(const AffineMap& map) {
  std::string out = "(";
  for (int i = 0; i < map.dims; ++i) out.append(i ? ", d" : "d").append(std::to_string(i));
  out += ")";
  if (map.symbols > 0) {
    out += "[";
    for (int i = 0; i < map.symbols; ++i) out.append(i ? ", s" : "s").append(std::to_string(i));
    out += "]";
  }
  out += " -> (";
  for (size_t i = 0; i < map.results.size(); ++i) {
    if (i) out += ", ";
    affine_text(map, map.results[i], false, out, 0);
  }
  return out + ")";
}

// Elements beyond this many are cut short with "...": text is for reading.
constexpr size_t kMaxShownElements = 64;

std::string dense_text(const Attr& attr) {
  const Type& type = *attr.type;
  const auto element = static_cast<size_t>(type.dtype == DType::b1 ? 1 : std::max(1, bits(type.dtype) / 8));
  const size_t n = attr.data.size() / element;
  std::string out = "dense<";
  if (attr.splat || (n == 1 && type.shape.rank() == 0)) {
    out += element_value(type.dtype, attr.data.data());
  } else if (n > 0) {
    out += "[";
    for (size_t i = 0; i < n && i < kMaxShownElements; ++i)
      out.append(i ? ", " : "").append(element_value(type.dtype, attr.data.data() + i * element));
    out += n > kMaxShownElements ? ", ...]" : "]";
  }
  return out + "> : " + to_string(type);
}

}  // namespace

std::string to_string(const Type& type) {
  const auto list = [](std::span<const Type* const> types) {
    return joined(types, [](const Type* t) { return to_string(*t); });
  };
  switch (type.kind) {
    case TypeKind::none:
      return "none";
    case TypeKind::index:
      return "index";
    case TypeKind::scalar:
      return type.written_signed ? std::string("s").append(element_text(type)) : element_text(type);
    case TypeKind::opaque:
      return std::string(type.text);
    case TypeKind::function:
      return std::string("(") + list(type.inputs) + ") -> (" + list(type.results) + ")";
    case TypeKind::vector:
    case TypeKind::tensor:
    case TypeKind::memref:
      break;
  }
  std::string out = type.is_vector() ? "vector<" : type.is_memref() ? "memref<" : "tensor<";
  for (int64_t dim : type.shape) out.append(dim == kDynamic ? "?" : std::to_string(dim)).append("x");
  out += element_text(type);
  if (type.layout) out += ", " + to_string(*type.layout);
  if (type.is_memref()) out += ", #tpu.memory_space<" + std::string(mlir_name(type.space)) + ">";
  return out + ">";
}

std::string to_string(const Attr& attr) {
  switch (attr.kind) {
    case AttrKind::unit:
      return "unit";
    case AttrKind::integer:
      if (attr.type->kind == TypeKind::scalar && attr.type->dtype == DType::b1) return attr.integer ? "true" : "false";
      return std::to_string(attr.integer) + " : " + to_string(*attr.type);
    case AttrKind::floating:
      return number(attr.type->dtype, attr.floating, static_cast<uint64_t>(attr.integer)) + " : " +
             to_string(*attr.type);
    case AttrKind::string:
      return quoted(attr.text);
    case AttrKind::symbol:
      return std::string("@").append(attr.text);
    case AttrKind::type:
      return to_string(*attr.type);
    case AttrKind::array:
      return std::string("[") + joined(attr.elements, [](const Attr* a) { return to_string(*a); }) + "]";
    case AttrKind::dict:
      return std::string("{") +
             joined(attr.entries,
                    [](const NamedAttr& n) {
                      return n.value->kind == AttrKind::unit ? std::string(n.name)
                                                             : std::string(n.name) + " = " + to_string(*n.value);
                    }) +
             "}";
    case AttrKind::dense_array: {
      std::string out = "array<" + to_string(*attr.type);
      const bool is_float = attr.type->kind == TypeKind::scalar && is_floating(attr.type->dtype);
      const auto width = static_cast<size_t>(storage_bytes(attr.type->dtype));
      const size_t n = is_float ? attr.data.size() / width : attr.integers.size();
      for (size_t i = 0; i < n; ++i) {
        out += i ? ", " : ": ";
        out +=
            is_float ? element_value(attr.type->dtype, attr.data.data() + i * width) : std::to_string(attr.integers[i]);
      }
      return out + ">";
    }
    case AttrKind::dense_elements:
      return dense_text(attr);
    case AttrKind::affine_map:
      return std::string("affine_map<") + to_text(*attr.map) + ">";
    case AttrKind::dialect:
    case AttrKind::unknown:
      return std::string(attr.text);
    case AttrKind::location:
      return "loc";
  }
  return "?";
}

}  // namespace tilecheck::mosaic
