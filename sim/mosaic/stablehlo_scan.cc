#include "sim/mosaic/stablehlo_scan.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "sim/mosaic/text.h"
#include "sim/types/error.h"

namespace tilecheck::mosaic {
namespace {

constexpr std::string_view kTpuCall = "tpu_custom_call";
constexpr size_t kMaxCalls = 4096;

class Scanner {
 public:
  Scanner(std::string_view text, std::string_view name) : text_(text), name_(name) {}

  std::vector<CustomCall> run() {
    size_t at = 0;
    while (true) {
      // Only these characters matter between operations: strings and comments hide what is inside them.
      at = text_.find_first_of("\"/cf", at);
      if (at == std::string_view::npos) break;
      const std::string_view here = text_.substr(at);
      if (here.starts_with("//")) {
        at = std::min(text_.find('\n', at), text_.size());
      } else if (here.front() == '"') {
        const size_t start = at;
        TextCursor cursor(text_, place(at));
        cursor.seek(at);
        const std::string_view quoted = cursor.quoted();
        at = cursor.at();
        // The generic form names its operation in a string.
        if (quoted == "stablehlo.custom_call") at = call(start, at, true);
      } else if (here.starts_with("custom_call") && at >= 10 && text_.substr(at - 10, 10) == "stablehlo.") {
        at = call(at - 10, at + 11, false);
      } else if (here.starts_with("func.func") && (at == 0 || text_[at - 1] == ' ' || text_[at - 1] == '\n')) {
        at = function(at + 9);
      } else {
        ++at;
      }
    }
    return std::move(calls_);
  }

 private:
  // "module.mlir line 12". Lines are counted as the scan goes on.
  std::string place(size_t at) {
    line_ += static_cast<int>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(counted_),
                                         text_.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
    counted_ = at;
    return std::string(name_) + " line " + std::to_string(line_);
  }

  size_t function(size_t at) {
    const size_t symbol = text_.find_first_of("@(\n", at);
    if (symbol == std::string_view::npos || text_[symbol] != '@') return at;
    TextCursor cursor(text_, place(at));
    cursor.seek(symbol + 1);
    function_ = cursor.peek() == '"' ? cursor.quoted() : cursor.word();
    return cursor.at();
  }

  // A call whose name ends at `at`; returns where it ends.
  size_t call(size_t start, size_t at, bool generic) {
    const std::string where = place(start);
    if (calls_.size() == kMaxCalls) throw InputError(where, "more than " + std::to_string(kMaxCalls) + " custom calls");
    CustomCall call;
    call.line = line_;
    call.function = function_;
    TextCursor cursor(text_, where);
    cursor.seek(at);
    if (!generic) {
      cursor.expect("@");
      call.target = cursor.peek() == '"' ? unescape(cursor.quoted(), where) : std::string(cursor.word());
    }
    cursor.expect("(");
    while (cursor.peek() != ')' && cursor.peek() != 0) {
      cursor.balanced();
      if (!cursor.eat(",")) break;
    }
    cursor.expect(")");
    // Attributes: {...}; in the generic form properties stand in <{...}> before them.
    std::vector<std::pair<std::string_view, std::string_view>> attrs;
    if (cursor.eat("<")) {
      dictionary(cursor, attrs);
      cursor.expect(">");
    }
    if (cursor.peek() == '{') dictionary(cursor, attrs);
    for (const auto& [key, value] : attrs)
      if (key == "call_target_name") call.target = string(value, where);
    cursor.expect(":");
    if (call.target == kTpuCall) {
      types(cursor, call, where);
      for (const auto& [key, value] : attrs) attribute(call, key, value, where);
    } else {
      for (const auto& [key, value] : attrs) {
        if (key == "backend_config" || key == "mhlo.backend_config") call.backend_config = string(value, where);
      }
    }
    const size_t end = cursor.at();
    calls_.push_back(std::move(call));
    return end;
  }

  static void dictionary(TextCursor& cursor, std::vector<std::pair<std::string_view, std::string_view>>& out) {
    cursor.expect("{");
    if (cursor.eat("}")) return;
    do {
      const std::string_view key = cursor.peek() == '"' ? cursor.quoted() : cursor.word();
      if (key.empty()) cursor.fail("an attribute's name");
      out.emplace_back(key, cursor.eat("=") ? cursor.balanced() : std::string_view("unit"));
    } while (cursor.eat(","));
    cursor.expect("}");
  }

  // A string attribute's text; anything else as it is written.
  static std::string string(std::string_view value, std::string_view where) {
    if (value.size() < 2 || value.front() != '"') return std::string(value);
    TextCursor cursor(value, where);
    return unescape(cursor.quoted(), where);
  }

