#include "sim/machine/device_memory.h"

#include <algorithm>

#include "sim/memory/transfer.h"
#include "sim/types/error.h"

namespace tilecheck {
namespace {

std::string operand_name(const KernelSpec& spec, const std::string& what, const std::string& name) {
  return "kernel " + spec.name + ", " + what + " '" + name + "'";
}

void check_array(const KernelSpec& spec, const std::string& what, const std::string& name, const HostArray& array,
                 DType dtype, const Shape& shape) {
  if (array.dtype() == dtype && array.shape() == shape && array.has_value()) return;
  throw InputError(operand_name(spec, what, name), "expected " + std::string(tilecheck::name(dtype)) + to_tuple(shape) +
                                                       ", got " + std::string(tilecheck::name(array.dtype())) +
                                                       to_tuple(array.shape()));
}

// Where a window's array lies.
Space array_space(const Window& w) {
  if (is_semaphore(w.dtype)) return Space::semaphore;
  return w.resident ? w.space : Space::hbm;
}

// An operand's array, without a copy unless it will be written or its storage differs.
std::shared_ptr<Buffer> operand_buffer(const std::string& name, Space space, const HostArray& array, DType repr,
                                       bool written, int device) {
  const bool convert = repr != array.dtype();
  auto buffer = std::make_shared<Buffer>(name, space,
                                         convert   ? array.convert(repr)
                                         : written ? array.clone()
                                                   : array,
                                         device, -1);
  buffer->dtype = array.dtype();
  buffer->read_only = !written;
  return buffer;
}

}  // namespace

DeviceMemory device_memory(const KernelSpec& spec, const DeviceArgs& args, const LaunchOptions& options, int device) {
  DeviceMemory m;
  m.device = device;
  OpContext context;
  context.numerics = options.numerics;
  if (args.prefetch.size() != spec.prefetch.size() || args.in.size() != spec.in.size())
    throw InputError("kernel " + spec.name, "takes " + std::to_string(spec.prefetch.size()) +
                                                " scalar-prefetch operands and " + std::to_string(spec.in.size()) +
                                                " inputs; got " + std::to_string(args.prefetch.size()) + " and " +
                                                std::to_string(args.in.size()));
  for (size_t i = 0; i < spec.prefetch.size(); ++i) {
    const Prefetch& p = spec.prefetch[i];
    check_array(spec, "scalar prefetch", p.name, args.prefetch[i], p.dtype, p.shape);
    m.prefetch.push_back(operand_buffer(p.name, Space::hbm, args.prefetch[i], context.repr_of(p.dtype), false, device));
  }
  for (size_t i = 0; i < spec.in.size(); ++i) {
    const Window& w = spec.in[i];
    check_array(spec, "input", w.name, args.in[i], w.dtype, w.array);
    const bool aliased = std::any_of(spec.aliases.begin(), spec.aliases.end(),
                                     [&](const Alias& a) { return a.input == static_cast<int>(i); });
    m.in.push_back(operand_buffer(w.name, array_space(w), args.in[i], context.repr_of(w.dtype), aliased, device));
  }
  for (size_t i = 0; i < spec.out.size(); ++i) {
    const Window& w = spec.out[i];
    const auto alias = std::find_if(spec.aliases.begin(), spec.aliases.end(),
                                    [&](const Alias& a) { return a.output == static_cast<int>(i); });
    if (alias != spec.aliases.end()) {
      m.out.push_back(m.in[static_cast<size_t>(alias->input)]);
      continue;
    }
    auto buffer =
        std::make_shared<Buffer>(w.name, array_space(w), w.dtype, context.repr_of(w.dtype), w.array, device, -1);
    buffer->garbage = options.garbage;
    if (!options.check_definedness) buffer->shadow.set_all(true);
    m.out.push_back(std::move(buffer));
  }
  return m;
}

namespace {

void note_undefined_output(FindingSink& sink, const Window& w, const std::vector<uint8_t>& undefined, int device) {
  int64_t count = 0, first = -1;
  bool computed = false;
  const bool has_flag = storage_bytes(w.dtype) < 8;
  for (size_t i = 0; i < undefined.size(); ++i) {
    if (!undefined[i]) continue;
    if (first < 0) first = static_cast<int64_t>(i);
    ++count;
    computed = computed || (has_flag && (undefined[i] & kComputedFlag));
  }
  if (count == 0) return;
  Dims at;
  for (int d = w.array.rank() - 1, rest = 0; d >= 0; --d) {
    (void)rest;
    at.insert(0, first % w.array[d]);
    first /= w.array[d];
  }
  Finding f =
      Finding::make(Kind::undefined_output,
                    std::to_string(count) + " of " + std::to_string(undefined.size()) + " elements of '" + w.name +
                        "' are undefined" + (computed ? ": computed together with undefined memory" : "") +
                        ", the first at " + to_tuple(at),
                    w.at);
  f.severity = computed ? Severity::warning : Severity::note;
  f.buffer = w.name;
  f.device = device;
  sink.add(std::move(f));
}

}  // namespace

DeviceResults collect_results(const KernelSpec& spec, DeviceMemory& memory, const Engine& engine, FindingSink& sink) {
  DeviceResults results;
  for (size_t i = 0; i < spec.out.size(); ++i) {
    Buffer& b = *memory.out[i];
    if (is_semaphore(b.dtype)) {
      HostArray counts(b.dtype, b.shape);
      for (int64_t e = 0; e < counts.size(); ++e) counts.set(e, static_cast<double>(engine.final_count({&b, e})));
      results.out.push_back(counts);
      results.undefined.emplace_back();
      continue;
    }
    b.ensure_filled();
    results.out.push_back(b.repr == b.dtype ? b.array : b.array.convert(b.dtype));
    std::vector<uint8_t>& undefined = results.undefined.emplace_back();
    b.shadow.settle();
    if (!b.shadow.all_defined()) {
      const uint8_t* bytes = b.shadow.bytes();
      undefined.assign(bytes, bytes + b.array.size());
      note_undefined_output(sink, spec.out[i], undefined, memory.device);
    }
  }
  return results;
}

}  // namespace tilecheck
