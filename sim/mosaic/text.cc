#include "sim/mosaic/text.h"

#include <array>
#include <cctype>
#include <charconv>
#include <utility>
#include <vector>

#include "sim/types/error.h"

namespace tilecheck::mosaic {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '$' || c == '-';
}

}  // namespace

void TextCursor::fail(const std::string& expected) {
  const std::string_view near = text_.substr(at_, 24);
  throw InputError(where_, "at offset " + std::to_string(base_ + at_) + ": expected " + expected +
                               (near.empty() ? ", found the end" : ", found `" + std::string(near) + "`"));
}

void TextCursor::skip_space() {
  while (at_ < text_.size()) {
    if (std::isspace(static_cast<unsigned char>(text_[at_]))) {
      ++at_;
    } else if (text_[at_] == '/' && text_.substr(at_, 2) == "//") {
      const size_t end = text_.find('\n', at_);
      at_ = end == std::string_view::npos ? text_.size() : end + 1;
    } else {
      return;
    }
  }
}

bool TextCursor::done() {
  skip_space();
  return at_ == text_.size();
}

char TextCursor::peek() {
  skip_space();
  return at_ < text_.size() ? text_[at_] : '\0';
}

bool TextCursor::eat(std::string_view token) {
  skip_space();
  if (text_.substr(at_, token.size()) != token) return false;
  const size_t end = at_ + token.size();
  if (is_word(token.back()) && token.back() != '-' && end < text_.size() && is_word(text_[end])) return false;
  at_ = end;
  return true;
}

void TextCursor::expect(std::string_view token) {
  if (!eat(token)) fail("`" + std::string(token) + "`");
}

std::string_view TextCursor::word() {
  skip_space();
  const size_t begin = at_;
  while (at_ < text_.size() && is_word(text_[at_])) {
    if (text_.substr(at_, 2) == "->") break;
    ++at_;
  }
  return text_.substr(begin, at_ - begin);
}

std::optional<int64_t> TextCursor::integer() {
  skip_space();
  size_t at = at_;
  const bool negative = at < text_.size() && text_[at] == '-';
  if (negative) ++at;
  const bool hex = text_.substr(at, 2) == "0x";
  if (hex) at += 2;
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text_.data() + at, text_.data() + text_.size(), value, hex ? 16 : 10);
  if (error != std::errc() || (!hex && value > (uint64_t{1} << 63))) return std::nullopt;
  at_ = static_cast<size_t>(end - text_.data());
  return static_cast<int64_t>(negative ? 0 - value : value);
}

std::string_view TextCursor::quoted() {
  expect("\"");
  const size_t begin = at_;
  while (true) {
    const size_t hit = text_.find_first_of("\"\\", at_);
    if (hit == std::string_view::npos || (text_[hit] == '\\' && hit + 1 >= text_.size())) {
      at_ = begin;
      fail("a closing quote");
    }
    at_ = hit + (text_[hit] == '"' ? 1 : 2);
    if (text_[hit] == '"') return text_.substr(begin, hit - begin);
  }
}

std::string_view TextCursor::balanced(bool stop_at_colon) {
  skip_space();
  const size_t begin = at_;
  std::array<char, kMaxTextDepth> open{};
  int depth = 0;
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (depth == 0 && (c == ',' || (stop_at_colon && (c == ':' || c == '=')))) break;
    if (c == '"') {
      quoted();
      continue;
    }
    if (c == '-' && text_.substr(at_, 2) == "->") {
      at_ += 2;
      continue;
    }
    if (c == '(' || c == '[' || c == '{' || c == '<') {
      if (depth == kMaxTextDepth) fail("at most " + std::to_string(kMaxTextDepth) + " nested brackets");
      open[static_cast<size_t>(depth++)] = c == '(' ? ')' : static_cast<char>(c + 2);
    } else if (c == ')' || c == ']' || c == '}' || c == '>') {
      if (depth == 0) break;
      if (open[static_cast<size_t>(--depth)] != c) fail(std::string("`") + open[static_cast<size_t>(depth)] + "`");
    }
    ++at_;
  }
  if (depth != 0) fail(std::string("`") + open[static_cast<size_t>(depth - 1)] + "`");
  std::string_view out = text_.substr(begin, at_ - begin);
  while (!out.empty() && std::isspace(static_cast<unsigned char>(out.back()))) out.remove_suffix(1);
  return out;
}

