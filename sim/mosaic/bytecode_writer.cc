#include "sim/mosaic/bytecode_writer.h"

#include <algorithm>
#include <bit>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "sim/mosaic/bytecode_bytes.h"
#include "sim/mosaic/bytecode_format.h"
#include "sim/types/error.h"

namespace tilecheck::mosaic {
namespace {

using namespace bytecode;

constexpr std::string_view kStableDialect = "stable_mosaic";

class Writer {
 public:
  Writer(const Module& module, const WriteOptions& options)
      : module_(module), options_(options), stable_(module.ir_version > 0) {
    dialect("builtin");
    loc_numbers_.assign(module.locs.size(), kUnset);
  }

  std::vector<uint8_t> write() {
    Bytes ir;
    ir.varint_flag(1, false);
    write_module(ir);

    Bytes out;
    for (uint8_t b : kMagic) out.byte(b);
    out.varint(0);
    out.raw("Tilecheck");
    out.byte(0);
    Bytes dialect_section = dialects();
    const auto [data, offsets] = attributes();
    section(out, kStrings, strings());
    section(out, kDialects, dialect_section);
    section(out, kAttrTypeData, data);
    section(out, kAttrTypeOffsets, offsets);
    section(out, kIr, ir);
    return {out.str().begin(), out.str().end()};
  }

 private:
  static constexpr uint64_t kUnset = ~uint64_t{0};

  static void section(Bytes& out, uint8_t id, const Bytes& bytes) {
    out.byte(id);
    out.varint(bytes.size());
    out.raw(bytes.str());
  }

  // ---- tables

  uint64_t string(std::string_view text) { return strings_.add(std::string(text)); }
  uint64_t dialect(std::string_view name) {
    string(name);
    return dialects_.add(std::string(name));
  }

  Bytes strings() const {
    Bytes out;
    const auto& order = strings_.order();
    out.varint(order.size());
    for (size_t i = order.size(); i-- > 0;) out.varint(order[i]->size() + 1);
    for (const std::string* text : order) {
      out.raw(*text);
      out.byte(0);
    }
    return out;
  }

  Bytes dialects() {
    Bytes out;
    out.varint(dialects_.order().size());
    for (const std::string* name : dialects_.order()) out.varint(string(*name));
    // Operation names, keyed by dialect number and name: one group each keeps the numbering simple.
    for (const std::string* key : op_names_.order()) {
      const OfDialect name(*key);
      out.varint(name.dialect);
      out.varint(1);
      out.varint(string(name.rest));
    }
    return out;
  }

  // Entries are keyed by their dialect and 'c' or 't' followed by their bytes (custom encoding or text).
  std::pair<Bytes, Bytes> attributes() {
    Bytes data, offsets;
    offsets.varint(attrs_.order().size());
    offsets.varint(types_.order().size());
    for (const Interned* table : {&attrs_, &types_})
      for (const std::string* key : table->order()) {
        const OfDialect entry(*key);
        const std::string_view bytes = entry.rest.substr(1);
        offsets.varint(entry.dialect);
        offsets.varint(1);
        offsets.varint_flag(bytes.size(), entry.rest[0] == 'c');
        data.raw(bytes);
      }
    return {std::move(data), std::move(offsets)};
  }

  uint64_t custom(Interned& table, const Bytes& bytes) {
    return table.add(OfDialect::key(dialect("builtin"), "c" + bytes.str()));
  }
  uint64_t text(Interned& table, std::string_view dialect_name, std::string_view written) {
    const std::string rest = std::string("t").append(written).append(1, '\0');
    return table.add(OfDialect::key(dialect(dialect_name), rest));
  }

  // ---- types

  void shape(Bytes& out, const Type& type) {
    out.varint(static_cast<uint64_t>(type.shape.rank()));
    for (int64_t d : type.shape) out.signed_varint(d);
    out.varint(element(type.dtype));
  }

  uint64_t element(DType dtype) {
    scratch_ = Type();
    scratch_.kind = TypeKind::scalar;
    scratch_.dtype = dtype;
    return type(scratch_);
  }

  // Types, attributes and dictionaries are shared: each is written once.
  uint64_t type(const Type& t) {
    const auto at = type_numbers_.find(&t);
    if (at != type_numbers_.end()) return at->second;
    const uint64_t number = write_type(t);
    if (&t != &scratch_) type_numbers_.emplace(&t, number);
    return number;
  }

