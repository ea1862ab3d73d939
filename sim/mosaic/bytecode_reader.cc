#include "sim/mosaic/bytecode_reader.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "sim/mosaic/bytecode_attrs.h"
#include "sim/mosaic/bytecode_format.h"

namespace tilecheck::mosaic {
namespace {

using namespace bytecode;

constexpr std::string_view kSerdePrefix = "stable_mosaic.";

// The values that a region (or an operation isolated from above) adds to those in sight. Numbers in the payload count
// values in sight; ids count all values of the function.
struct Span {
  uint64_t first_number;
  uint64_t count;
  ValueId first_id;
};

class Reader {
 public:
  Reader(Module& module, std::span<const uint8_t> bytes, std::string_view name)
      : module_(module), bytes_(bytes), name_(name), tables_(module, name) {}

  void read() {
    ByteCursor at(bytes_, 0, name_);
    for (uint8_t magic : kMagic)
      if (at.done() || at.byte("MLIR bytecode") != magic)
        at.fail_at(0, "MLIR bytecode (it begins with `ML`, EF, `R`)", "");
    const uint64_t version = at.varint("the bytecode version");
    if (version > kNewestVersion) at.fail("a bytecode version of at most 6", std::to_string(version));
    version_ = static_cast<int>(version);
    module_.bytecode_version = version_;
    module_.producer = terminated(at);
    read_sections(at);
    ByteCursor strings = section(kStrings);
    tables_.read_strings(strings);
    read_dialects(section(kDialects));
    const Found& data = require(kAttrTypeData);
    tables_.read_offsets(section(kAttrTypeOffsets), data.bytes, data.base);
    read_ir(section(kIr));
    tables_.finish_locations();
  }

 private:
  struct Found {
    std::span<const uint8_t> bytes;
    size_t base = 0;
    bool present = false;
  };

  std::string_view terminated(ByteCursor& at) {
    const size_t begin = at.offset();
    while (at.byte("the producer's name, ended by 0") != 0) {
    }
    return {reinterpret_cast<const char*>(bytes_.data()) + begin, at.offset() - begin - 1};
  }

  static Found read_section(ByteCursor& at, uint8_t& id) {
    id = at.byte("a section");
    const bool aligned = id & 0x80;
    id &= 0x7f;
    const uint64_t length = at.varint("a section's length");
    if (aligned) {
      const uint64_t alignment = at.varint("a section's alignment");
      if (alignment == 0 || (alignment & (alignment - 1)) != 0) at.fail("an alignment that is a power of two");
      while (at.offset() % alignment != 0)
        if (at.byte("padding") != 0xcb) at.fail("padding of 0xCB");
    }
    Found found;
    found.base = at.offset();
    found.bytes = at.take(at.check_count(length, "a section"), "a section");
    found.present = true;
    return found;
  }

  void read_sections(ByteCursor& at) {
    while (!at.done()) {
      const size_t start = at.offset();
      uint8_t id = 0;
      const Found found = read_section(at, id);
      if (id >= kSectionCount) at.fail_at(start, "a section number below 9", std::to_string(id));
      if (sections_[id].present) at.fail_at(start, "each section once", "section " + std::to_string(id) + " again");
      sections_[id] = found;
    }
  }

  const Found& require(Section id) const {
    static constexpr const char* kNames[] = {"string", "dialect", "attribute", "attribute offset", "IR"};
    if (!sections_[id].present)
      throw InputError(std::string(name_), "at byte " + std::to_string(bytes_.size()) + ", the end: the " +
                                               std::string(kNames[id]) + " section is missing");
    return sections_[id];
  }
  ByteCursor section(Section id) const {
    const Found& found = require(id);
    return {found.bytes, found.base, name_};
  }

