// A cursor over MLIR text: names, numbers, strings, balanced brackets, types and affine maps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/mosaic/ir.h"

namespace tilecheck::mosaic {

// Nesting of brackets, types and affine expressions that text may have.
inline constexpr int kMaxTextDepth = 64;

// Every error is an InputError whose place is `where` and the offset in the text. Space and // comments are skipped
// before each token.
class TextCursor {
 public:
  // base: the offset of text[0] in what the user gave.
  TextCursor(std::string_view text, std::string_view where, size_t base = 0)
      : text_(text), where_(where), base_(base) {}

  size_t at() const { return at_; }
  void seek(size_t at) { at_ = at; }
  bool done();
  char peek();                       // the next token's first character; 0 at the end
  bool eat(std::string_view token);  // consumes it if it is next (a word only as a whole word)
  void expect(std::string_view token);
  std::string_view word();           // letters, digits, _ . $ -; may be empty
  std::optional<int64_t> integer();  // decimal with optional sign, or 0x...
  std::string_view quoted();         // the raw text between quotes, escapes as they stand
  // Skips one attribute or type as written: brackets balanced, strings skipped, up to a comma or closing bracket at
  // the outer level, or a `=` or `:` there if asked to stop at it.
  std::string_view balanced(bool stop_at_colon = false);
  std::string_view rest();
  std::string_view since(size_t start) const { return text_.substr(start, at_ - start); }
  [[noreturn]] void fail(const std::string& expected);

 private:
  void skip_space();
  std::string_view text_;
  std::string where_;
  size_t base_;
  size_t at_ = 0;
};

// MLIR's escapes: \22, \0A, \\, \", \n, \t. InputError for any other.
std::string unescape(std::string_view quoted, std::string_view where);

// A type as text ("vector<8x128xf32>", "!tpu.semaphore"); of kind opaque if it is none of ours. Storage in `module`.
const Type* parse_type(Module& module, TextCursor& text);
// An attribute as text: affine_map<...>, #dialect.name<...>, unit; anything else is `unknown`, its text kept.
const Attr* parse_attr(Module& module, TextCursor& text);
// The space of a #tpu.memory_space attribute; false if its name is unknown.
bool parse_space(const Attr& attr, Space& space);
// As MLIR writes it: "vmem", "semaphore_mem".
std::string_view mlir_name(Space space);

}  // namespace tilecheck::mosaic
