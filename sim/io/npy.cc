#include "sim/io/npy.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "sim/io/file.h"
#include "sim/types/error.h"

namespace tilecheck {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

// Reads the header: a Python dictionary literal of descr, fortran_order and shape.
class HeaderReader {
 public:
  // base: the text's offset in the file.
  HeaderReader(std::string_view text, int64_t base, const std::string& file) : text_(text), base_(base), file_(file) {}

  NpyHeader read() {
    NpyHeader header;
    bool have_descr = false, have_order = false, have_shape = false;
    expect('{');
    while (!accept('}')) {
      const size_t at = skip_space();
      const std::string key = read_string();
      expect(':');
      if (key == "descr" && !have_descr) {
        have_descr = true;
        header.stored = read_descr();
      } else if (key == "fortran_order" && !have_order) {
        have_order = true;
        header.fortran_order = read_bool();
      } else if (key == "shape" && !have_shape) {
        have_shape = true;
        header.shape = read_shape();
      } else {
        fail(at, "unknown or repeated key '" + key + "'; expected 'descr', 'fortran_order' and 'shape', once each");
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (at_ != text_.size()) fail(at_, "expected only spaces after the header's '}'");
    if (!have_descr) fail(0, "header without 'descr'");
    if (!have_order) fail(0, "header without 'fortran_order'");
    if (!have_shape) fail(0, "header without 'shape'");
    return header;
  }

 private:
  [[noreturn]] void fail(size_t at, const std::string& what) const {
    throw InputError(file_ + ", offset " + std::to_string(base_ + static_cast<int64_t>(at)), what);
  }

  size_t skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
    return at_;
  }

  bool accept(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void expect(char c) {
    if (!accept(c)) fail(at_, std::string("expected '") + c + "' in the header");
  }

  std::string read_string() {
    skip_space();
    const size_t start = at_;
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"') fail(start, "expected a quoted string in the header");
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail(start, "string without an end in the header");
    const std::string_view value = text_.substr(at_ + 1, end - at_ - 1);
    if (value.size() > 32 || std::any_of(value.begin(), value.end(), [](char c) { return c < ' ' || c > '~'; }))
      fail(start, "expected a short ASCII string in the header");
    at_ = end + 1;
    return std::string(value);
  }

  bool read_bool() {
    skip_space();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(at_, word.size()) == word) {
        at_ += word.size();
        return value;
      }
    }
    fail(at_, "expected True or False");
  }

  int64_t read_int() {
    skip_space();
    const size_t start = at_;
    int64_t value = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, text_[at_] - '0', &value))
        fail(start, "dimension beyond 64 bits");
      ++at_;
    }
    if (at_ == start) fail(start, "expected a dimension, not negative");
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2 wrote 3L
    return value;
  }

  Shape read_shape() {
    expect('(');
    Shape shape;
    while (!accept(')')) {
      if (shape.rank() == kMaxRank) fail(at_, "expected at most " + std::to_string(kMaxRank) + " dimensions");
      shape.push_back(read_int());
      if (!accept(',')) {
        if (shape.rank() == 1) fail(at_, "expected ',' after the only dimension");
        expect(')');
        break;
      }
    }
    return shape;
  }

  StoredType read_descr() {
    const size_t start = skip_space();
    if (start < text_.size() && text_[start] == '[') fail(start, "structured type; expected a plain one such as '<f4'");
    StoredType stored;
    stored.text = read_string();
    const std::string& text = stored.text;
    const auto bad = [&](const std::string& why) {
      fail(start, "type '" + text + "' " + why + "; expected one such as '<f4', '<V2' or '|b1'");
    };
    if (!text.empty() && text[0] == '>') bad("is big-endian");
    if (text.size() != 3 || (text[0] != '<' && text[0] != '|') || text[2] < '1' || text[2] > '8') bad("is not known");
    stored.item_bytes = text[2] - '0';
    struct Known {
      std::string_view kind;
      DType dtype;
    };
    static constexpr std::array<Known, 13> kKnown = {{{"f1", DType::f8e5m2},
                                                      {"f2", DType::f16},
                                                      {"f4", DType::f32},
                                                      {"f8", DType::f64},
                                                      {"i1", DType::i8},
                                                      {"i2", DType::i16},
                                                      {"i4", DType::i32},
                                                      {"i8", DType::i64},
                                                      {"u1", DType::u8},
                                                      {"u2", DType::u16},
                                                      {"u4", DType::u32},
                                                      {"u8", DType::u64},
                                                      {"b1", DType::b1}}};
    for (const Known& known : kKnown)
      if (text.substr(1) == known.kind) stored.dtype = known.dtype;
    if (!stored.dtype && (text[1] != 'V' || stored.item_bytes > 2)) bad("is not known");
    return stored;
  }

  std::string_view text_;
  int64_t base_;
  const std::string& file_;
  size_t at_ = 0;
};

