// A user's own target, from a JSON file.
#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>

#include "sim/target/target.h"
#include "sim/types/error.h"

namespace tilecheck {
namespace {

using Json = nlohmann::json;

// Text that reports print: without control characters, which could steer a terminal or break a line.
std::string text_of(const Json& value, const std::string& key, const std::string& where) {
  if (!value.is_string()) throw InputError(where, "\"" + key + "\" must be a string");
  std::string text = value.get<std::string>();
  if (std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }))
    throw InputError(where, "\"" + key + "\" has a control character in it");
  return text;
}
std::string string_at(const Json& j, const char* key, const std::string& where) {
  return text_of(j.at(key), key, where);
}

// The file's object. A key that stands twice would leave open which value counts.
Json parse_object(std::string_view json_text, const std::string& where) {
  std::set<std::string> seen;
  const auto once = [&](int depth, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::key && depth == 1 && !seen.insert(value.get<std::string>()).second)
      throw InputError(where, "\"" + value.get<std::string>().substr(0, 100) + "\" stands twice");
    return true;
  };
  Json j = Json::parse(json_text, once, /*allow_exceptions=*/false);
  if (j.is_discarded() || !j.is_object()) throw InputError(where, "a target file must be one JSON object");
  return j;
}

int64_t figure_value(const Json& value, const FigureInfo& figure, const std::string& where) {
  const std::string range = "an integer from " + std::to_string(figure.min) + " to " + std::to_string(figure.max) +
                            " (" + std::string(figure.meaning) + ")";
  std::optional<int64_t> v;
  if (value.is_number_unsigned()) {
    if (value.get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX)) v = value.get<int64_t>();
  } else if (value.is_number_integer()) {
    v = value.get<int64_t>();
  } else if (value.is_number_float()) {
    const double d = value.get<double>();  // 1.97e14
    if (d >= 0 && d < 9e15 && d == static_cast<double>(static_cast<int64_t>(d))) v = static_cast<int64_t>(d);
  }
  if (!v || *v < figure.min || *v > figure.max)
    throw InputError(where,
                     "\"" + std::string(figure.name) + "\" is " + value.dump().substr(0, 60) + ", expected " + range);
  return *v;
}

std::vector<DType> types_at(const Json& j, const char* key, const std::string& where) {
  std::vector<DType> types;
  if (!j.at(key).is_array()) throw InputError(where, "\"" + std::string(key) + "\" must be a list of type names");
  for (const Json& item : j.at(key)) {
    const std::optional<DType> type = item.is_string() ? parse_dtype(item.get<std::string>()) : std::nullopt;
    if (!type)
      throw InputError(where, "\"" + std::string(key) + "\" holds " + item.dump().substr(0, 60) +
                                  ", which is no element type (\"f32\", \"bf16\", \"i8\", ...)");
    types.push_back(*type);
  }
  return types;
}

void check_relations(const Target& t, const std::string& where) {
  struct Relation {
    FigureId small, large;
  };
  constexpr Relation kRelations[] = {
      {FigureId::vmem_usable_bytes, FigureId::vmem_bytes},
      {FigureId::vmem_default_limit_bytes, FigureId::vmem_bytes},
      {FigureId::smem_reserved_bytes, FigureId::smem_bytes},
      {FigureId::semaphore_bytes, FigureId::semaphore_memory_bytes},
      {FigureId::semaphore_reserved_bytes, FigureId::semaphore_memory_bytes},
      {FigureId::spill_free_registers, FigureId::vector_registers},
  };
  for (const Relation& r : kRelations) {
    if (t[r.small] > t[r.large])
      throw InputError(where, "\"" + std::string(info(r.small).name) + "\" (" + std::to_string(t[r.small]) +
                                  ") is larger than \"" + std::string(info(r.large).name) + "\" (" +
                                  std::to_string(t[r.large]) + ")");
  }
  for (FigureId id : {FigureId::lanes, FigureId::sublanes}) {
    if ((t[id] & (t[id] - 1)) != 0)
      throw InputError(where, "\"" + std::string(info(id).name) + "\" must be a power of two");
  }
}

}  // namespace

Target parse_target(std::string_view json_text, const std::string& where) {
  const Json j = parse_object(json_text, where);
  const std::string nesting = "\" is unknown in a target file";
  std::vector<std::string> keys = {"name", "based_on", "source", "device_kinds", "matmul_types", "native_matmul_types"};
  for (int i = 0; i < kFigureCount; ++i) keys.emplace_back(info(static_cast<FigureId>(i)).name);
  for (const auto& item : j.items()) {
    if (std::find(keys.begin(), keys.end(), item.key()) != keys.end()) continue;
    const std::string nearest = nearest_name(item.key().substr(0, 100), keys);
    throw InputError(where, "\"" + item.key().substr(0, 100) + nesting +
                                (nearest.empty() ? "" : "; did you mean \"" + nearest + "\"?"));
  }
  if (!j.contains("name")) throw InputError(where, "\"name\" is missing");
  const bool based = j.contains("based_on");
  Target t;
  if (based) {
    const std::string base = string_at(j, "based_on", where);
    try {
      t = target_named(base);
    } catch (const InputError& e) {
      throw InputError(where + ", \"based_on\"", e.what());
    }
  }
  t.name = string_at(j, "name", where);
  if (t.name.empty() || t.name.size() > 64) throw InputError(where, "\"name\" must have 1 to 64 characters");
  t.device_kinds.clear();
  if (j.contains("device_kinds")) {
    if (!j["device_kinds"].is_array()) throw InputError(where, "\"device_kinds\" must be a list of strings");
    for (const Json& kind : j["device_kinds"]) {
      if (!kind.is_string()) throw InputError(where, "\"device_kinds\" must be a list of strings");
      t.device_kinds.push_back(text_of(kind, "device_kinds", where));
    }
  }
  const std::string source = j.contains("source") ? string_at(j, "source", where) : where;
  for (int i = 0; i < kFigureCount; ++i) {
    const FigureInfo& figure = info(static_cast<FigureId>(i));
    const auto found = j.find(std::string(figure.name));
    if (found != j.end()) {
      t.figures[static_cast<size_t>(i)] = {figure_value(*found, figure, where), source, ""};
    } else if (!based) {
      throw InputError(where, "\"" + std::string(figure.name) + "\" (" + std::string(figure.meaning) +
                                  ") is missing; give it, or name a target to start from with \"based_on\"");
    }
  }
  for (const char* key : {"matmul_types", "native_matmul_types"}) {
    std::vector<DType>& types = key[0] == 'm' ? t.matmul_types : t.native_matmul_types;
    if (j.contains(key)) {
      types = types_at(j, key, where);
      t.matmul_source = source;
    } else if (!based) {
      throw InputError(
          where, "\"" + std::string(key) + "\" is missing; give it, or name a target to start from with \"based_on\"");
    }
  }
  check_relations(t, where);
  return t;
}

Target read_target(const std::string& path) {
  constexpr std::streamoff kMaxBytes = 1 << 20;
  std::ifstream in(path, std::ios::binary);
  if (!in) throw InputError(path, "cannot be opened");
  std::string text(static_cast<size_t>(kMaxBytes) + 1, '\0');
  in.read(text.data(), kMaxBytes + 1);
  text.resize(static_cast<size_t>(in.gcount()));
  if (in.bad()) throw InputError(path, "cannot be read");
  if (static_cast<std::streamoff>(text.size()) > kMaxBytes)
    throw InputError(path, "is larger than 1 MiB; a target file is a page");
  return parse_target(text, path);
}

}  // namespace tilecheck