  void read_dialects(ByteCursor at) {
    const size_t n = at.count("the number of dialects");
    std::vector<std::string_view> dialects;
    dialects.reserve(n);
    for (size_t i = 0; i < n; ++i) {
      if (version_ < kSinceDialectVersions) {
        dialects.push_back(tables_.string(at, "a dialect's name"));
        continue;
      }
      bool versioned = false;
      const uint64_t name = at.varint_flag(versioned, "a dialect's name");
      if (name >= tables_.string_count()) at.fail("a string's number");
      dialects.push_back(tables_.string(name));
      if (versioned) {
        uint8_t id = 0;
        read_section(at, id);
      }
    }
    if (version_ >= kSinceElidedArgLocs) at.varint("the number of operation names");
    std::string full;
    while (!at.done()) {
      const size_t dialect = at.index(dialects.size(), "a dialect");
      const size_t count = at.count("a number of operation names");
      for (size_t i = 0; i < count; ++i) {
        uint64_t name = at.varint("an operation's name");
        bool registered = false;
        if (version_ >= kSinceProperties) {
          registered = name & 1;
          name >>= 1;
        }
        if (name >= tables_.string_count()) at.fail("a string's number");
        // "stable_mosaic" + "arith.addf", or before there was a stable form "arith" + "addf".
        full.assign(dialects[dialect]).append(".").append(tables_.string(name));
        std::string_view text = full;
        const bool serde = text.starts_with(kSerdePrefix);
        if (serde) text.remove_prefix(kSerdePrefix.size());
        const OpCode code = find_op(text);
        op_names_.push_back({code, code == OpCode::unknown ? module_.copy(text) : info(code).name, registered});
      }
    }
    tables_.set_dialects(std::move(dialects));
  }

  // ---- IR

  struct OpName {
    OpCode code;
    std::string_view name;
    bool registered;
  };

  void read_ir(ByteCursor at) {
    bool has_args = false;
    const uint64_t n = at.varint_flag(has_args, "the number of operations");
    if (n != 1 || has_args) at.fail("one top-level operation");
    Op top = read_op(at, 0);
    if (!at.done()) at.fail("the end of the IR");
    if (top.code != OpCode::builtin_module || top.regions.size() != 1)
      throw InputError(std::string(name_), "at byte " + std::to_string(top.offset) +
                                               ": expected builtin.module at the top, found " + std::string(top.name));
    module_.offset = top.offset;
    module_.attrs = top.attrs;
    module_.loc = top.loc;
    if (const Attr* v = top.find(AttrName::stable_mosaic_version); v && v->kind == AttrKind::integer)
      module_.ir_version = static_cast<int>(std::clamp<int64_t>(v->integer, 0, 1 << 20));
    if (!has_function_) return;
    // Operations of the module region that are no functions carry nothing a kernel needs, and are refused.
    for (const Block& block : top.regions[0].blocks)
      for (const Op& op : block.ops)
        if (op.code != OpCode::func_func)
          throw InputError(std::string(name_), "at byte " + std::to_string(op.offset) +
                                                   ": expected func.func in the module, found " + std::string(op.name));
  }

  Op read_op(ByteCursor& at, int depth) {
    Op op;
    op.offset = static_cast<uint32_t>(at.offset());
    const OpName& name = op_names_[at.index(op_names_.size(), "an operation's name")];
    op.code = name.code;
    op.name = name.name;
    const uint8_t mask = at.byte("an operation's contents");
    if (mask & 0x80) at.fail("a known operation mask", std::to_string(mask));
    op.loc = tables_.location(at);
    if (mask & kHasAttrs) op.attrs = dictionary(at);
    if (mask & kHasProperties) read_properties(at, name, op);
    const bool is_function = op.code == OpCode::func_func;
    if (is_function && in_function_) at.fail("no function within a function");
    if (mask & kHasResults) {
      if (is_function) at.fail("a function without results of its own");
      op.result_count = static_cast<uint32_t>(at.count("a number of results"));
      op.first_result = define(at, op.result_count);
      for (uint32_t i = 0; i < op.result_count; ++i)
        value_types_[op.first_result + i] = tables_.type(at, "a result's type");
    }
    if (mask & kHasOperands) {
      const std::span<ValueId> operands = module_.make_array<ValueId>(at.count("a number of operands"));
      for (ValueId& id : operands) id = value(at);
      op.operands = operands;
    }
    if (mask & kHasSuccessors) {
      const size_t n = at.count("a number of successors");
      for (size_t i = 0; i < n; ++i) at.varint("a successor");
    }
    if (version_ >= kSinceUseLists && (mask & kHasUseLists)) skip_use_lists(at, op.result_count);
    if (mask & kHasRegions) {
      bool isolated = false;
      const uint64_t n = at.varint_flag(isolated, "a number of regions");
      const std::span<Region> regions = module_.make_array<Region>(at.check_count(n, "a number of regions"));
      std::vector<Span> outer;
      std::vector<const Type*> outer_types;
      if (isolated || is_function) outer.swap(spans_);
      if (is_function) {
        in_function_ = true;
        outer_types.swap(value_types_);
      }
      for (Region& region : regions) {
        if (isolated && version_ >= kSinceLazyRegions) {
          uint8_t id = 0;
          const Found found = read_section(at, id);
          if (id != kIr) at.fail("a region's IR section", "section " + std::to_string(id));
          ByteCursor inner(found.bytes, found.base, name_);
          region = read_region(inner, depth + 1);
          if (!inner.done()) inner.fail("the end of the region");
        } else {
          region = read_region(at, depth + 1);
        }
      }
      if (isolated || is_function) outer.swap(spans_);
      op.regions = regions;
      if (is_function) {
        finish_function(op);
        value_types_ = std::move(outer_types);
      }
    } else if (is_function) {
      at.fail("a function with a body");
    }
    return op;
  }

