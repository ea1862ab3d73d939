#include "sim/io/safetensors.h"

#include <array>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>

#include "sim/io/file.h"
#include "sim/io/stored_type.h"
#include "sim/types/error.h"

namespace tilecheck {
namespace {

using nlohmann::json;

constexpr int64_t kMaxHeaderBytes = 100'000'000;  // the reference implementation's limit
constexpr size_t kNamesInMessage = 8;

struct Known {
  std::string_view name;
  DType dtype;
};
constexpr std::array<Known, 15> kKnown = {{{"F64", DType::f64},
                                           {"F32", DType::f32},
                                           {"BF16", DType::bf16},
                                           {"F16", DType::f16},
                                           {"F8_E4M3", DType::f8e4m3fn},
                                           {"F8_E5M2", DType::f8e5m2},
                                           {"F8_E8M0", DType::f8e8m0fnu},
                                           {"I64", DType::i64},
                                           {"I32", DType::i32},
                                           {"I16", DType::i16},
                                           {"I8", DType::i8},
                                           {"U64", DType::u64},
                                           {"U32", DType::u32},
                                           {"U16", DType::u16},
                                           {"U8", DType::u8}}};

struct Tensor {
  StoredType stored;
  Shape shape;
  int64_t offset = 0;  // in the file
};

// A file, or bytes in memory.
struct Source {
  std::string name;
  int64_t size_bytes;
  std::function<void(int64_t offset, std::span<std::byte>)> read;
};

Source source_of(const InputFile& file) {
  return {file.path(), file.size_bytes(),
          [&file](int64_t offset, std::span<std::byte> bytes) { file.read(offset, bytes); }};
}

// Reads the header, keeping the object of the tensor `wanted` only; all names go to `names`.
struct Header {
  int64_t data_offset = 0;
  std::vector<std::string> names;
  json wanted;
};

Header read_header(const Source& source, const std::string& wanted) {
  const auto fail = [&](int64_t offset, const std::string& what) {
    throw InputError(source.name + ", offset " + std::to_string(offset), what);
  };
  if (source.size_bytes < 8) fail(0, "expected a safetensors file; it ends within the header length");
  uint64_t length = 0;
  source.read(0, std::as_writable_bytes(std::span(&length, 1)));
  const int64_t limit = std::min(source.size_bytes - 8, kMaxHeaderBytes);
  if (length > static_cast<uint64_t>(limit))
    fail(0, "header of " + std::to_string(length) + " bytes; expected at most " + std::to_string(limit));
  std::string text(static_cast<size_t>(length), '\0');
  source.read(8, std::as_writable_bytes(std::span(text)));
  Header header;
  header.data_offset = 8 + static_cast<int64_t>(length);
  bool found = false;
  // Only the wanted tensor is kept, and nothing nests deeper than a tensor's lists: memory stays that of the text.
  const auto keep = [&](int depth, json::parse_event_t event, json& value) {
    if (depth > 3 ||
        (depth == 0 && event != json::parse_event_t::object_start && event != json::parse_event_t::object_end))
      fail(8, "header is not a JSON object of tensors");
    if (depth != 1 || event != json::parse_event_t::key) return true;
    const auto& key = value.get_ref<const std::string&>();
    if (key != "__metadata__") header.names.push_back(key);
    if (key != wanted || key == "__metadata__") return false;
    if (found) fail(8, "tensor '" + wanted + "' stands in the header twice");
    found = true;
    return true;
  };
  try {
    json parsed = json::parse(text, keep);
    if (parsed.is_object() && found) header.wanted = std::move(parsed.at(wanted));
  } catch (const json::parse_error& error) {
    fail(8 + static_cast<int64_t>(error.byte ? error.byte - 1 : 0), "header is not valid JSON");
  } catch (const json::exception&) {
    fail(8, "header is not a JSON object of tensors");
  }
  return header;
}

// A non-negative integer from the header, or -1.
int64_t as_count(const json& value) {
  if (!value.is_number_integer()) return -1;
  if (value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) return -1;
  return value.get<int64_t>();
}

// As the file has it.
std::string shown(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace).substr(0, 80);
}

Tensor read_tensor(const Source& source, const std::string& name) {
  const Header header = read_header(source, name);
  if (header.wanted.is_null()) {
    std::string message = "no tensor '" + name + "'; it has";
    for (size_t i = 0; i < header.names.size() && i < kNamesInMessage; ++i)
      message += (i ? ", '" : " '") + header.names[i] + "'";
    if (header.names.empty()) message += " none";
    if (header.names.size() > kNamesInMessage)
      message += " and " + std::to_string(header.names.size() - kNamesInMessage) + " more";
    throw InputError(source.name, message);
  }
  const auto fail = [&](const std::string& what) {
    throw InputError(source.name + ", offset 8, tensor '" + name + "'", what);
  };
  const json& entry = header.wanted;
  if (!entry.is_object()) fail("expected an object with dtype, shape and data_offsets");
  Tensor tensor;
  const auto dtype = entry.find("dtype");
  if (dtype == entry.end() || !dtype->is_string()) fail("expected \"dtype\", a string");
  tensor.stored.text = dtype->get<std::string>().substr(0, 32);
  if (tensor.stored.text == "BOOL") tensor.stored.dtype = DType::b1;
  for (const Known& known : kKnown)
    if (tensor.stored.text == known.name) tensor.stored.dtype = known.dtype;
  if (!tensor.stored.dtype)
    fail("type '" + tensor.stored.text + "' is not known; expected one such as F32, BF16, F8_E4M3, I32 or BOOL");
  tensor.stored.item_bytes = storage_bytes(*tensor.stored.dtype);
  const auto shape = entry.find("shape");
  if (shape == entry.end() || !shape->is_array() || shape->size() > static_cast<size_t>(kMaxRank))
    fail("expected \"shape\", a list of at most " + std::to_string(kMaxRank) + " dimensions");
  for (const json& dim : *shape) tensor.shape.push_back(as_count(dim));
  const int64_t count = checked_element_count(tensor.shape, tensor.stored.item_bytes);
  if (count < 0) fail("shape " + shown(*shape) + "; expected integers of at least 0 whose bytes fit 64 bits");
  const auto offsets = entry.find("data_offsets");
  if (offsets == entry.end() || !offsets->is_array() || offsets->size() != 2)
    fail("expected \"data_offsets\", a list [begin, end]");
  const int64_t begin = as_count((*offsets)[0]), end = as_count((*offsets)[1]);
  const int64_t available = source.size_bytes - header.data_offset;
  if (begin < 0 || end < begin || end > available)
    fail("data_offsets " + shown(*offsets) + "; expected to lie within the " + std::to_string(available) +
         " bytes of data");
  if (end - begin != count * tensor.stored.item_bytes)
    fail("data_offsets span " + std::to_string(end - begin) + " bytes; expected " +
         std::to_string(count * tensor.stored.item_bytes) + " for shape " + to_tuple(tensor.shape) + " of " +
         tensor.stored.text);
  tensor.offset = header.data_offset + begin;
  return tensor;
}

HostArray read_tensor_data(const Source& source, const std::string& name, std::optional<DType> dtype) {
  const Tensor tensor = read_tensor(source, name);
  const std::string where = source.name + ", tensor '" + name + "'";
  HostArray array(resolve_stored_type(tensor.stored, dtype, where), tensor.shape);
  source.read(tensor.offset, {array.data(), static_cast<size_t>(array.size_bytes())});
  canonicalize_elements(array, tensor.stored, where);
  return array;
}

}  // namespace

std::vector<std::string> list_safetensors(const std::string& path) {
  const InputFile file(path);
  return read_header(source_of(file), "").names;
}

HostArray read_safetensors(const std::string& path, const std::string& tensor, std::optional<DType> dtype) {
  const InputFile file(path);
  return read_tensor_data(source_of(file), tensor, dtype);
}

HostArray parse_safetensors(std::span<const std::byte> bytes, const std::string& file, const std::string& tensor,
                            std::optional<DType> dtype) {
  const Source source = {file, static_cast<int64_t>(bytes.size()), [bytes](int64_t offset, std::span<std::byte> out) {
                           if (!out.empty()) std::memcpy(out.data(), bytes.data() + offset, out.size());
                         }};
  return read_tensor_data(source, tensor, dtype);
}

}  // namespace tilecheck
