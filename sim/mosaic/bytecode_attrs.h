// The strings, attributes, types and locations of a bytecode payload, decoded when first asked for.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/mosaic/bytecode_cursor.h"
#include "sim/mosaic/ir.h"

namespace tilecheck::mosaic {

// Entries that nothing refers to are never looked at, so a payload may hold attributes of a newer MLIR. Errors are
// InputErrors with the byte offset.
class AttrTables {
 public:
  AttrTables(Module& module, std::string_view name) : module_(module), name_(name) {}

  void read_strings(ByteCursor section);
  void set_dialects(std::vector<std::string_view> names) { dialects_ = std::move(names); }
  void read_offsets(ByteCursor offsets, std::span<const uint8_t> data, size_t data_base);

  std::string_view string(ByteCursor& at, const char* what) { return strings_[at.index(strings_.size(), what)]; }
  std::string_view string(size_t i) const { return strings_[i]; }
  size_t string_count() const { return strings_.size(); }

  // Each reads a number at the cursor and gives what it stands for.
  const Attr* attr(ByteCursor& at, const char* what) { return attr_number(at.index(attrs_.size(), what), 0); }
  const Type* type(ByteCursor& at, const char* what) { return type_number(at.index(types_.size(), what), 0); }
  LocId location(ByteCursor& at) { return location_number(at.index(attrs_.size(), "a location")); }
  const Type* type_number(size_t i) { return type_number(i, 0); }
  size_t type_count() const { return types_.size(); }

  // Fills Module::locs for every location handed out. What does not decode becomes unknown.
  void finish_locations();

 private:
  struct Entry {
    std::span<const uint8_t> bytes;
    uint32_t offset;
    uint32_t dialect;
    bool custom;  // the dialect's own encoding; else text
    bool busy = false;
  };
  template <typename T>
  struct Cached : Entry {
    const T* value = nullptr;
  };

  const Attr* attr_number(size_t i, int depth);
  const Type* type_number(size_t i, int depth);
  Attr* decode_attr(const Entry& entry, int depth);
  Type* decode_type(const Entry& entry, int depth);
  void decode_location(LocId id, const Entry& entry);
  LocId location_number(size_t i);
  ByteCursor cursor(const Entry& e) const { return {e.bytes, e.offset, name_}; }
  std::string_view text_of(const Entry& e) const;
  void enter(Entry& e, int depth, const char* what) const;
  uint32_t checked_parts(const Entry& entry, uint64_t total) const;
  int bit_width(const Type& type, const ByteCursor& at) const;
  int64_t read_integer(ByteCursor& at, const Type& type) const;
  uint64_t parts_of(const Attr& attr) const;
  uint64_t parts_of(const Type& type) const;
  void read_dense_array(ByteCursor& at, Attr& attr, int depth);
  void read_dense_elements(ByteCursor& at, Attr& attr, int depth);

  Module& module_;
  std::string_view name_;
  std::vector<std::string_view> strings_, dialects_;
  std::vector<Cached<Attr>> attrs_;
  std::vector<Cached<Type>> types_;
  std::vector<LocId> loc_ids_;                         // by attribute number
  std::vector<std::pair<LocId, size_t>> loc_pending_;  // and the attribute number to decode it from
};

}  // namespace tilecheck::mosaic