std::string_view TextCursor::rest() {
  skip_space();
  const std::string_view out = text_.substr(at_);
  at_ = text_.size();
  return out;
}

std::string unescape(std::string_view quoted, std::string_view where) {
  std::string out;
  out.reserve(quoted.size());
  size_t at = 0;
  while (at < quoted.size()) {
    const size_t hit = quoted.find('\\', at);
    out.append(quoted.substr(at, hit - at));
    if (hit == std::string_view::npos) break;
    const char c = hit + 1 < quoted.size() ? quoted[hit + 1] : '\0';
    at = hit + 2;
    unsigned value = 0;
    const char* digits = quoted.data() + hit + 1;
    if (hit + 2 < quoted.size() && std::isxdigit(static_cast<unsigned char>(c)) &&
        std::isxdigit(static_cast<unsigned char>(quoted[hit + 2]))) {
      std::from_chars(digits, digits + 2, value, 16);
      out.push_back(static_cast<char>(value));
      at = hit + 3;
    } else if (c == 'n') {
      out.push_back('\n');
    } else if (c == 't') {
      out.push_back('\t');
    } else if (c == '"' || c == '\\') {
      out.push_back(c);
    } else {
      throw InputError(std::string(where), "unknown escape `\\" + std::string(1, c) + "` in a string");
    }
  }
  return out;
}

// ---- types

namespace {

std::optional<DType> scalar_dtype(std::string_view name) {
  if (name.starts_with("si")) name.remove_prefix(1);  // i32 and si32 are one type here
  if (name == "ui1") return DType::b1;
  if (name.starts_with("ui")) {
    for (DType d : {DType::u2, DType::u4, DType::u8, DType::u16, DType::u32, DType::u64})
      if (name.substr(2) == std::to_string(bits(d))) return d;
    return std::nullopt;
  }
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (!is_semaphore(dtype) && info(dtype).mlir_name == name && !is_unsigned_int(dtype)) return dtype;
  }
  return std::nullopt;
}

const Type* make_scalar(Module& module, DType dtype) {
  Type type;
  type.kind = TypeKind::scalar;
  type.dtype = dtype;
  return module.make(type);
}

const Type* opaque(Module& module, std::string_view text) {
  Type type;
  type.kind = TypeKind::opaque;
  type.text = module.copy(text);
  return module.make(type);
}

const Type* type_at(Module& module, TextCursor& text, int depth);

// "<8x?x128xf32>": the dimensions and the element of a shaped type that begins at `start`.
const Type* shaped(Module& module, TextCursor& text, TypeKind kind, size_t start, int depth) {
  Type type;
  type.kind = kind;
  text.expect("<");
  while (true) {
    const size_t dim_start = text.at();
    int64_t dim = kDynamic;
    if (!text.eat("?")) {
      if (!std::isdigit(static_cast<unsigned char>(text.peek()))) break;
      // "8x128xf32" is one word to the cursor: take the digits alone.
      int64_t value = 0;
      std::string_view digits = text.word();
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
      if (error != std::errc() || end == digits.data() + digits.size() || *end != 'x') {
        text.seek(dim_start);
        text.fail("a dimension followed by x");
      }
      text.seek(text.at() - digits.size() + static_cast<size_t>(end - digits.data()));
      dim = value;
    }
    const size_t x = text.at();
    if (text.peek() != 'x') text.fail("x after a dimension");
    text.seek(x + 1);
    if (type.shape.rank() == kMaxRank) text.fail("at most " + std::to_string(kMaxRank) + " dimensions");
    type.shape.push_back(dim);
  }
  const Type* element = type_at(module, text, depth + 1);
  type.dtype = element->dtype;
  // Of elements that are none of ours, the type is opaque as a whole.
  const bool known =
      element->kind == TypeKind::scalar || (kind == TypeKind::tensor && element->kind == TypeKind::index);
  while (text.eat(",")) {
    const Attr* attr = parse_attr(module, text);
    if (kind != TypeKind::memref) continue;
    if (attr->kind == AttrKind::dialect && attr->mnemonic == "tpu.memory_space") {
      if (!parse_space(*attr, type.space)) text.fail("a known memory space");
    } else if (attr->kind != AttrKind::affine_map || !attr->map->is_identity()) {
      type.layout = attr;
    }
  }
  text.expect(">");
  return known ? module.make(type) : opaque(module, text.since(start));
}

