#include "harness/subject.h"

#include <utility>

#include "sim/fit/record.h"
#include "sim/types/error.h"

namespace tilecheck {
namespace {

// Calls a one-device computation for each device.
std::function<std::vector<Arrays>(std::span<const Arrays>)> each_device(
    std::function<Arrays(std::span<const HostArray>)> one) {
  if (!one) return {};
  return [one = std::move(one)](std::span<const Arrays> operands) {
    std::vector<Arrays> all;
    for (const Arrays& a : operands) all.push_back(one(a));
    return all;
  };
}

}  // namespace

Subject subject_of(const KernelCase& c, std::string name) {
  validate(c.spec);
  Subject s;
  s.name = std::move(name);
  s.headline = c.headline;
  s.devices = c.devices;
  s.mesh = c.mesh;
  s.cores = c.cores;
  s.spec = c.spec;
  const auto hint = [&](size_t i) { return i < c.hints.size() ? c.hints[i] : InputHint{}; };
  for (const Prefetch& p : c.spec.prefetch)
    s.operands.push_back({p.name, p.dtype, p.shape, Operand::Role::prefetch, hint(s.operands.size())});
  for (const Window& w : c.spec.in)
    s.operands.push_back({w.name, w.dtype, w.array, Operand::Role::input, hint(s.operands.size())});
  for (const Window& w : c.spec.out) s.results.push_back({w.name, w.dtype, w.array});
  s.bind = [spec = c.spec, body = c.body](std::span<const Arrays> operands) {
    Launchable l{spec, body, {}};
    for (const Arrays& a : operands) {
      DeviceArgs args;
      for (size_t i = 0; i < a.size(); ++i) (i < spec.prefetch.size() ? args.prefetch : args.in).push_back(a[i]);
      l.args.push_back(std::move(args));
    }
    return l;
  };
  if (c.body)
    s.facts = [spec = c.spec, body = c.body, devices = c.devices,
               facts = std::make_shared<std::optional<fit::Body>>()]() -> const fit::Body* {
      if (!*facts) *facts = fit::record_body(spec, body, devices);
      return &**facts;
    };
  s.reference = c.device_reference ? c.device_reference : each_device(c.reference);
  if (c.naive)
    s.naive = [naive = c.naive](std::span<const Arrays> operands, Numerics numerics) {
      std::vector<Arrays> all;
      for (const Arrays& device : operands) all.push_back(naive(device, numerics));
      return all;
    };
  s.is_inexact_on_integers = c.is_inexact_on_integers;
  s.rules = c.rules;
  return s;
}

Subject subject_of(const KernelChoice& choice, const std::map<std::string, std::string>& set) {
  return subject_of(choice.make(set), choice.name());
}

}  // namespace tilecheck
