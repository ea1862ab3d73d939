// A decoded kernel in memory: what the executor, `inspect`, the fit model and the writer all read.
//
// A Module owns everything it points to (an arena and the payload's bytes); ops, types, attributes and locations are
// plain structs in that arena. Names carry no `stable_mosaic.` prefix. A module from load_module() has been upgraded to
// the newest form of every operation and has passed the verifier, so readers may trust operand counts and types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <memory_resource>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/mosaic/attr_names.h"
#include "sim/mosaic/op_table.h"
#include "sim/report/loc.h"
#include "sim/spec/kernel_spec.h"
#include "sim/types/dtype.h"
#include "sim/types/shape.h"

namespace tilecheck::mosaic {

struct Attr;
struct Op;
struct Type;

// A dimension or bound known only at run time (MLIR's ShapedType::kDynamic).
inline constexpr int64_t kDynamic = std::numeric_limits<int64_t>::min();

enum class TypeKind : uint8_t {
  none,
  index,     // dtype i64
  scalar,    // dtype
  vector,    // shape, dtype
  memref,    // shape, dtype, space, layout
  tensor,    // shape, dtype
  function,  // inputs, results
  opaque,    // anything else: text
};

struct Type {
  TypeKind kind = TypeKind::none;
  // The element; b1 for MLIR's i1, i32 for both i32 and si32, u32 for ui32. Meaningless for function and opaque.
  DType dtype = DType::i32;
  bool written_signed = false;   // scalar: it was si32, not i32; no difference but in the text
  Space space = Space::any;      // memref; one without a memory space is in `any`
  Shape shape;                   // dimensions may be kDynamic (memref only)
  const Attr* layout = nullptr;  // memref: null is row-major; else an affine_map or a text attribute (#tpu.tiled)
  std::span<const Type*const> inputs, results;
  std::string_view text;  // opaque: as written
  uint32_t parts = 1;     // how many types and attributes it spells out to, itself included

  bool is_memref() const { return kind == TypeKind::memref; }
  bool is_vector() const { return kind == TypeKind::vector; }
  bool is_scalar() const { return kind == TypeKind::scalar || kind == TypeKind::index; }
  bool is_static() const;
  friend bool operator==(const Type& a, const Type& b);
};
// "memref<8x128xf32, vmem>", "vector<8x128xbf16>", "i32".
std::string to_string(const Type& type);

enum class AttrKind : uint8_t {
  unit,
  integer,         // integer, type
  floating,        // floating, type
  string,          // text
  symbol,          // text, without the @
  type,            // type
  array,           // elements
  dict,            // entries
  dense_array,     // type (the element); integers, or floats in data
  dense_elements,  // type (vector or tensor); data, splat
  affine_map,      // map
  dialect,         // #tpu.x<...>, #arith.x<...>: text is the whole, mnemonic and body its parts
  location,        // a location met where an attribute stands
  unknown,         // a bytecode code this reader does not know; an error if anything needs its value
};

struct NamedAttr {
  AttrName id = AttrName::other;
  std::string_view name;
  const Attr* value = nullptr;
};

// An expression of an affine map: d0, s0, a constant, or two operands in the map's expression list.
struct AffineExpr {
  enum class Kind : uint8_t { dim, symbol, constant, add, mul, mod, floordiv, ceildiv } kind = Kind::constant;
  int64_t value = 0;             // dim, symbol: the position; constant: the value
  uint32_t left = 0, right = 0;  // positions in AffineMap::nodes, each less than this node's own
};
struct AffineMap {
  int dims = 0, symbols = 0;
  std::span<const AffineExpr> nodes;
  std::span<const uint32_t> results;  // positions in nodes
  bool is_identity() const;
  // The value of result i. Division by zero and overflow wrap as two's complement; floordiv by 0 gives 0.
  int64_t eval(int i, std::span<const int64_t> dim_values, std::span<const int64_t> symbol_values = {}) const;
};

struct Attr {
  AttrKind kind = AttrKind::unit;
  const Type* type = nullptr;
  int64_t integer = 0;  // sign-extended unless the type is unsigned; i1: 0 or 1; index: 64 bits
  double floating = 0;  // exact for every float type up to f64
  bool splat = false;   // dense_elements: data holds one element
  std::string_view text;
  std::string_view mnemonic, body;  // dialect: "tpu.memory_space" and "vmem" of "#tpu.memory_space<vmem>"
  std::span<const Attr* const> elements;
  std::span<const NamedAttr> entries;
  std::span<const int64_t> integers;  // dense_array of integers or bools
  std::span<const std::byte> data;    // little-endian; i1 and sub-byte elements take one byte each
  const AffineMap* map = nullptr;
  uint32_t parts = 1;  // how many types and attributes it spells out to, itself included

