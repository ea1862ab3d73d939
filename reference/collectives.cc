#include "reference/collectives.h"

namespace tilecheck::reference {
namespace {

Array sum(const PerDevice& x) {
  Array total(x.at(0).shape);
  for (const Array& part : x) {
    assert(part.shape == total.shape);
    for (size_t i = 0; i < total.values.size(); ++i) total.values[i] += part.values[i];
  }
  return total;
}

}  // namespace

PerDevice ring_permute(const PerDevice& x, int64_t shift) {
  const auto devices = static_cast<int64_t>(x.size());
  PerDevice y(x.size());
  for (int64_t d = 0; d < devices; ++d) {
    const int64_t to = ((d + shift) % devices + devices) % devices;
    y[static_cast<size_t>(to)] = x[static_cast<size_t>(d)];
  }
  return y;
}

PerDevice all_gather(const PerDevice& x) {
  Array all = x.at(0);
  for (size_t d = 1; d < x.size(); ++d) {
    assert(std::vector(x[d].shape.begin() + 1, x[d].shape.end()) ==
           std::vector(all.shape.begin() + 1, all.shape.end()));
    all.shape[0] += x[d].shape[0];
    all.values.insert(all.values.end(), x[d].values.begin(), x[d].values.end());
  }
  return PerDevice(x.size(), all);
}

PerDevice all_reduce(const PerDevice& x) { return PerDevice(x.size(), sum(x)); }

PerDevice reduce_scatter(const PerDevice& x) {
  const Array total = sum(x);
  assert(total.dim(0) % static_cast<int64_t>(x.size()) == 0);
  const auto part = static_cast<std::ptrdiff_t>(total.values.size() / x.size());
  PerDevice y;
  for (size_t d = 0; d < x.size(); ++d) {
    std::vector<int64_t> shape = total.shape;
    shape[0] /= static_cast<int64_t>(x.size());
    const auto begin = total.values.begin() + part * static_cast<std::ptrdiff_t>(d);
    y.emplace_back(shape, std::vector<double>(begin, begin + part));
  }
  return y;
}

}  // namespace tilecheck::reference
