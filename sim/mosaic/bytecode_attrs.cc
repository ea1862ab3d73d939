#include "sim/mosaic/bytecode_attrs.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "sim/mosaic/bytecode_format.h"
#include "sim/mosaic/text.h"
#include "sim/types/float_formats.h"

namespace tilecheck::mosaic {

using namespace bytecode;

void AttrTables::read_strings(ByteCursor section) {
  const size_t n = section.count("the number of strings");
  std::vector<size_t> lengths(n);  // stored last string first
  size_t total = 0;
  for (size_t i = 0; i < n; ++i) {
    lengths[n - 1 - i] = section.check_count(section.varint("a string's length"), "a string's length");
    if (lengths[n - 1 - i] == 0) section.fail("a string's length of at least 1");
    total += lengths[n - 1 - i];
    if (total > section.remaining()) section.fail("strings that fit their section");
  }
  if (total != section.remaining()) section.fail("string data that fills its section");
  strings_.reserve(n);
  for (size_t length : lengths) {
    const std::span<const uint8_t> bytes = section.take(length, "a string");
    strings_.emplace_back(reinterpret_cast<const char*>(bytes.data()), length - 1);  // without its NUL
  }
}

void AttrTables::read_offsets(ByteCursor offsets, std::span<const uint8_t> data, size_t data_base) {
  const size_t attr_count = offsets.count("the number of attributes");
  const size_t type_count = offsets.count("the number of types");
  size_t at = 0;
  const auto read_table = [&](auto& table, size_t count) {
    table.reserve(count);
    while (table.size() < count) {
      const size_t dialect = offsets.index(dialects_.size(), "a dialect");
      const size_t in_group = offsets.check_count(offsets.varint("a group's size"), "a group's size");
      if (in_group == 0 || in_group > count - table.size()) offsets.fail("a group that fits the table");
      for (size_t i = 0; i < in_group; ++i) {
        bool custom = false;
        const uint64_t size = offsets.varint_flag(custom, "an entry's size");
        if (size > data.size() - at) offsets.fail("entries that fit the attribute section");
        typename std::remove_reference_t<decltype(table)>::value_type entry;
        entry.bytes = data.subspan(at, size);
        entry.offset = static_cast<uint32_t>(data_base + at);
        entry.dialect = static_cast<uint32_t>(dialect);
        entry.custom = custom;
        table.push_back(entry);
        at += size;
      }
    }
  };
  read_table(attrs_, attr_count);
  read_table(types_, type_count);
  loc_ids_.assign(attrs_.size(), kNoLoc);
}

std::string_view AttrTables::text_of(const Entry& e) const {
  std::string_view text(reinterpret_cast<const char*>(e.bytes.data()), e.bytes.size());
  while (text.ends_with('\0')) text.remove_suffix(1);
  return text;
}

// Marks an entry as being decoded: one that is met again contains itself.
void AttrTables::enter(Entry& e, int depth, const char* what) const {
  if (e.busy)
    throw InputError(std::string(name_), "at byte " + std::to_string(e.offset) + ": " + what + " contains itself");
  if (depth > kMaxAttrDepth)
    throw InputError(std::string(name_), "at byte " + std::to_string(e.offset) + ": " + what +
                                             " is nested deeper than " + std::to_string(kMaxAttrDepth));
  e.busy = true;
}

uint64_t AttrTables::parts_of(const Type& type) const {
  uint64_t total = 1 + type.text.size() / 16;
  if (type.layout) total += type.layout->parts;
  for (std::span<const Type* const> list : {type.inputs, type.results})
    for (const Type* t : list) total += t->parts;
  return total;
}

uint64_t AttrTables::parts_of(const Attr& attr) const {
  uint64_t total = 1 + attr.text.size() / 16 + attr.integers.size();
  if (attr.type) total += attr.type->parts;
  if (attr.map) total += attr.map->nodes.size() + attr.map->results.size();
  for (const Attr* e : attr.elements) total += e->parts;
  for (const NamedAttr& e : attr.entries) total += 1 + e.name.size() / 16 + e.value->parts;
  return total;
}

uint32_t AttrTables::checked_parts(const Entry& entry, uint64_t total) const {
  if (total > kMaxAttrParts)
    throw InputError(std::string(name_), "at byte " + std::to_string(entry.offset) +
                                             ": an attribute or type that spells out to more than " +
                                             std::to_string(kMaxAttrParts) + " parts");
  return static_cast<uint32_t>(total);
}

const Attr* AttrTables::attr_number(size_t i, int depth) {
  Cached<Attr>& entry = attrs_[i];
  if (!entry.value) {
    enter(entry, depth, "an attribute");
    Attr* attr = decode_attr(entry, depth);
    attr->parts = checked_parts(entry, parts_of(*attr));
    entry.value = attr;
    entry.busy = false;
  }
  return entry.value;
}

const Type* AttrTables::type_number(size_t i, int depth) {
  Cached<Type>& entry = types_[i];
  if (!entry.value) {
    enter(entry, depth, "a type");
    Type* type = decode_type(entry, depth);
    type->parts = checked_parts(entry, parts_of(*type));
    entry.value = type;
    entry.busy = false;
  }
  return entry.value;
}

int AttrTables::bit_width(const Type& type, const ByteCursor& at) const {
  if (type.kind == TypeKind::index) return 64;
  if (type.kind == TypeKind::scalar) return bits(type.dtype);
  // An integer of a width we have no element type for ("i128").
  if (type.kind == TypeKind::opaque && type.text.starts_with("i")) {
    int width = 0;
    for (char c : type.text.substr(1)) width = c >= '0' && c <= '9' && width < 10000 ? width * 10 + (c - '0') : 10000;
    return width;
  }
  at.fail("a number's type", to_string(type));
}

int64_t AttrTables::read_integer(ByteCursor& at, const Type& type) const {
  const int width = bit_width(type, at);
  if (width > 64) at.fail("an integer of at most 64 bits", to_string(type));
  // Numbers up to 8 bits are one byte; wider ones the zigzag of the bits as an unsigned number.
  uint64_t value = width <= 8 ? at.byte("an integer") : static_cast<uint64_t>(at.signed_varint("an integer"));
  if (width == 64) return static_cast<int64_t>(value);
  value &= (uint64_t{1} << width) - 1;
  const bool is_signed = type.kind == TypeKind::scalar && is_signed_int(type.dtype);
  if (is_signed && (value >> (width - 1)) != 0) value |= ~uint64_t{0} << width;
  return static_cast<int64_t>(value);
}

void AttrTables::read_dense_array(ByteCursor& at, Attr& attr, int depth) {
  attr.kind = AttrKind::dense_array;
  attr.type = type_number(at.index(types_.size(), "an element type"), depth + 1);
  const int width = bit_width(*attr.type, at);
  const size_t element = static_cast<size_t>(std::max(1, width / 8));
  const uint64_t n = at.varint("a number of elements");
  const std::span<const uint8_t> blob =
      at.take(at.check_count(at.varint("a size in bytes"), "array data"), "array data");
  if (element > 8 || n != blob.size() / element || blob.size() % element != 0)
    at.fail("array data of its number of elements", std::to_string(blob.size()) + " bytes for " + std::to_string(n));
  attr.data = std::as_bytes(blob);
  if (attr.type->kind == TypeKind::scalar && is_floating(attr.type->dtype)) return;
  const std::span<int64_t> values = module_.make_array<int64_t>(n);
  for (size_t i = 0; i < n; ++i) {
    uint64_t v = 0;
    std::memcpy(&v, blob.data() + i * element, element);
    const int shift = 64 - static_cast<int>(element) * 8;
    values[i] = width == 1 ? static_cast<int64_t>(v & 1) : static_cast<int64_t>(v << shift) >> shift;
  }
  attr.integers = values;
}

void AttrTables::read_dense_elements(ByteCursor& at, Attr& attr, int depth) {
  attr.kind = AttrKind::dense_elements;
  attr.type = type_number(at.index(types_.size(), "a type"), depth + 1);
  const Type& type = *attr.type;
  const std::span<const uint8_t> blob =
      at.take(at.check_count(at.varint("a size in bytes"), "element data"), "element data");
  const bool is_shaped = type.kind == TypeKind::vector || type.kind == TypeKind::tensor;
  const int64_t n = is_shaped && type.is_static() ? checked_element_count(type.shape) : -1;
  if (n < 0) at.fail("a static vector or tensor type", to_string(type));
  const int width = bits(type.dtype);
  attr.data = std::as_bytes(blob);
  if (width != 1) {
    const auto element = static_cast<size_t>(std::max(1, width / 8));
    attr.splat = n != 1 && blob.size() == element;
    if (!attr.splat && (blob.size() % element != 0 || blob.size() / element != static_cast<uint64_t>(n)))
      at.fail("element data of the type's size",
              std::to_string(blob.size()) + " bytes for " + std::to_string(n) + " elements");
    return;
  }
  // i1: one byte each, or eight to a byte, or one byte for a splat (0x00, and 0xff or 0x01).
  const auto packed_bytes = static_cast<uint64_t>(n) / 8 + (n % 8 != 0);
  const bool one_byte = blob.size() == 1 && n > 1;
  const bool splat_value = one_byte && (blob[0] == 0x00 || blob[0] == 0xff || blob[0] == 0x01 || n > 8);
  std::span<std::byte> values;
  if (splat_value || (n == 1 && blob.size() == 1)) {
    attr.splat = n != 1;
    values = module_.make_array<std::byte>(1);
    values[0] = std::byte(blob[0] & 1);
  } else if (blob.size() == static_cast<uint64_t>(n)) {
    values = module_.make_array<std::byte>(blob.size());
    for (size_t i = 0; i < blob.size(); ++i) values[i] = std::byte(blob[i] & 1);
  } else if (blob.size() == packed_bytes) {
    values = module_.make_array<std::byte>(static_cast<size_t>(n));
    for (size_t i = 0; i < values.size(); ++i) values[i] = std::byte((blob[i / 8] >> (i % 8)) & 1);
  } else {
    at.fail("element data of the type's size",
            std::to_string(blob.size()) + " bytes for " + std::to_string(n) + " elements");
  }
  attr.data = values;
}

Attr* AttrTables::decode_attr(const Entry& entry, int depth) {
  if (!entry.custom) {
    TextCursor text(text_of(entry), name_, entry.offset);
    const Attr* attr = parse_attr(module_, text);
    if (!text.done()) text.fail("the end of the attribute");
    return module_.make(*attr);
  }
  ByteCursor at = cursor(entry);
  Attr attr;
  const auto next = [&](const char* what) { return attr_number(at.index(attrs_.size(), what), depth + 1); };
  const auto next_type = [&] { return type_number(at.index(types_.size(), "a type"), depth + 1); };
  const uint64_t code = at.varint("an attribute's code");
  switch (code) {
    case kArray: {
      const std::span<const Attr*> list = module_.make_array<const Attr*>(at.count("a number of attributes"));
      for (const Attr*& a : list) a = next("an attribute");
      attr.kind = AttrKind::array;
      attr.elements = list;
      break;
    }
    case kDict: {
      const std::span<NamedAttr> list = module_.make_array<NamedAttr>(at.count("a number of entries", 2));
      for (NamedAttr& named : list) {
        const Attr* key = next("an attribute's name");
        if (key->kind != AttrKind::string) at.fail("an attribute's name", to_string(*key));
        named.name = key->text;
        named.id = find_attr_name(key->text);
        named.value = next("an attribute");
      }
      attr.kind = AttrKind::dict;
      attr.entries = list;
      break;
    }
    case kString:
    case kStringWithType:
      attr.kind = AttrKind::string;
      attr.text = string(at, "a string");
      if (code == kStringWithType) attr.type = next_type();
      break;
    case kFlatSymbol:
    case kSymbol: {
      const Attr* root = next("a symbol's name");
      if (root->kind != AttrKind::string) at.fail("a symbol's name", to_string(*root));
      attr.kind = code == kFlatSymbol ? AttrKind::symbol : AttrKind::unknown;  // nested symbols are not used here
      attr.text = root->text;
      break;
    }
    case kType:
      attr.kind = AttrKind::type;
      attr.type = next_type();
      break;
    case kUnit:
      break;
    case kInteger:
      attr.kind = AttrKind::integer;
      attr.type = next_type();
      attr.integer = read_integer(at, *attr.type);
      break;
    case kFloat: {
      attr.kind = AttrKind::floating;
      attr.type = next_type();
      if (attr.type->kind != TypeKind::scalar || !is_floating(attr.type->dtype))
        at.fail("a float type", to_string(*attr.type));
      const int64_t value = read_integer(at, *attr.type);
      attr.integer = value;
      attr.floating = load_as_double(attr.type->dtype, &value);  // little-endian: the low bytes come first
      break;
    }
    case kDenseArray:
      read_dense_array(at, attr, depth);
      break;
    case kDenseElements:
      read_dense_elements(at, attr, depth);
      break;
    case kAffineMap: {
      // One number: rank * 4 + kind, of which only the identity (0) has been seen.
      const uint64_t v = at.varint("an affine map");
      const uint64_t rank = v >> 2;
      if ((v & 3) != 0 || rank > kMaxRank || !at.done()) {
        attr.kind = AttrKind::unknown;
        break;
      }
      AffineMap map;
      map.dims = static_cast<int>(rank);
      const std::span<AffineExpr> nodes = module_.make_array<AffineExpr>(rank);
      const std::span<uint32_t> results = module_.make_array<uint32_t>(rank);
      for (size_t i = 0; i < rank; ++i) {
        nodes[i] = {AffineExpr::Kind::dim, static_cast<int64_t>(i), 0, 0};
        results[i] = static_cast<uint32_t>(i);
      }
      map.nodes = nodes;
      map.results = results;
      attr.kind = AttrKind::affine_map;
      attr.map = module_.make(map);
      break;
    }
    case kCallSiteLoc:
    case kFileLineColLoc:
    case kFusedLoc:
    case kFusedLocWithMetadata:
    case kNameLoc:
    case kUnknownLoc:
    case kFileLineColRange:
      attr.kind = AttrKind::location;
      break;
    default:
      attr.kind = AttrKind::unknown;
      attr.text = module_.copy("attribute of code " + std::to_string(code));
  }
  return module_.make(attr);
}

// ---- locations

LocId AttrTables::location_number(size_t i) {
  if (loc_ids_[i] == kNoLoc) {
    loc_ids_[i] = static_cast<LocId>(module_.locs.size());
    module_.locs.emplace_back();
    loc_pending_.emplace_back(loc_ids_[i], i);
  }
  return loc_ids_[i];
}

void AttrTables::finish_locations() {
  // Decoding one may hand out more.
  while (!loc_pending_.empty()) {
    const auto [id, number] = loc_pending_.back();
    loc_pending_.pop_back();
    try {
      decode_location(id, attrs_[number]);
    } catch (const InputError&) {
      module_.locs[id] = LocNode{};
    }
  }
}

void AttrTables::decode_location(LocId id, const Entry& entry) {
  if (!entry.custom) return;
  ByteCursor at = cursor(entry);
  LocNode node;
  const auto text = [&] {
    const Attr* attr = attr_number(at.index(attrs_.size(), "a name"), 0);
    return attr->kind == AttrKind::string ? attr->text : std::string_view{};
  };
  const auto number = [&] { return static_cast<int>(std::min<uint64_t>(at.varint("a line or column"), 1u << 30)); };
  switch (at.varint("a location's code")) {
    case kCallSiteLoc:
      node.kind = LocNode::Kind::callsite;
      node.child = location(at);
      node.caller = location(at);
      break;
    case kFileLineColLoc:
      node.kind = LocNode::Kind::file;
      node.text = text();
      node.line = number();
      node.column = number();
      break;
    case kFileLineColRange: {
      node.kind = LocNode::Kind::file;
      node.text = text();
      const size_t n = at.count("a number of lines and columns");
      if (n > 0) node.line = number();
      if (n > 1) node.column = number();
      break;
    }
    case kFusedLoc:
    case kFusedLocWithMetadata:
      node.kind = LocNode::Kind::fused;
      if (at.count("a number of locations") > 0) node.child = location(at);
      break;
    case kNameLoc:
      node.kind = LocNode::Kind::name;
      node.text = text();
      node.child = location(at);
      break;
    default:
      break;
  }
  module_.locs[id] = node;
}

}  // namespace tilecheck::mosaic
