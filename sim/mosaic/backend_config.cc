#include "sim/mosaic/backend_config.h"

#include <boost/beast/core/detail/base64.hpp>
#include <limits>
#include <nlohmann/json.hpp>

#include "sim/types/error.h"

namespace tilecheck::mosaic {
namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;
namespace base64 = boost::beast::detail::base64;

constexpr int64_t kVmemSpace = 1;  // in scoped_memory_configs
constexpr int kMaxJsonDepth = 64;

class Parser {
 public:
  explicit Parser(std::string_view where) : where_(where) {}

  BackendConfig parse(const Json& root) {
    if (!root.is_object() || !root.contains("custom_call_config"))
      fail("a JSON object with `custom_call_config`, as a tpu_custom_call's backend_config is");
    if (root.contains("sparse_core_config") || root.value("device_type", Json()) == "DEVICE_TYPE_SPARSECORE")
      throw Incomplete(where_ + ": a SparseCore kernel");
    for (const auto& [key, value] : root.items()) top(key, value);
    if (!has_body_) fail("a kernel in custom_call_config.body");
    return std::move(config_);
  }

 private:
  [[noreturn]] void fail(const std::string& expected) const { throw InputError(where_, "expected " + expected); }
  [[noreturn]] void fail(const std::string& key, const char* expected) const {
    fail(std::string(expected) + " as `" + key + "`");
  }

  bool boolean(const std::string& key, const Json& v) const {
    if (!v.is_boolean()) fail(key, "true or false");
    return v.get<bool>();
  }
  int64_t integer(const std::string& key, const Json& v) const {
    if (!v.is_number_integer() ||
        (v.is_number_unsigned() && v.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())))
      fail(key, "an integer");
    return v.get<int64_t>();
  }
  int64_t bytes(const std::string& key, const Json& v) const {
    const int64_t n = integer(key, v);
    if (n < 0) throw InputError(where_, "expected a number of bytes as `" + key + "`, found " + std::to_string(n));
    return n;
  }
  const Json& array(const std::string& key, const Json& v) const {
    if (!v.is_array()) fail(key, "a list");
    return v;
  }
  const Json& object(const std::string& key, const Json& v) const {
    if (!v.is_object()) fail(key, "an object");
    return v;
  }
  int small(const std::string& key, const Json& v) const {
    const int64_t n = integer(key, v);
    if (n < 0 || n > 1 << 20) fail(key, "a small number");
    return static_cast<int>(n);
  }

  void top(const std::string& key, const Json& value) {
    if (key == "custom_call_config") {
      for (const auto& [k, v] : object(key, value).items()) call(k, v);
    } else if (key == "scoped_memory_configs") {
      for (const Json& entry : array(key, value)) {
        object(key, entry);
        if (!entry.contains("memory_space") || !entry.contains("size")) fail(key, "memory_space and size");
        if (integer(key, entry["memory_space"]) == kVmemSpace)
          config_.vmem_limit_bytes = bytes(key + ".size", entry["size"]);
        else
          config_.unknown_keys.push_back(key + ".memory_space " + entry["memory_space"].dump());
      }
    } else if (key == "flag_configs") {
      for (const Json& entry : array(key, value)) {
        object(key, entry);
        if (!entry.contains("flag_type") || !entry["flag_type"].is_string()) fail(key, "a flag_type");
        config_.flags.emplace_back(entry["flag_type"].get<std::string>(),
                                   entry.contains("value") ? dump(entry["value"]) : "");
      }
    } else if (key != "device_type") {
      config_.unknown_keys.push_back(key);
    }
  }

  static std::string dump(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

  void call(const std::string& key, const Json& value) {
    if (key == "body") {
      if (!value.is_string()) fail(key, "a string");
      config_.body = decode_base64(value.get_ref<const std::string&>(), where_ + ", body");
      has_body_ = true;
    } else if (key == "has_communication") {
      config_.has_communication = boolean(key, value);
    } else if (key == "collective_id") {
      const int64_t id = integer(key, value);
      if (id < std::numeric_limits<int32_t>::min() || id > std::numeric_limits<int32_t>::max())
        fail(key, "a 32-bit integer");
      config_.collective_id = static_cast<int32_t>(id);
    } else if (key == "cost_estimate") {
      CostEstimate cost;
      for (const auto& [k, v] : object(key, value).items()) {
        if (k == "flops")
          cost.flops = integer(k, v);
        else if (k == "transcendentals")
          cost.transcendentals = integer(k, v);
        else if (k == "bytes_accessed")
          cost.bytes_accessed = integer(k, v);
        else if (k == "remote_bytes_transferred")
          cost.remote_bytes = integer(k, v);
        else
          config_.unknown_keys.push_back(key + "." + k);
      }
      config_.cost_estimate = cost;
    } else if (key == "needs_hlo_passes") {
      config_.needs_hlo_passes = boolean(key, value);
    } else if (key == "serialization_format") {
      const int64_t format = integer(key, value);
      if (format != 1) fail("serialization_format 1, found " + std::to_string(format));
    } else if (key == "needs_layout_passes") {
      config_.needs_layout_passes = boolean(key, value);
    } else if (key == "shape_invariant_numerics") {
      config_.shape_invariant_numerics = boolean(key, value);
    } else if (key == "allow_input_fusion") {
      for (const Json& v : array(key, value)) config_.allow_input_fusion.push_back(boolean(key, v));
    } else if (key == "internal_scratch_in_bytes") {
      config_.internal_scratch_bytes = bytes(key, value);
    } else if (key == "output_memory_space_colors") {
      for (const Json& v : array(key, value)) {
        object(key, v);
        if (!v.contains("color")) fail(key, "a color");
        SpaceColor color{0, integer(key, v["color"])};
        if (v.contains("shape_index") && !array(key, v["shape_index"]).empty())
          color.index = small(key, v["shape_index"][0]);
        config_.output_spaces.push_back(color);
      }
    } else if (key == "input_memory_space_colors") {
      for (const Json& v : array(key, value)) {
        object(key, v);
        if (!v.contains("color") || !v.contains("operand_index")) fail(key, "a color and an operand_index");
        config_.input_spaces.push_back({small(key, v["operand_index"]), integer(key, v["color"])});
      }
    } else if (key == "disable_bounds_checks") {
      config_.disable_bounds_checks = boolean(key, value);
    } else if (key == "disable_semaphore_checks") {
      config_.disable_semaphore_checks = boolean(key, value);
    } else if (key == "skip_device_barrier") {
      config_.skip_device_barrier = boolean(key, value);
    } else {
      config_.unknown_keys.push_back("custom_call_config." + key);
    }
  }

  std::string where_;
  BackendConfig config_;
  bool has_body_ = false;
};

}  // namespace

