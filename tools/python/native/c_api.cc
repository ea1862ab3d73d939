// The plain C interface that the Python package calls: requests and replies are JSON, arrays are pointers.
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "harness/writers.h"
#include "sim/types/error.h"
#include "tools/python/native/runner.h"

namespace tilecheck::python {
namespace {

using Json = nlohmann::json;

// A request, with the strings that its signature views.
struct Request {
  std::string config, name, options;
  CallSignature signature;
};

mosaic::ArrayType array_type(const Json& json) {
  const std::string dtype = json.at("dtype").get<std::string>();
  const std::optional<DType> parsed = parse_dtype(dtype);
  if (!parsed) throw InputError("dtype", "unknown type \"" + dtype + "\"");
  Shape shape;
  for (const Json& d : json.at("shape")) shape.push_back(d.get<int64_t>());
  return {*parsed, shape};
}

void parse(const char* text, Request& request) {
  const Json json = Json::parse(text);
  request.config = json.at("config").get<std::string>();
  request.name = json.at("name").get<std::string>();
  request.options = json.at("options").dump();
  CallSignature& s = request.signature;
  s.config = request.config;
  s.name = request.name;
  s.options = request.options;
  for (const Json& a : json.at("operands")) s.operands.push_back(array_type(a));
  for (const Json& a : json.at("results")) s.results.push_back(array_type(a));
  for (const Json& a : json.at("aliases")) s.aliases.push_back({a.at(0).get<int>(), a.at(1).get<int>()});
  for (const Json& d : json.at("mesh")) {
    s.mesh.push_back(d.get<int64_t>());
    s.devices *= d.get<int>();
  }
}

std::string_view name(CallStatus::Code code) {
  switch (code) {
    case CallStatus::Code::ok:
      return "ok";
    case CallStatus::Code::findings:
      return "findings";
    case CallStatus::Code::incomplete:
      return "incomplete";
    case CallStatus::Code::bad_input:
      return "error";
    case CallStatus::Code::cancelled:
      return "cancelled";
  }
  return "";
}

char* to_c(const std::string& text) {
  auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy) std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

char* reply(const CallStatus& status, const Outcome* outcome) {
  Json json{{"status", name(status.code)}, {"message", status.message}};
  if (outcome) {
    json["text"] = text_report(*outcome, {});
    json["report"] = Json::parse(json_report({outcome, 1}, {}));
  }
  return to_c(json.dump());
}

// Runs `f`, turning what it throws into a reply.
template <typename F>
char* guarded(F f) {
  try {
    return f();
  } catch (const Incomplete& e) {
    return reply({CallStatus::Code::incomplete, e.what()}, nullptr);
  } catch (const std::exception& e) {
    return reply({CallStatus::Code::bad_input, e.what()}, nullptr);
  }
}

}  // namespace
}  // namespace tilecheck::python

using namespace tilecheck::python;

// Every returned string is the caller's, to be given back to tilecheck_free.
#pragma GCC visibility push(default)
extern "C" {

// arrays: device by device, the operands' addresses, then the results'.
char* tilecheck_run(const char* text, void* const* arrays) {
  return guarded([&] {
    Request request;
    parse(text, request);
    std::vector<DeviceArrays> devices(static_cast<size_t>(request.signature.devices));
    for (DeviceArrays& d : devices) {
      for (const auto& type : request.signature.operands) d.operands.push_back({type, *arrays++});
      for (const auto& type : request.signature.results) d.results.push_back({type, *arrays++});
    }
    tilecheck::Outcome outcome;
    const CallStatus status = run_call(request.signature, devices, &outcome);
    return reply(status, outcome.ran ? &outcome : nullptr);
  });
}

// Fit, compile rules and time; runs nothing.
char* tilecheck_analyse(const char* text) {
  return guarded([&] {
    Request request;
    parse(text, request);
    const std::shared_ptr<const Kernel> kernel = kernel_cache().find(request.signature);
    const std::vector<std::string>& why = kernel->analysis.report.incomplete;
    return reply(why.empty() ? CallStatus{} : CallStatus{CallStatus::Code::incomplete, "not modelled: " + why[0]},
                 &kernel->analysis);
  });
}

// The same, and whether what was found then stops a program that is compiled with these options: `status`.
char* tilecheck_compile(const char* text) {
  return guarded([&] {
    Request request;
    parse(text, request);
    return reply(judge_compiled(request.signature), nullptr);
  });
}

int tilecheck_mark() { return report_log().mark(); }

// Whether parse_options takes this.
char* tilecheck_check_options(const char* text) {
  return guarded([&] {
    parse_options(text);
    return reply({}, nullptr);
  });
}

char* tilecheck_reports(int since) {
  return guarded([=] { return to_c(report_log().to_json(since)); });
}

void tilecheck_clear_reports() { report_log().clear(); }

char* tilecheck_unused_suppressions() {
  return guarded([] { return to_c(suppressions().unused_json()); });
}

// Everything since a mark, as SARIF.
char* tilecheck_sarif(int since) {
  return guarded([=] { return to_c(report_log().to_sarif(since)); });
}

char* tilecheck_cache_stats() {
  return guarded([] {
    const KernelCache::Stats s = kernel_cache().stats();
    return to_c(Json{{"hits", s.hits}, {"misses", s.misses}, {"kernels", s.kernels}}.dump());
  });
}

void tilecheck_clear_cache() { kernel_cache().clear(); }

const char* tilecheck_version() { return tilecheck::kVersion; }

void tilecheck_free(char* text) { std::free(text); }

}  // extern "C"
#pragma GCC visibility pop
