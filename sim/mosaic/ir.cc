#include "sim/mosaic/ir.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace tilecheck::mosaic {

bool Type::is_static() const {
  return std::none_of(shape.begin(), shape.end(), [](int64_t d) { return d == kDynamic; });
}

bool operator==(const Type& a, const Type& b) {
  if (&a == &b) return true;
  if (a.kind != b.kind) return false;
  const auto same = [](std::span<const Type* const> x, std::span<const Type* const> y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](const Type* s, const Type* t) { return *s == *t; });
  };
  switch (a.kind) {
    case TypeKind::none:
    case TypeKind::index:
      return true;
    case TypeKind::opaque:
      return a.text == b.text;
    case TypeKind::function:
      return same(a.inputs, b.inputs) && same(a.results, b.results);
    case TypeKind::memref:
      if (a.space != b.space || (a.layout == nullptr) != (b.layout == nullptr)) return false;
      if (a.layout && a.layout != b.layout && to_string(*a.layout) != to_string(*b.layout)) return false;
      break;
    case TypeKind::scalar:
    case TypeKind::vector:
    case TypeKind::tensor:
      break;
  }
  return a.dtype == b.dtype && a.shape == b.shape;
}

int64_t Op::int_or(AttrName id, int64_t otherwise) const {
  const Attr* attr = find(id);
  if (!attr) return otherwise;
  if (attr->kind == AttrKind::integer) return attr->integer;
  return attr->kind == AttrKind::unit ? 1 : otherwise;
}

std::string_view Op::string_or(AttrName id, std::string_view otherwise) const {
  const Attr* attr = find(id);
  return attr && (attr->kind == AttrKind::string || attr->kind == AttrKind::symbol) ? attr->text : otherwise;
}

std::span<const int64_t> Op::ints(AttrName id) const {
  const Attr* attr = find(id);
  return attr && attr->kind == AttrKind::dense_array ? attr->integers : std::span<const int64_t>{};
}

Dims Op::dims(AttrName id) const {
  Dims out;
  const Attr* attr = find(id);
  if (!attr) return out;
  if (attr->kind == AttrKind::dense_array)
    for (int64_t v : attr->integers.first(std::min<size_t>(attr->integers.size(), kMaxRank))) out.push_back(v);
  if (attr->kind == AttrKind::array)
    for (const Attr* e : attr->elements.first(std::min<size_t>(attr->elements.size(), kMaxRank)))
      out.push_back(e->integer);
  return out;
}

std::string_view Op::enum_body(AttrName id) const {
  const Attr* attr = find(id);
  return attr && attr->kind == AttrKind::dialect ? attr->body : std::string_view{};
}

std::span<const ValueId> Op::segment(int i) const {
  const std::span<const int64_t> sizes = ints(AttrName::operand_segment_sizes);
  assert(static_cast<size_t>(i) < sizes.size());
  size_t begin = 0;
  for (int k = 0; k < i; ++k) begin += static_cast<size_t>(sizes[static_cast<size_t>(k)]);
  return operands.subspan(begin, static_cast<size_t>(sizes[static_cast<size_t>(i)]));
}

Module::Module() : arena_(std::make_unique<std::pmr::monotonic_buffer_resource>(16 * 1024)) {}

std::string_view Module::copy(std::string_view text) {
  if (text.empty()) return {};
  char* data = static_cast<char*>(arena_->allocate(text.size(), 1));
  std::memcpy(data, text.data(), text.size());
  return {data, text.size()};
}

const Function* Module::find_function(std::string_view function_name) const {
  for (const Function& f : functions)
    if (f.name == function_name) return &f;
  return nullptr;
}

// ---- affine maps

bool AffineMap::is_identity() const {
  if (symbols != 0 || results.size() != static_cast<size_t>(dims)) return false;
  for (size_t i = 0; i < results.size(); ++i) {
    const AffineExpr& e = nodes[results[i]];
    if (e.kind != AffineExpr::Kind::dim || e.value != static_cast<int64_t>(i)) return false;
  }
  return true;
}

namespace {

int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return static_cast<int64_t>(0 - static_cast<uint64_t>(a));
  const int64_t q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

}  // namespace

int64_t AffineMap::eval(int i, std::span<const int64_t> dim_values, std::span<const int64_t> symbol_values) const {
  // Operands stand before their users, so one pass over the list up to the result is enough.
  const uint32_t root = results[static_cast<size_t>(i)];
  std::vector<int64_t> values(root + 1);
  for (uint32_t n = 0; n <= root; ++n) {
    const AffineExpr& e = nodes[n];
    const auto l = e.left < n ? static_cast<uint64_t>(values[e.left]) : 0;
    const auto r = e.right < n ? static_cast<uint64_t>(values[e.right]) : 0;
    const auto sl = static_cast<int64_t>(l), sr = static_cast<int64_t>(r);
    switch (e.kind) {
      case AffineExpr::Kind::dim:
        values[n] = dim_values[static_cast<size_t>(e.value)];
        break;
      case AffineExpr::Kind::symbol:
        values[n] = symbol_values[static_cast<size_t>(e.value)];
        break;
      case AffineExpr::Kind::constant:
        values[n] = e.value;
        break;
      case AffineExpr::Kind::add:
        values[n] = static_cast<int64_t>(l + r);
        break;
      case AffineExpr::Kind::mul:
        values[n] = static_cast<int64_t>(l * r);
        break;
      case AffineExpr::Kind::mod:
        values[n] = static_cast<int64_t>(l - static_cast<uint64_t>(floor_div(sl, sr)) * r);
        break;
      case AffineExpr::Kind::floordiv:
        values[n] = floor_div(sl, sr);
        break;
      case AffineExpr::Kind::ceildiv:
        values[n] = static_cast<int64_t>(0 - static_cast<uint64_t>(floor_div(static_cast<int64_t>(0 - l), sr)));
        break;
    }
  }
  return values[root];
}

}  // namespace tilecheck::mosaic