std::vector<uint8_t> decode_base64(std::string_view text, std::string_view where) {
  std::vector<uint8_t> bytes(base64::decoded_size(text.size()) + 4);
  const auto [written, read] = base64::decode(bytes.data(), text.data(), text.size());
  // The decoder stops at the first character that is none of its alphabet; only padding may follow there.
  const std::string_view rest = text.substr(read);
  const bool padded = (rest.empty() || rest == "=" || rest == "==") && text.size() % 4 == 0;
  if (!padded || written != text.size() / 4 * 3 - rest.size())
    throw InputError(std::string(where), "at offset " + std::to_string(read) +
                                             ": expected base64 in groups of four characters, found " +
                                             (rest.empty() ? "the end" : "`" + std::string(rest.substr(0, 8)) + "`"));
  bytes.resize(written);
  return bytes;
}

std::string encode_base64(const std::vector<uint8_t>& bytes) {
  std::string text(base64::encoded_size(bytes.size()), '\0');
  text.resize(base64::encode(text.data(), bytes.data(), bytes.size()));
  return text;
}

BackendConfig parse_backend_config(std::string_view json, std::string_view where) {
  if (json.size() > kMaxConfigBytes)
    throw InputError(std::string(where), "a backend_config of " + std::to_string(json.size()) + " bytes; at most " +
                                             std::to_string(kMaxConfigBytes) + " are read");
  Json root;
  try {
    // Limited in depth: later steps (copies, output, destruction) walk it recursively.
    root = Json::parse(json, [&](int depth, Json::parse_event_t, Json&) {
      if (depth > kMaxJsonDepth)
        throw InputError(std::string(where),
                         "the backend_config is nested deeper than " + std::to_string(kMaxJsonDepth));
      return true;
    });
  } catch (const Json::parse_error& error) {
    throw InputError(std::string(where), "the backend_config is no JSON at byte " + std::to_string(error.byte));
  } catch (const Json::exception& error) {
    throw InputError(std::string(where), std::string("the backend_config: ") + error.what());
  }
  return Parser(where).parse(root);
}

std::string to_json(const BackendConfig& config) {
  OrderedJson call;
  call["body"] = encode_base64(config.body);
  if (config.has_communication) call["has_communication"] = true;
  if (config.collective_id) call["collective_id"] = *config.collective_id;
  if (const auto& c = config.cost_estimate)
    call["cost_estimate"] = {{"bytes_accessed", c->bytes_accessed},
                             {"flops", c->flops},
                             {"remote_bytes_transferred", c->remote_bytes},
                             {"transcendentals", c->transcendentals}};
  if (config.needs_hlo_passes) call["needs_hlo_passes"] = true;
  call["serialization_format"] = 1;
  if (config.needs_layout_passes) call["needs_layout_passes"] = true;
  if (!config.shape_invariant_numerics) call["shape_invariant_numerics"] = false;
  if (!config.allow_input_fusion.empty()) call["allow_input_fusion"] = config.allow_input_fusion;
  if (config.internal_scratch_bytes) call["internal_scratch_in_bytes"] = *config.internal_scratch_bytes;
  for (const SpaceColor& s : config.output_spaces)
    call["output_memory_space_colors"].push_back({{"color", s.color}, {"shape_index", {s.index}}});
  for (const SpaceColor& s : config.input_spaces)
    call["input_memory_space_colors"].push_back({{"operand_index", s.index}, {"color", s.color}});
  if (config.disable_bounds_checks) call["disable_bounds_checks"] = true;
  if (config.disable_semaphore_checks) call["disable_semaphore_checks"] = true;
  if (config.skip_device_barrier) call["skip_device_barrier"] = true;
  OrderedJson root;
  root["custom_call_config"] = std::move(call);
  if (config.vmem_limit_bytes)
    root["scoped_memory_configs"] = {{{"memory_space", kVmemSpace}, {"offset", 0}, {"size", *config.vmem_limit_bytes}}};
  for (const auto& [flag, value] : config.flags)
    root["flag_configs"].push_back(
        {{"flag_type", flag}, {"value", value.empty() ? OrderedJson() : OrderedJson::parse(value)}});
  return root.dump();
}

}  // namespace tilecheck::mosaic