  std::span<const NamedAttr> dictionary(ByteCursor& at) {
    const Attr* attr = tables_.attr(at, "an attribute dictionary");
    if (attr->kind != AttrKind::dict) at.fail("an attribute dictionary", to_string(*attr));
    return attr->entries;
  }

  // Unregistered operations (all of a Mosaic payload) keep properties as a dictionary; those of registered ones are in
  // an encoding of their own that only their dialect knows.
  void read_properties(ByteCursor& at, const OpName& name, Op& op) {
    if (name.registered) {
      if (name.code != OpCode::builtin_module)
        throw Incomplete("bytecode of version " + std::to_string(version_) + " with native properties of " +
                         std::string(name.name));
      at.varint("a property's number");  // the module's name and visibility, of which nothing depends
      return;
    }
    const std::span<const NamedAttr> more = dictionary(at);
    if (op.attrs.empty() || more.empty()) {
      if (op.attrs.empty()) op.attrs = more;
      return;
    }
    // Many operations may share both dictionaries: each pair is joined once.
    std::span<const NamedAttr>& joined = joined_[{op.attrs.data(), more.data()}];
    if (joined.empty()) {
      const std::span<NamedAttr> all = module_.make_array<NamedAttr>(op.attrs.size() + more.size());
      std::copy(op.attrs.begin(), op.attrs.end(), all.begin());
      std::copy(more.begin(), more.end(), all.begin() + static_cast<std::ptrdiff_t>(op.attrs.size()));
      joined = all;
    }
    op.attrs = joined;
  }

  void skip_use_lists(ByteCursor& at, size_t values) {
    const size_t lists = values > 1 ? at.count("a number of use lists") : 1;
    for (size_t i = 0; i < lists; ++i) {
      if (values > 1) at.varint("a value");
      bool pairs = false;
      const uint64_t n = at.check_count(at.varint_flag(pairs, "a use list"), "a use list");
      for (uint64_t k = 0; k < n; ++k) at.varint("a use");
    }
  }

  Region read_region(ByteCursor& at, int depth) {
    if (depth > kMaxRegionDepth) at.fail("at most 256 nested regions");
    Region region;
    const size_t blocks = at.count("a number of blocks");
    if (blocks == 0) return region;
    const uint64_t values = at.varint("a number of values");
    // Each value takes a byte somewhere for its type, so all together they cannot outnumber the payload's bytes.
    if (values > bytes_.size() - total_values_)
      at.fail("a number of values that the payload can hold", std::to_string(values));
    total_values_ += values;
    const uint64_t in_sight = spans_.empty() ? 0 : spans_.back().first_number + spans_.back().count;
    spans_.push_back({in_sight, values, static_cast<ValueId>(value_types_.size())});
    const ValueId first_of_region = static_cast<ValueId>(value_types_.size());
    const ValueId outer_next = next_value_;
    next_value_ = first_of_region;
    value_types_.resize(value_types_.size() + values, nullptr);
    const std::span<Block> list = module_.make_array<Block>(blocks);
    for (Block& block : list) read_block(at, block, depth);
    if (next_value_ != first_of_region + values)
      at.fail("a region with as many values as it announced",
              std::to_string(next_value_ - first_of_region) + " of " + std::to_string(values));
    spans_.pop_back();
    next_value_ = outer_next;
    region.blocks = list;
    return region;
  }