const Type* type_at(Module& module, TextCursor& text, int depth) {
  if (depth > kMaxTextDepth) text.fail("at most " + std::to_string(kMaxTextDepth) + " nested types");
  text.peek();
  const size_t start = text.at();
  if (text.eat("!tpu.semaphore")) return make_scalar(module, DType::semaphore);
  if (text.eat("!tpu.dma_semaphore")) return make_scalar(module, DType::dma_semaphore);
  if (text.eat("!tpu.float8_exmy<")) {
    const Type* inner = type_at(module, text, depth + 1);
    text.expect(">");
    return inner;
  }
  if (text.peek() == '!') return opaque(module, text.balanced());
  if (text.eat("(")) {
    std::vector<const Type*> in, out;
    if (!text.eat(")")) {
      do in.push_back(type_at(module, text, depth + 1));
      while (text.eat(","));
      text.expect(")");
    }
    text.expect("->");
    if (text.eat("(")) {
      if (!text.eat(")")) {
        do out.push_back(type_at(module, text, depth + 1));
        while (text.eat(","));
        text.expect(")");
      }
    } else {
      out.push_back(type_at(module, text, depth + 1));
    }
    Type type;
    type.kind = TypeKind::function;
    type.inputs = module.copy(std::span<const Type* const>(in));
    type.results = module.copy(std::span<const Type* const>(out));
    return module.make(type);
  }
  const std::string_view word = text.word();
  if (word.empty()) text.fail("a type");
  if (word == "index") {
    Type type;
    type.kind = TypeKind::index;
    type.dtype = DType::i64;
    return module.make(type);
  }
  if (word == "none") return module.make(Type{});
  if (word == "vector") return shaped(module, text, TypeKind::vector, start, depth);
  if (word == "memref") return shaped(module, text, TypeKind::memref, start, depth);
  if (word == "tensor") return shaped(module, text, TypeKind::tensor, start, depth);
  if (const std::optional<DType> dtype = scalar_dtype(word)) {
    Type type;
    type.kind = TypeKind::scalar;
    type.dtype = *dtype;
    type.written_signed = word.starts_with("si");
    return module.make(type);
  }
  if (text.peek() == '<') text.balanced();
  return opaque(module, text.since(start));
}

// ---- affine maps

class AffineParser {
 public:
  AffineParser(Module& module, TextCursor& text) : module_(module), text_(text) {}

  const AffineMap* parse() {
    names('(', ')', dims_);
    if (text_.peek() == '[') names('[', ']', symbols_);
    text_.expect("->");
    text_.expect("(");
    std::vector<uint32_t> results;
    if (!text_.eat(")")) {
      do results.push_back(sum(0));
      while (text_.eat(","));
      text_.expect(")");
    }
    AffineMap map;
    map.dims = static_cast<int>(dims_.size());
    map.symbols = static_cast<int>(symbols_.size());
    map.nodes = module_.copy(std::span<const AffineExpr>(nodes_));
    map.results = module_.copy(std::span<const uint32_t>(results));
    return module_.make(map);
  }

 private:
  void names(char open, char close, std::vector<std::string_view>& out) {
    text_.expect(std::string_view(&open, 1));
    if (text_.eat(std::string_view(&close, 1))) return;
    do {
      out.push_back(text_.word());
      if (out.back().empty()) text_.fail("a dimension name");
    } while (text_.eat(","));
    text_.expect(std::string_view(&close, 1));
  }
  uint32_t add(AffineExpr e) {
    nodes_.push_back(e);
    return static_cast<uint32_t>(nodes_.size() - 1);
  }
  uint32_t binary(AffineExpr::Kind kind, uint32_t l, uint32_t r) { return add({kind, 0, l, r}); }
  uint32_t negate(uint32_t e) { return binary(AffineExpr::Kind::mul, e, add({AffineExpr::Kind::constant, -1, 0, 0})); }

