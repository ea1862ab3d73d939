#include "sim/machine/not_modelled.h"

namespace tilecheck {

bool has_parallel_axis(const KernelSpec& spec) {
  for (size_t i = 0; i < spec.semantics.size(); ++i)
    if (spec.semantics[i] != Semantics::arbitrary && spec.grid[static_cast<int>(i)] > 1) return true;
  return false;
}

// A resident array is one buffer to all who use it. Cores have memories of their own, and one array cannot name
// several: those of a kernel that runs on two cores, or would on this chip, which shares out what is parallel.
std::string why_not_modelled(const KernelSpec& spec, const Target* target, int cores) {
  const bool shares_out = target && (*target)[FigureId::cores] > 1;
  bool has_cores = cores > 1 || (shares_out && has_parallel_axis(spec));
  for (size_t i = 0; i < spec.semantics.size(); ++i)
    has_cores |= spec.semantics[i] == Semantics::core_parallel && spec.grid[static_cast<int>(i)] > 1;
  for (const auto* windows : {&spec.in, &spec.out})
    for (const Window& w : *windows)
      if (w.resident && has_cores)
        return "'" + w.name + "' stays in " + std::string(name(w.space)) +
               " between kernels: in each of several cores there is another";
  for (const Alias& a : spec.aliases) {
    if (static_cast<size_t>(a.input) >= spec.in.size() || static_cast<size_t>(a.output) >= spec.out.size())
      continue;  // validate() refuses it
    const Window &in = spec.in[static_cast<size_t>(a.input)], &out = spec.out[static_cast<size_t>(a.output)];
    if (in.resident != out.resident || (in.resident && in.space != out.space))
      return "'" + in.name + "' and '" + out.name + "' are one array, of which one only stays in " +
             std::string(name(in.resident ? in.space : out.space)) + " between kernels";
  }
  return "";
}

}  // namespace tilecheck