  static ArrayType array_type(std::string_view text, std::string_view where) {
    Module scratch;
    TextCursor cursor(text, where);
    const Type* type = parse_type(scratch, cursor);
    if (type->kind != TypeKind::tensor || !type->is_static() || !cursor.done())
      throw InputError(std::string(where),
                       "expected a tensor type of static shape and a known element, found `" + std::string(text) + "`");
    if (checked_element_count(type->shape, 8) < 0)
      throw InputError(std::string(where), "`" + std::string(text) + "` has more bytes than 63 bits count");
    return {type->dtype, type->shape};
  }

  static void type_list(TextCursor& cursor, std::vector<ArrayType>& out, std::string_view where) {
    const bool tuple = cursor.eat("tuple<");
    const char* close = tuple ? ">" : ")";
    if (!tuple && !cursor.eat("(")) {
      out.push_back(array_type(cursor.balanced(), where));
      return;
    }
    if (cursor.eat(close)) return;
    do out.push_back(array_type(cursor.balanced(), where));
    while (cursor.eat(","));
    cursor.expect(close);
  }

  // (tensor<..>, tensor<..>) -> tensor<..> | (tensor<..>, ...) | tuple<...>
  static void types(TextCursor& cursor, CustomCall& call, std::string_view where) {
    if (cursor.peek() != '(') cursor.fail("operand types in parentheses");
    type_list(cursor, call.operands, where);
    cursor.expect("->");
    // A single result type is followed by whatever the next line holds: take the type alone.
    if (cursor.peek() != '(' && !peek_word(cursor, "tuple")) {
      const size_t start = cursor.at();
      cursor.word();
      if (cursor.peek() == '<') {
        cursor.eat("<");
        while (cursor.peek() != '>' && cursor.peek() != 0) {
          cursor.balanced();
          if (!cursor.eat(",")) break;
        }
        cursor.expect(">");
      }
      call.results.push_back(array_type(cursor.since(start), where));
    } else {
      type_list(cursor, call.results, where);
    }
  }
  static bool peek_word(TextCursor& cursor, std::string_view word) {
    cursor.peek();
    const size_t start = cursor.at();
    const bool is = cursor.word() == word;
    cursor.seek(start);
    return is;
  }

  static void attribute(CustomCall& call, std::string_view key, std::string_view value, const std::string& where) {
    TextCursor cursor(value, where + ", " + std::string(key));
    if (key == "backend_config" || key == "mhlo.backend_config") {
      call.backend_config = string(value, where);
    } else if (key == "kernel_name") {
      call.kernel_name = string(value, where);
    } else if (key == "api_version") {
      const std::optional<int64_t> version = cursor.integer();
      if (!version || *version < 0 || *version > 100) cursor.fail("a version number");
      call.api_version = static_cast<int>(*version);
    } else if (key == "has_side_effect") {
      call.has_side_effect = value.starts_with("true");
    } else if (key == "operand_layouts") {
      layouts(cursor, call.operands, "operand ");
    } else if (key == "result_layouts") {
      layouts(cursor, call.results, "result ");
    } else if (key == "output_operand_aliases") {
      aliases(cursor, call);
    } else if (key == "mhlo.frontend_attributes") {
      std::vector<std::pair<std::string_view, std::string_view>> entries;
      dictionary(cursor, entries);
      for (const auto& [name, text] : entries)
        if (name == "kernel_metadata") call.kernel_metadata = string(text, where);
    }
  }

  // [dense<[1, 0]> : tensor<2xindex>, ...]: row-major is rank - 1 down to 0.
  static void layouts(TextCursor& cursor, const std::vector<ArrayType>& types, const char* what) {
    cursor.expect("[");
    size_t i = 0;
    while (cursor.peek() != ']') {
      if (i == types.size()) cursor.fail("a layout for each of the call's " + std::to_string(types.size()) + " types");
      cursor.expect("dense");
      cursor.expect("<");
      std::vector<int64_t> order;
      const bool listed = cursor.eat("[");
      while (cursor.peek() != ']' && cursor.peek() != '>') {
        const std::optional<int64_t> d = cursor.integer();
        if (!d) cursor.fail("a dimension");
        order.push_back(*d);
        if (!cursor.eat(",")) break;
      }
      if (listed) cursor.expect("]");
      cursor.expect(">");
      cursor.expect(":");
      cursor.balanced();
      const auto rank = static_cast<size_t>(types[i].shape.rank());
      bool row_major = order.size() == rank;
      for (size_t d = 0; row_major && d < rank; ++d) row_major = order[d] == static_cast<int64_t>(rank - 1 - d);
      if (!row_major) {
        std::string shown;
        for (int64_t d : order) shown += (shown.empty() ? "" : ", ") + std::to_string(d);
        cursor.fail("row-major layouts; " + (what + std::to_string(i)) + " has [" + shown + "]");
      }
      ++i;
      if (!cursor.eat(",")) break;
    }
    cursor.expect("]");
  }