std::string descr(DType dtype) {
  const int bytes = storage_bytes(dtype);
  const char digit = static_cast<char>('0' + bytes);
  const std::string order = bytes == 1 ? "|" : "<";
  switch (info(dtype).dtype_class) {
    case DTypeClass::boolean:
      return "|b1";
    case DTypeClass::signed_int:
      return bits(dtype) < 8 ? "<V1" : order + "i" + digit;
    case DTypeClass::unsigned_int:
      return bits(dtype) < 8 ? "<V1" : order + "u" + digit;
    case DTypeClass::semaphore:
      return order + "i" + digit;
    case DTypeClass::floating:
      if (dtype == DType::bf16 || bytes == 1) return std::string("<V") + digit;
      return std::string("<f") + digit;
  }
  return {};
}

template <typename T>
void transpose_from_fortran(const T* from, T* to, const Shape& shape) {
  // from's first dimension is the fastest. Walk `to` in order, following from's strides.
  Dims strides = Dims::filled(shape.rank(), 1);
  for (int i = 1; i < shape.rank(); ++i) strides[i] = strides[i - 1] * shape[i - 1];
  const int64_t count = element_count(shape), row = shape.back(), step = strides.back();
  Dims index = Dims::filled(shape.rank(), 0);
  int64_t source = 0;
  for (int64_t done = 0; done < count; done += row) {
    for (int64_t j = 0; j < row; ++j) to[done + j] = from[source + j * step];
    for (int d = shape.rank() - 2; d >= 0; --d) {
      source += strides[d];
      if (++index[d] < shape[d]) break;
      source -= strides[d] * shape[d];
      index[d] = 0;
    }
  }
}

// Bytes just read in the file's order -> row-major, canonical elements.
HostArray finish(HostArray array, const NpyHeader& header, const std::string& file) {
  if (header.fortran_order && header.shape.rank() > 1 && array.size() > 0) {
    HostArray rows(array.dtype(), array.shape());
    switch (header.stored.item_bytes) {
      case 1:
        transpose_from_fortran(array.as<uint8_t>(), rows.as<uint8_t>(), header.shape);
        break;
      case 2:
        transpose_from_fortran(array.as<uint16_t>(), rows.as<uint16_t>(), header.shape);
        break;
      case 4:
        transpose_from_fortran(array.as<uint32_t>(), rows.as<uint32_t>(), header.shape);
        break;
      default:
        transpose_from_fortran(array.as<uint64_t>(), rows.as<uint64_t>(), header.shape);
    }
    array = std::move(rows);
  }
  canonicalize_elements(array, header.stored, file + ", offset " + std::to_string(header.data_offset));
  return array;
}

HostArray allocate(const NpyHeader& header, const std::string& file, std::optional<DType> dtype) {
  return HostArray(resolve_stored_type(header.stored, dtype, file), header.shape);
}

}  // namespace