  const Attr* find(AttrName id) const { return find(entries, id); }  // dict
  static const Attr* find(std::span<const NamedAttr> entries, AttrName id) {
    for (const NamedAttr& entry : entries)
      if (entry.id == id) return entry.value;
    return nullptr;
  }
};
// MLIR-like text: `dense<0.5>`, `array<i32: 1, 2>`, `#tpu.memory_space<vmem>`.
std::string to_string(const Attr& attr);

// ---- locations ----

using LocId = uint32_t;
inline constexpr LocId kNoLoc = std::numeric_limits<LocId>::max();

// One source position of a traceback.
struct Frame {
  std::string_view file, function;
  int line = 0, column = 0;  // 1-based; 0: unknown
};
// As stored: a tree by index, kept undecoded in cases nobody asks about.
struct LocNode {
  enum class Kind : uint8_t { unknown, file, name, callsite, fused } kind = Kind::unknown;
  std::string_view text;                  // file: its name. name: the name
  int line = 0, column = 0;               // the column as JAX has it: from 0
  LocId child = kNoLoc, caller = kNoLoc;  // callsite: callee and caller. name, fused: the (first) child
};

// ---- operations ----

// Dense within a function: 0 .. Function::value_types.size() - 1.
using ValueId = uint32_t;

struct Block {
  ValueId first_arg = 0;
  uint32_t arg_count = 0;
  std::span<Op> ops;
  std::span<const LocId> arg_locs;  // one per argument (JAX names kernel arguments so), or none
};
struct Region {
  std::span<Block> blocks;  // one, after the verifier; none for an absent else branch
  bool empty() const { return blocks.empty(); }
  const Block& block() const { return blocks[0]; }
  Block& block() { return blocks[0]; }
};

struct Op {
  OpCode code = OpCode::unknown;
  std::string_view name;  // "tpu.vector_store"
  std::span<const ValueId> operands;
  ValueId first_result = 0;  // results have consecutive ids
  uint32_t result_count = 0;
  std::span<const NamedAttr> attrs;
  std::span<Region> regions;
  LocId loc = kNoLoc;
  uint32_t offset = 0;  // byte offset in the payload, for messages

  ValueId result(uint32_t i = 0) const { return first_result + i; }
  const Attr* find(AttrName id) const { return Attr::find(attrs, id); }
  bool has(AttrName id) const { return find(id) != nullptr; }
  // The attribute's value; the default where it is absent or of another kind. A bool is an integer of type i1, or unit.
  int64_t int_or(AttrName id, int64_t otherwise) const;
  bool bool_or(AttrName id, bool otherwise) const { return int_or(id, otherwise ? 1 : 0) != 0; }
  std::string_view string_or(AttrName id, std::string_view otherwise) const;
  // A dense_array of integers, or an array of integer attributes copied into Dims (at most kMaxRank).
  std::span<const int64_t> ints(AttrName id) const;
  Dims dims(AttrName id) const;
  // The body of a dialect attribute: "maximumf" of kind = #vector.kind<maximumf>; empty if absent.
  std::string_view enum_body(AttrName id) const;
  // The operands of one segment of operandSegmentSizes (op_table.h says which operations have it).
  std::span<const ValueId> segment(int i) const;
};

struct Function {
  std::string_view name;
  const Type* type = nullptr;  // function type
  std::span<const NamedAttr> attrs;
  Region body;
  LocId loc = kNoLoc;
  uint32_t offset = 0;                   // byte offset of func.func in the payload, for messages
  std::vector<const Type*> value_types;  // by ValueId

  const Attr* find(AttrName id) const { return Attr::find(attrs, id); }
  const Type& type_of(ValueId id) const { return *value_types[id]; }
  uint32_t arg_count() const { return body.block().arg_count; }
};

struct Module {
  Module();
  Module(Module&&) = default;
  Module& operator=(Module&&) = default;

  int ir_version = 0;         // `stable_mosaic.version`; 0 before there was one. As read: the ops are upgraded
  int bytecode_version = 0;   // of the MLIR container
  std::string_view producer;  // "MLIR23.0.0git"
  uint32_t offset = 0;        // byte offset of builtin.module, for messages
  std::span<const NamedAttr> attrs;
  LocId loc = kNoLoc;
  std::vector<Function> functions;
  std::vector<LocNode> locs;

  const Function* find_function(std::string_view name) const;

  // Arena storage; freed with the module.
  template <typename T>
  T* make(T value = {}) {
    static_assert(std::is_trivially_destructible_v<T>);
    return new (arena_->allocate(sizeof(T), alignof(T))) T(std::move(value));
  }
  template <typename T>
  std::span<T> make_array(size_t n) {
    static_assert(std::is_trivially_destructible_v<T>);
    if (n == 0) return {};
    T* data = static_cast<T*>(arena_->allocate(n * sizeof(T), alignof(T)));
    for (size_t i = 0; i < n; ++i) new (data + i) T();
    return {data, n};
  }
  template <typename T>
  std::span<T> copy(std::span<const T> values) {
    std::span<T> out = make_array<T>(values.size());
    for (size_t i = 0; i < values.size(); ++i) out[i] = values[i];
    return out;
  }
  std::string_view copy(std::string_view text);

 private:
  std::unique_ptr<std::pmr::monotonic_buffer_resource> arena_;
};

// The source positions of a location, innermost first (at most kMaxFrames); empty if unknown.
inline constexpr size_t kMaxFrames = 128;
std::vector<Frame> frames(const Module& module, LocId loc);
// The position to show a user: the innermost frame outside JAX's own files, else the innermost; empty if unknown.
Frame user_frame(const Module& module, LocId loc);
// The primitive that the operation came from, where the location names it ("dma_start", "add"); may be empty.
std::string_view primitive_name(const Module& module, LocId loc);
// The name that a block argument has in the source ("q_ref"); empty where the payload does not say.
std::string_view argument_name(const Module& module, const Block& block, uint32_t i);
// "gen.py:26:8 (kernel)"; "unknown source" if there is none.
std::string to_string(const Frame& frame);
// user_frame as findings carry it (strings interned).
Loc user_loc(const Module& module, LocId loc);

// Calls fn(op) for every operation of a region, outer before inner.
template <typename Fn>
void walk(const Region& region, Fn&& fn) {
  for (const Block& block : region.blocks)
    for (const Op& op : block.ops) {
      fn(op);
      for (const Region& inner : op.regions) walk(inner, fn);
    }
}

}  // namespace tilecheck::mosaic