  void read_block(ByteCursor& at, Block& block, int depth) {
    bool has_args = false;
    // name, mask and location: an operation is at least three bytes
    const size_t ops = at.check_count(at.varint_flag(has_args, "a number of operations"), "a number of operations", 3);
    if (has_args) {
      block.arg_count = static_cast<uint32_t>(at.count("a number of arguments"));
      block.first_arg = define(at, block.arg_count);
      const std::span<LocId> locs = module_.make_array<LocId>(block.arg_count);
      for (uint32_t i = 0; i < block.arg_count; ++i) {
        if (version_ >= kSinceElidedArgLocs) {
          bool has_loc = false;
          const uint64_t type = at.varint_flag(has_loc, "an argument's type");
          if (type >= tables_.type_count()) at.fail("a type's number");
          value_types_[block.first_arg + i] = tables_.type_number(type);
          locs[i] = has_loc ? tables_.location(at) : kNoLoc;
        } else {
          value_types_[block.first_arg + i] = tables_.type(at, "an argument's type");
          locs[i] = tables_.location(at);
        }
      }
      block.arg_locs = locs;
      if (version_ >= kSinceUseLists && at.byte("a use list flag") != 0) skip_use_lists(at, block.arg_count);
    }
    // Kept aside until all are read: what a block claims to hold is not allocated on its word.
    const size_t first = pending_.size();
    for (size_t i = 0; i < ops; ++i) {
      const Op op = read_op(at, depth);
      pending_.push_back(op);
    }
    const std::span<Op> list = module_.make_array<Op>(ops);
    std::copy(pending_.begin() + static_cast<std::ptrdiff_t>(first), pending_.end(), list.begin());
    pending_.resize(first);
    block.ops = list;
  }

  // The ids of the next n values of the innermost region.
  ValueId define(ByteCursor& at, uint32_t n) {
    const ValueId first = next_value_;
    const uint64_t end = spans_.empty() ? 0 : spans_.back().first_id + spans_.back().count;
    if (n > end - std::min<uint64_t>(end, first)) at.fail("no more values than the region announced");
    next_value_ += n;
    return first;
  }

  ValueId value(ByteCursor& at) {
    const size_t offset = at.offset();
    const uint64_t number = at.varint("an operand");
    for (auto span = spans_.rbegin(); span != spans_.rend(); ++span)
      if (number >= span->first_number) {
        if (number - span->first_number >= span->count) break;
        return span->first_id + static_cast<ValueId>(number - span->first_number);
      }
    at.fail_at(offset, "an operand that is in sight", "value " + std::to_string(number));
  }

  void finish_function(const Op& op) {
    in_function_ = false;
    has_function_ = true;
    Function f;
    f.offset = op.offset;
    f.loc = op.loc;
    f.attrs = op.attrs;
    f.name = op.string_or(AttrName::sym_name, "");
    if (const Attr* type = op.find(AttrName::function_type); type && type->kind == AttrKind::type) f.type = type->type;
    if (!f.type || f.type->kind != TypeKind::function)
      throw InputError(std::string(name_),
                       "at byte " + std::to_string(op.offset) + ": expected func.func with a function_type");
    if (op.regions.size() != 1)
      throw InputError(std::string(name_),
                       "at byte " + std::to_string(op.offset) + ": expected func.func with one region");
    f.body = op.regions[0];
    f.value_types = std::move(value_types_);
    module_.functions.push_back(std::move(f));
  }

  Module& module_;
  std::span<const uint8_t> bytes_;
  std::string_view name_;
  AttrTables tables_;
  int version_ = 0;
  std::array<Found, kSectionCount> sections_{};
  std::vector<OpName> op_names_;
  std::vector<Span> spans_;               // of the regions around, outermost first
  std::vector<const Type*> value_types_;  // of the function being read
  std::vector<Op> pending_;
  std::map<std::pair<const NamedAttr*, const NamedAttr*>, std::span<const NamedAttr>> joined_;
  ValueId next_value_ = 0;
  uint64_t total_values_ = 0;
  bool in_function_ = false;
  bool has_function_ = false;
};

}  // namespace

bool is_bytecode(std::string_view bytes) {
  return bytes.size() >= kMagic.size() && std::equal(kMagic.begin(), kMagic.end(), bytes.begin(),
                                                     [](uint8_t a, char b) { return a == static_cast<uint8_t>(b); });
}

Module read_bytecode(std::span<const uint8_t> bytes, std::string_view name) {
  if (bytes.size() > kMaxPayloadBytes)
    throw InputError(std::string(name), "a payload of " + std::to_string(bytes.size()) + " bytes; at most " +
                                            std::to_string(kMaxPayloadBytes) + " are read");
  Module module;
  // The module keeps the bytes: strings point into them.
  const std::string_view kept =
      module.copy(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  Reader(module, {reinterpret_cast<const uint8_t*>(kept.data()), kept.size()}, name).read();
  return module;
}

}  // namespace tilecheck::mosaic