  uint32_t sum(int depth) {
    uint32_t left = product(depth);
    while (true) {
      if (text_.eat("+")) {
        const uint32_t right = product(depth);
        left = binary(AffineExpr::Kind::add, left, right);
      } else if (text_.peek() == '-') {
        text_.expect("-");
        const uint32_t right = negate(product(depth));
        left = binary(AffineExpr::Kind::add, left, right);
      } else {
        return left;
      }
    }
  }
  uint32_t product(int depth) {
    uint32_t left = atom(depth);
    while (true) {
      AffineExpr::Kind kind;
      if (text_.eat("*"))
        kind = AffineExpr::Kind::mul;
      else if (text_.eat("floordiv"))
        kind = AffineExpr::Kind::floordiv;
      else if (text_.eat("ceildiv"))
        kind = AffineExpr::Kind::ceildiv;
      else if (text_.eat("mod"))
        kind = AffineExpr::Kind::mod;
      else
        return left;
      const uint32_t right = atom(depth);
      left = binary(kind, left, right);
    }
  }
  uint32_t atom(int depth) {
    if (depth > kMaxTextDepth) text_.fail("at most " + std::to_string(kMaxTextDepth) + " nested expressions");
    if (text_.eat("(")) {
      const uint32_t e = sum(depth + 1);
      text_.expect(")");
      return e;
    }
    if (std::isdigit(static_cast<unsigned char>(text_.peek()))) {
      const std::optional<int64_t> value = text_.integer();
      if (!value) text_.fail("a number that fits 64 bits");
      return add({AffineExpr::Kind::constant, *value, 0, 0});
    }
    if (text_.eat("-")) {
      const uint32_t operand = atom(depth + 1);
      if (nodes_[operand].kind != AffineExpr::Kind::constant) return negate(operand);
      nodes_[operand].value = static_cast<int64_t>(0 - static_cast<uint64_t>(nodes_[operand].value));
      return operand;
    }
    const std::string_view name = text_.word();
    for (size_t i = 0; i < dims_.size(); ++i)
      if (dims_[i] == name) return add({AffineExpr::Kind::dim, static_cast<int64_t>(i), 0, 0});
    for (size_t i = 0; i < symbols_.size(); ++i)
      if (symbols_[i] == name) return add({AffineExpr::Kind::symbol, static_cast<int64_t>(i), 0, 0});
    text_.fail("a dimension, a symbol or a number");
  }

  Module& module_;
  TextCursor& text_;
  std::vector<std::string_view> dims_, symbols_;
  std::vector<AffineExpr> nodes_;
};

}  // namespace

const Type* parse_type(Module& module, TextCursor& text) { return type_at(module, text, 0); }

const Attr* parse_attr(Module& module, TextCursor& text) {
  Attr attr;
  const size_t start = text.at();
  const char c = text.peek();
  if (c == '#') {
    attr.kind = AttrKind::dialect;
    attr.text = module.copy(text.balanced());
    const size_t open = attr.text.find('<');
    if (open == std::string_view::npos) {
      attr.mnemonic = attr.text.substr(1);
    } else {
      attr.mnemonic = attr.text.substr(1, open - 1);
      attr.body = attr.text.substr(open + 1, attr.text.size() - open - 2);
    }
    return module.make(attr);
  }
  if (text.eat("affine_map")) {
    text.expect("<");
    attr.kind = AttrKind::affine_map;
    attr.map = AffineParser(module, text).parse();
    text.expect(">");
    return module.make(attr);
  }
  if (text.eat("unit")) return module.make(attr);
  text.seek(start);
  attr.kind = AttrKind::unknown;
  attr.text = module.copy(text.balanced());
  return module.make(attr);
}

namespace {

constexpr std::array<std::pair<std::string_view, Space>, 8> kSpaceNames{{{"any", Space::any},
                                                                         {"vmem", Space::vmem},
                                                                         {"smem", Space::smem},
                                                                         {"hbm", Space::hbm},
                                                                         {"cmem", Space::cmem},
                                                                         {"semaphore_mem", Space::semaphore},
                                                                         {"vmem_shared", Space::vmem_shared},
                                                                         {"host", Space::host}}};

}  // namespace

bool parse_space(const Attr& attr, Space& space) {
  // "vmem" or "smem, sc_scalar_subcore": the core a space belongs to follows it.
  std::string_view name = attr.body.substr(0, attr.body.find(','));
  while (name.ends_with(' ')) name.remove_suffix(1);
  for (const auto& [text, value] : kSpaceNames)
    if (text == name) {
      space = value;
      return true;
    }
  return false;
}

std::string_view mlir_name(Space space) {
  for (const auto& [text, value] : kSpaceNames)
    if (value == space) return text;
  return "?";
}

}  // namespace tilecheck::mosaic