  uint64_t write_type(const Type& t) {
    Bytes out;
    switch (t.kind) {
      case TypeKind::none:
        out.varint(kNone);
        break;
      case TypeKind::index:
        out.varint(kIndexType);
        break;
      case TypeKind::scalar:
        if (is_semaphore(t.dtype)) return text(types_, "tpu", to_string(t));
        scalar(out, t.dtype, t.written_signed);
        break;
      case TypeKind::function:
        out.varint(kFunctionType);
        for (std::span<const Type* const> list : {t.inputs, t.results}) {
          out.varint(list.size());
          for (const Type* item : list) out.varint(type(*item));
        }
        break;
      case TypeKind::vector:
      case TypeKind::tensor:
        out.varint(t.is_vector() ? kVector : kTensor);
        shape(out, t);
        break;
      case TypeKind::memref: {
        out.varint(kMemrefWithSpace);
        const std::string all = to_string(t);
        const size_t space = all.rfind("#tpu.memory_space");
        out.varint(text(attrs_, "tpu", std::string_view(all).substr(space, all.size() - 1 - space)));
        shape(out, t);
        out.varint(t.layout ? attr(*t.layout) : identity_map(t.shape.rank()));
        break;
      }
      case TypeKind::opaque:
        throw InputError("bytecode writer", "cannot write the type " + std::string(t.text));
    }
    return custom(types_, out);
  }

  static void scalar(Bytes& out, DType dtype, bool is_signed) {
    switch (dtype) {
      case DType::bf16:
        return out.varint(kBf16);
      case DType::f16:
        return out.varint(kF16);
      case DType::f32:
        return out.varint(kF32);
      case DType::f64:
        return out.varint(kF64);
      case DType::f8e5m2:
        return out.varint(kF8E5M2);
      case DType::f8e4m3fn:
        return out.varint(kF8E4M3FN);
      case DType::f8e4m3b11fnuz:
        return out.varint(kF8E4M3B11FNUZ);
      case DType::f8e8m0fnu:
        return out.varint(kF8E8M0FNU);
      case DType::f4e2m1fn:
        return out.varint(kF4E2M1FN);
      default:
        out.varint(kIntegerType);
        out.varint(static_cast<uint64_t>(bits(dtype)) << 2 | (is_unsigned_int(dtype) ? 2 : is_signed ? 1 : 0));
    }
  }

  // ---- attributes

  uint64_t identity_map(int rank) {
    std::string dims;
    for (int i = 0; i < rank; ++i) dims.append(i ? ", d" : "d").append(std::to_string(i));
    return text(attrs_, "builtin", "affine_map<(" + dims + ") -> (" + dims + ")>");
  }
  uint64_t string_attr(std::string_view value) {
    Bytes out;
    out.varint(kString);
    out.varint(string(value));
    return custom(attrs_, out);
  }

  // Numbers up to 8 bits are one byte, wider ones the zigzag of their bits.
  static void number(Bytes& out, int64_t value, int width) {
    const uint64_t bits_of =
        width == 64 ? static_cast<uint64_t>(value) : static_cast<uint64_t>(value) & ((uint64_t{1} << width) - 1);
    if (width <= 8)
      out.byte(static_cast<uint8_t>(bits_of));
    else
      out.signed_varint(static_cast<int64_t>(bits_of));
  }

  uint64_t attr(const Attr& a) {
    const auto at = attr_numbers_.find(&a);
    if (at != attr_numbers_.end()) return at->second;
    const uint64_t number = write_attr(a);
    attr_numbers_.emplace(&a, number);
    return number;
  }

  uint64_t write_attr(const Attr& a) {
    Bytes out;
    switch (a.kind) {
      case AttrKind::unit:
        out.varint(kUnit);
        break;
      case AttrKind::integer:
      case AttrKind::floating:
        out.varint(a.kind == AttrKind::integer ? kInteger : kFloat);
        out.varint(type(*a.type));
        number(out, a.integer, a.type->kind == TypeKind::index ? 64 : bits(a.type->dtype));
        break;
      case AttrKind::string:
        if (!a.type) return string_attr(a.text);
        out.varint(kStringWithType);
        out.varint(string(a.text));
        out.varint(type(*a.type));
        break;
      case AttrKind::symbol:
        out.varint(kFlatSymbol);
        out.varint(string_attr(a.text));
        break;
      case AttrKind::type:
        out.varint(kType);
        out.varint(type(*a.type));
        break;
      case AttrKind::array:
        out.varint(kArray);
        out.varint(a.elements.size());
        for (const Attr* e : a.elements) out.varint(attr(*e));
        break;
      case AttrKind::dict:
        return dictionary(a.entries);
      case AttrKind::dense_array:
        dense_array(out, a);
        break;
      case AttrKind::dense_elements:
        dense_elements(out, a);
        break;
      case AttrKind::affine_map:
        return text(attrs_, "builtin", to_string(a));
      case AttrKind::dialect:
        return text(attrs_, a.mnemonic.substr(0, a.mnemonic.find('.')), a.text);
      case AttrKind::unknown:
        if (a.text.starts_with("attribute of code"))
          throw InputError("bytecode writer", "cannot write an " + std::string(a.text));
        return text(attrs_, "builtin", a.text);
      case AttrKind::location:
        out.varint(kUnknownLoc);
        break;
    }
    return custom(attrs_, out);
  }