  // [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 1, operand_tuple_indices = []>, ...]
  static void aliases(TextCursor& cursor, CustomCall& call) {
    cursor.expect("[");
    while (cursor.peek() != ']') {
      cursor.expect("#stablehlo.output_operand_alias");
      cursor.expect("<");
      Alias alias;
      bool has_operand = false;
      do {
        const std::string_view key = cursor.word();
        cursor.expect("=");
        if (key == "operand_index") {
          const std::optional<int64_t> i = cursor.integer();
          if (!i || *i < 0 || *i >= static_cast<int64_t>(call.operands.size())) cursor.fail("an operand's number");
          alias.input = static_cast<int>(*i);
          has_operand = true;
        } else {
          cursor.expect("[");
          const std::optional<int64_t> i = cursor.integer();
          cursor.expect("]");
          if (key == "operand_tuple_indices" && i) cursor.fail("no tuple operands");
          if (key == "output_tuple_indices" && i) {
            if (*i < 0 || *i >= static_cast<int64_t>(call.results.size())) cursor.fail("a result's number");
            alias.output = static_cast<int>(*i);
          }
        }
      } while (cursor.eat(","));
      cursor.expect(">");
      if (!has_operand) cursor.fail("operand_index in an alias");
      call.aliases.push_back(alias);
      if (!cursor.eat(",")) break;
    }
    cursor.expect("]");
  }

  std::string_view text_;
  std::string_view name_;
  std::string function_;
  std::vector<CustomCall> calls_;
  size_t counted_ = 0;  // lines are counted up to here
  int line_ = 1;
};

bool is_gpu_call(std::string_view target) {
  return target.starts_with("__gpu$") || target.starts_with("triton_kernel_call") || target.starts_with("mosaic_gpu");
}

}  // namespace

std::string to_string(const ArrayType& type) {
  std::string out(name(type.dtype));
  out += '[';
  for (int i = 0; i < type.shape.rank(); ++i) out.append(i ? "," : "").append(std::to_string(type.shape[i]));
  return out + ']';
}

ArrayType parse_array_type(std::string_view text, std::string_view where) {
  const auto fail = [&]() {
    throw InputError(std::string(where), "expected a type like f32[8,128], found `" + std::string(text) + "`");
  };
  const size_t open = text.find('[');
  if (open == std::string_view::npos || !text.ends_with(']')) fail();
  const std::optional<DType> dtype = parse_dtype(text.substr(0, open));
  if (!dtype) fail();
  ArrayType type{*dtype, {}};
  std::string_view dims = text.substr(open + 1, text.size() - open - 2);
  while (!dims.empty()) {
    int64_t dim = -1;
    const auto [end, error] = std::from_chars(dims.data(), dims.data() + dims.size(), dim);
    const auto used = static_cast<size_t>(end - dims.data());
    if (error != std::errc() || dim < 0 || type.shape.rank() == kMaxRank) fail();
    if (used < dims.size() && (dims[used] != ',' || used + 1 == dims.size())) fail();
    type.shape.push_back(dim);
    dims.remove_prefix(std::min(dims.size(), used + 1));
  }
  if (checked_element_count(type.shape, 8) < 0) fail();
  return type;
}

std::vector<CustomCall> scan_stablehlo(std::string_view text, std::string_view name) {
  return Scanner(text, name).run();
}

std::vector<CustomCall> tpu_calls(std::vector<CustomCall> calls, std::string_view name) {
  std::vector<CustomCall> found;
  std::string others;
  for (CustomCall& call : calls) {
    if (call.target == kTpuCall) {
      found.push_back(std::move(call));
    } else if (is_gpu_call(call.target)) {
      others = call.target;
    }
  }
  if (!found.empty()) return found;
  if (!others.empty())
    throw Incomplete(std::string(name) + ": a GPU kernel (custom call @" + others +
                     "); only kernels lowered for a TPU are run");
  throw InputError(std::string(name),
                   "no tpu_custom_call in this module: the kernel was lowered with interpret=True, or for another "
                   "platform. Lower it for a TPU (none is needed for that): "
                   "jax.jit(f).trace(*args).lower(lowering_platforms=(\"tpu\",)).as_text()");
}

}  // namespace tilecheck::mosaic