NpyHeader parse_npy_header(std::span<const std::byte> prefix, int64_t file_bytes, const std::string& file) {
  const auto at = [&](int64_t offset) { return file + ", offset " + std::to_string(offset); };
  const std::string_view text(reinterpret_cast<const char*>(prefix.data()), prefix.size());
  if (text.substr(0, kMagic.size()) != kMagic)
    throw InputError(at(0), "expected a .npy file, which begins with '\\x93NUMPY'");
  if (text.size() < 10) throw InputError(at(6), "file ends within the .npy header");
  const auto byte = [&](size_t i) { return static_cast<int64_t>(static_cast<uint8_t>(text[i])); };
  const int64_t version = byte(6);
  if (version < 1 || version > 3 || byte(7) != 0)
    throw InputError(
        at(6), "version " + std::to_string(version) + "." + std::to_string(byte(7)) + "; expected 1.0, 2.0 or 3.0");
  const int64_t start = version == 1 ? 10 : 12;
  if (static_cast<int64_t>(text.size()) < start) throw InputError(at(8), "file ends within the .npy header");
  const int64_t length = byte(8) | byte(9) << 8 | (version == 1 ? 0 : byte(10) << 16 | byte(11) << 24);
  if (length > file_bytes - start || length > static_cast<int64_t>(text.size()) - start)
    throw InputError(at(8), "header of " + std::to_string(length) + " bytes; expected at most " +
                                std::to_string(std::min(file_bytes, kNpyMaxHeaderBytes) - start));
  NpyHeader header =
      HeaderReader(text.substr(static_cast<size_t>(start), static_cast<size_t>(length)), start, file).read();
  header.data_offset = start + length;
  const int64_t count = checked_element_count(header.shape, header.stored.item_bytes);
  if (count < 0)
    throw InputError(at(start), "shape " + to_tuple(header.shape) + " has more bytes than 64 bits can count");
  const int64_t expected = count * header.stored.item_bytes, found = file_bytes - header.data_offset;
  if (expected != found)
    throw InputError(at(header.data_offset), "expected " + std::to_string(expected) + " bytes of data for shape " +
                                                 to_tuple(header.shape) + " of '" + header.stored.text + "', found " +
                                                 std::to_string(found));
  return header;
}

HostArray parse_npy(std::span<const std::byte> bytes, const std::string& file, std::optional<DType> dtype) {
  const NpyHeader header = parse_npy_header(bytes, static_cast<int64_t>(bytes.size()), file);
  HostArray array = allocate(header, file, dtype);
  if (array.size() > 0)
    std::memcpy(array.data(), bytes.data() + header.data_offset, static_cast<size_t>(array.size_bytes()));
  return finish(std::move(array), header, file);
}

HostArray read_npy(const std::string& path, std::optional<DType> dtype) {
  const InputFile file(path);
  // One small read holds every header numpy writes; only an unusual one is read again in full.
  std::array<std::byte, 512> first;
  const auto prefix_bytes = std::min<int64_t>(file.size_bytes(), static_cast<int64_t>(first.size()));
  const std::span<std::byte> prefix(first.data(), static_cast<size_t>(prefix_bytes));
  file.read(0, prefix);
  std::string longer;
  NpyHeader header;
  if (prefix_bytes >= 12 && file.size_bytes() > prefix_bytes &&
      (first[6] != std::byte{1} ||
       (static_cast<int>(first[8]) | static_cast<int>(first[9]) << 8) + 10 > prefix_bytes)) {
    longer.resize(static_cast<size_t>(std::min(file.size_bytes(), kNpyMaxHeaderBytes)));
    const auto bytes = std::as_writable_bytes(std::span(longer));
    file.read(0, bytes);
    header = parse_npy_header(bytes, file.size_bytes(), path);
  } else {
    header = parse_npy_header(prefix, file.size_bytes(), path);
  }
  HostArray array = allocate(header, path, dtype);
  file.read(header.data_offset, {array.data(), static_cast<size_t>(array.size_bytes())});
  return finish(std::move(array), header, path);
}

std::string npy_header(DType dtype, const Shape& shape) {
  std::string text = "{'descr': '" + descr(dtype) + "', 'fortran_order': False, 'shape': " + to_tuple(shape) + ", }";
  // numpy leaves room for the first dimension to grow to 21 digits, then pads to 64 bytes.
  if (shape.rank() > 0) text.append(21 - std::to_string(shape[0]).size(), ' ');
  const size_t unpadded = kMagic.size() + 4 + text.size() + 1;
  text.append((64 - unpadded % 64) % 64, ' ');
  text += '\n';
  std::string header(kMagic);
  header += {'\x01', '\x00', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return header + text;
}

void write_npy(const std::string& path, const HostArray& array) {
  const std::string header = npy_header(array.dtype(), array.shape());
  std::string_view data(reinterpret_cast<const char*>(array.data()), static_cast<size_t>(array.size_bytes()));
  // ml_dtypes stores a sub-byte integer as its bits alone; ours are sign-extended.
  std::string cut;
  if (bits(array.dtype()) < 8 && is_signed_int(array.dtype())) {
    const auto mask = static_cast<char>((1 << bits(array.dtype())) - 1);
    cut = data;
    for (char& c : cut) c = static_cast<char>(c & mask);
    data = cut;
  }
  const std::string_view parts[] = {header, data};
  write_file(path, parts);
}

}  // namespace tilecheck