  void dense_array(Bytes& out, const Attr& a) {
    const auto width = static_cast<size_t>(a.type->kind == TypeKind::index ? 8 : storage_bytes(a.type->dtype));
    const bool is_float = a.type->kind == TypeKind::scalar && is_floating(a.type->dtype);
    std::string data;
    if (is_float) {
      data.assign(reinterpret_cast<const char*>(a.data.data()), a.data.size());
    } else {
      for (int64_t v : a.integers) data.append(reinterpret_cast<const char*>(&v), width);
    }
    out.varint(kDenseArray);
    out.varint(type(*a.type));
    out.varint(is_float ? a.data.size() / width : a.integers.size());
    out.blob(std::as_bytes(std::span<const char>(data)));
  }

  void dense_elements(Bytes& out, const Attr& a) {
    out.varint(kDenseElements);
    out.varint(type(*a.type));
    if (a.type->dtype != DType::b1) {
      out.blob(a.data);
      return;
    }
    std::string packed;
    if (a.splat) {
      packed = a.data[0] != std::byte{0} ? '\xff' : '\0';
    } else if (a.data.size() == 1) {
      packed.push_back(static_cast<char>(a.data[0]));
    } else {
      packed.assign((a.data.size() + 7) / 8, '\0');
      for (size_t i = 0; i < a.data.size(); ++i)
        if (a.data[i] != std::byte{0}) packed[i / 8] = static_cast<char>(packed[i / 8] | 1 << (i % 8));
    }
    out.blob(std::as_bytes(std::span<const char>(packed)));
  }

  uint64_t dictionary(std::span<const NamedAttr> entries) {
    const auto at = attr_numbers_.find(entries.data());
    if (at != attr_numbers_.end() && !entries.empty()) return at->second;
    Bytes out;
    std::vector<NamedAttr> sorted(entries.begin(), entries.end());
    std::sort(sorted.begin(), sorted.end(), [](const NamedAttr& a, const NamedAttr& b) { return a.name < b.name; });
    out.varint(kDict);
    out.varint(sorted.size());
    for (const NamedAttr& e : sorted) {
      out.varint(string_attr(e.name));
      out.varint(attr(*e.value));
    }
    const uint64_t number = custom(attrs_, out);
    if (!entries.empty()) attr_numbers_.emplace(entries.data(), number);
    return number;
  }

  uint64_t location(LocId id) {
    if (id >= module_.locs.size() || (!options_.locations && id != kNoLoc)) {
      Bytes out;
      out.varint(kUnknownLoc);
      return custom(attrs_, out);
    }
    if (loc_numbers_[id] != kUnset) return loc_numbers_[id];
    // A location that holds itself ends here as unknown.
    loc_numbers_[id] = location(kNoLoc);
    const LocNode& node = module_.locs[id];
    Bytes out;
    switch (node.kind) {
      case LocNode::Kind::unknown:
        return loc_numbers_[id];
      case LocNode::Kind::file:
        out.varint(kFileLineColLoc);
        out.varint(string_attr(node.text));
        out.varint(static_cast<uint64_t>(node.line));
        out.varint(static_cast<uint64_t>(node.column));
        break;
      case LocNode::Kind::name:
        out.varint(kNameLoc);
        out.varint(string_attr(node.text));
        out.varint(location(node.child));
        break;
      case LocNode::Kind::callsite:
        out.varint(kCallSiteLoc);
        out.varint(location(node.child));
        out.varint(location(node.caller));
        break;
      case LocNode::Kind::fused:
        out.varint(kFusedLoc);
        out.varint(1);
        out.varint(location(node.child));
        break;
    }
    return loc_numbers_[id] = custom(attrs_, out);
  }

  // ---- IR

  void op_header(Bytes& out, std::string_view dialect_name, std::string_view op_name, uint8_t mask, LocId loc) {
    const uint64_t number = dialect(dialect_name);
    string(op_name);
    out.varint(op_names_.add(OfDialect::key(number, op_name)));
    out.byte(mask);
    out.varint(location(loc));
  }
  // A kernel's operations are all of one dialect; before the stable form, each of its own.
  void kernel_op_header(Bytes& out, std::string_view op_name, uint8_t mask, LocId loc) {
    if (stable_) return op_header(out, kStableDialect, op_name, mask, loc);
    const size_t dot = op_name.find('.');
    op_header(out, op_name.substr(0, dot), op_name.substr(dot + 1), mask, loc);
  }

  void write_module(Bytes& out) {
    const bool has_attrs = options_.module_attrs && !module_.attrs.empty();
    op_header(out, "builtin", "module", static_cast<uint8_t>(kHasRegions | (has_attrs ? kHasAttrs : 0)), module_.loc);
    if (has_attrs) out.varint(dictionary(module_.attrs));
    out.varint_flag(1, true);
    out.varint(1);  // blocks
    out.varint(0);  // values
    out.varint_flag(module_.functions.size(), false);
    for (const Function& f : module_.functions) {
      function_ = &f;
      numbers_.assign(f.value_types.size(), 0);
      kernel_op_header(out, "func.func", kHasAttrs | kHasRegions, f.loc);
      out.varint(dictionary(f.attrs));
      out.varint_flag(1, false);
      region(out, f.body, 0);
    }
  }

  void region(Bytes& out, const Region& r, uint64_t in_sight) {
    out.varint(r.blocks.size());
    if (r.empty()) return;
    // Numbers go to arguments and results in the order in which they are read back.
    uint64_t next = in_sight;
    for (const Block& block : r.blocks) {
      for (uint32_t i = 0; i < block.arg_count; ++i) numbers_[block.first_arg + i] = next++;
      for (const Op& op : block.ops)
        for (uint32_t i = 0; i < op.result_count; ++i) numbers_[op.result(i)] = next++;
    }
    out.varint(next - in_sight);
    for (const Block& block : r.blocks) {
      out.varint_flag(block.ops.size(), block.arg_count > 0);
      if (block.arg_count > 0) {
        out.varint(block.arg_count);
        for (uint32_t i = 0; i < block.arg_count; ++i) {
          out.varint(type(function_->type_of(block.first_arg + i)));
          out.varint(location(i < block.arg_locs.size() ? block.arg_locs[i] : kNoLoc));
        }
      }
      for (const Op& op : block.ops) operation(out, op, next);
    }
  }

  void operation(Bytes& out, const Op& op, uint64_t in_sight) {
    const auto mask =
        static_cast<uint8_t>((op.attrs.empty() ? 0 : kHasAttrs) | (op.result_count ? kHasResults : 0) |
                             (op.operands.empty() ? 0 : kHasOperands) | (op.regions.empty() ? 0 : kHasRegions));
    kernel_op_header(out, op.name, mask, op.loc);
    if (!op.attrs.empty()) out.varint(dictionary(op.attrs));
    if (op.result_count) {
      out.varint(op.result_count);
      for (uint32_t i = 0; i < op.result_count; ++i) out.varint(type(function_->type_of(op.result(i))));
    }
    if (!op.operands.empty()) {
      out.varint(op.operands.size());
      for (ValueId id : op.operands) out.varint(numbers_[id]);
    }
    if (op.regions.empty()) return;
    out.varint_flag(op.regions.size(), false);
    for (const Region& inner : op.regions) region(out, inner, in_sight);
  }

  const Module& module_;
  const WriteOptions& options_;
  bool stable_;
  Interned strings_, dialects_, op_names_, attrs_, types_;
  std::unordered_map<const Type*, uint64_t> type_numbers_;
  std::unordered_map<const void*, uint64_t> attr_numbers_;  // by attribute, or by a dictionary's first entry
  Type scratch_;
  std::vector<uint64_t> loc_numbers_;
  const Function* function_ = nullptr;
  std::vector<uint64_t> numbers_;
};

}  // namespace

std::vector<uint8_t> write_bytecode(const Module& module, const WriteOptions& options) {
  return Writer(module, options).write();
}

}  // namespace tilecheck::mosaic
