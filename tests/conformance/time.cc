// Holds the time model against the TPU compiler's own timing simulator.
// conformance_time [--check] [--features FILE] [--rows FILE]
// --check: exit 1 beyond the promised errors; --features: what the model sees of each body, as JSON lines, for fitting;
// --rows: every kernel as CSV
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <numeric>

#include "measured.h"
#include "sim/fit/simplify.h"
#include "sim/fit/time_body.h"
#include "sim/fit/time_model.h"
#include "sim/fit/time_table.h"
#include "sim/mosaic/fit_body.h"
#include "sim/mosaic/payload.h"

namespace tilecheck::conformance {
namespace {

struct Kernel {
  KernelSpec spec;
  fit::Body body;
};

std::unique_ptr<Kernel> open(const std::string& path) {
  auto kernel = std::make_unique<Kernel>();
  mosaic::KernelModule module = mosaic::open_kernel(mosaic::read_kernel_calls(read_file(path), path).at(0));
  kernel->body = mosaic::fit_body(module.module, *module.main);
  kernel->spec = mosaic::Payload::make(std::move(module))->spec();
  fit::simplify(kernel->body);
  return kernel;
}

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double at = share * static_cast<double>(values.size() - 1);
  const size_t i = static_cast<size_t>(at);
  const double rest = at - static_cast<double>(i);
  return i + 1 < values.size() ? values[i] * (1 - rest) + values[i + 1] * rest : values[i];
}

std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> rank(values.size());
  for (size_t i = 0; i < order.size();) {
    size_t j = i;
    while (j < order.size() && values[order[j]] == values[order[i]]) ++j;
    for (size_t k = i; k < j; ++k) rank[order[k]] = static_cast<double>(i + j - 1) / 2;
    i = j;
  }
  return rank;
}

// Spearman's, of two lists.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> x = ranks(a), y = ranks(b);
  const double mean = static_cast<double>(x.size() - 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xx == 0 || yy == 0 ? 1 : xy / std::sqrt(xx * yy);
}

struct Errors {
  std::vector<double> fitted, held;
  void add(double predicted, double truth, bool is_held) {
    (is_held ? held : fitted).push_back(std::abs(predicted / truth - 1));
  }
  void print(const char* what, const std::string& generation) const {
    std::printf("  %-7s %-5s fitted %4zu: median %4.1f%% p90 %4.1f%%   held out %4zu: median %4.1f%% p90 %4.1f%%\n",
                what, generation.c_str(), fitted.size(), 100 * percentile(fitted, 0.5), 100 * percentile(fitted, 0.9),
                held.size(), 100 * percentile(held, 0.5), 100 * percentile(held, 0.9));
  }
};

void write_features(std::ofstream& out, const CsvRow& row, const Kernel& kernel, const Target& target) {
  const fit::TimeTable* table = fit::time_table(target);
  const fit::BodyTimer timer(kernel.body, *table, target);
  out << "{\"gen\":\"" << target.name << "\",\"module\":\"" << row.at("module") << "\",\"kernel\":\""
      << row.at("kernel") << "\",\"family\":\"" << row.at("family") << "\",\"cycles\":" << row.at("loop_cycles_postRA")
      << ",\"windows\":" << kernel.spec.in.size() + kernel.spec.out.size() << ",\"regions\":[";
  bool first = true;
  const auto visit = [&](const auto& self, const fit::TimedBlock& block) -> void {
    for (const fit::TimedItem& item : block.items) {
      if (item.kind == fit::TimedItem::Kind::region) {
        out << (first ? "" : ",") << fit::features_json(item.features);
        first = false;
      }
      for (const fit::TimedBlock& inner : item.blocks) self(self, inner);
    }
  };
  visit(visit, timer.top());
  out << "]}\n";
}

int run(bool check, const char* features_path, const char* rows_path) {
  const std::string folder = shared_folder() + "/timing/";
  const auto rows = read_csv(folder + "libtpu_cycles.csv");
  if (!rows) {
    std::printf("skipped: no %slibtpu_cycles.csv\n", folder.c_str());
    return kSkipped;
  }
  std::ofstream features, table;
  if (features_path != nullptr) features.open(features_path);
  if (rows_path != nullptr) table.open(rows_path);
  std::map<std::string, std::unique_ptr<Kernel>> kernels;
  std::map<std::string, Errors> whole, body;
  struct Group {
    std::vector<double> truth, predicted;
  };
  std::map<std::string, Group> groups;
  int failed = 0;
  for (const CsvRow& row : *rows) {
    const std::string generation = row.at("gen") == "tpu7x" ? "v7x" : row.at("gen");
    const Target& target = target_named(generation);
    const bool held = is_held_out(row.at("module"));
    try {
      std::unique_ptr<Kernel>& kernel = kernels[row.at("module")];
      if (!kernel) kernel = open(folder + row.at("module"));
      const fit::TimeEstimate t = fit::estimate_time(kernel->spec, kernel->body, target, {.advise = false});
      const std::string& loop = row.at("loop_cycles_postRA");
      if (!loop.empty() && std::stod(loop) > 0) {
        body[generation].add(t.body_static_cycles, std::stod(loop), held);
        if (features.is_open()) write_features(features, row, *kernel, target);
      }
      const std::string& truth = row.at("est_cycles");
      const bool usable = !truth.empty() && truth != "None" && row.at("operands_in_vmem") == "0";
      if (table.is_open())
        table << generation << "," << row.at("module") << "," << row.at("kernel") << "," << loop << ","
              << t.body_static_cycles << "," << (usable ? truth : "") << "," << t.cycles << "," << (held ? 1 : 0)
              << "\n";
      if (!usable || !t.not_modelled.empty()) continue;
      whole[generation].add(t.cycles, std::stod(truth), held);
      const std::string& params = row.at("params");
      const size_t at = params.find("\"dtype\"");
      Group& group = groups[generation + " " + row.at("kernel") + " " +
                            params.substr(at + 10, params.find('"', at + 10) - at - 10)];
      group.truth.push_back(std::stod(truth));
      group.predicted.push_back(t.cycles);
    } catch (const std::exception& e) {
      std::printf("  %s on %s: %s\n", row.at("module").c_str(), generation.c_str(), e.what());
      ++failed;
    }
  }
  bool good = failed == 0;
  std::printf("bodies (bundles of a grid step, every branch once)\n");
  for (const auto& [generation, errors] : body) {
    errors.print("body", generation);
    good &= percentile(errors.held, 0.5) <= 0.10;
  }
  std::printf("whole kernels (estimated_cycles)\n");
  for (const auto& [generation, errors] : whole) {
    errors.print("kernel", generation);
    good &= percentile(errors.held, 0.5) <= 0.05 && percentile(errors.held, 0.9) <= 0.15;
  }
  std::vector<double> correlations;
  for (const auto& [name, group] : groups) {
    if (group.truth.size() < 6) continue;
    const double r = rank_correlation(group.truth, group.predicted);
    correlations.push_back(r);
    if (r < 0.95) std::printf("  rank correlation of %s: %.3f over %zu tiles\n", name.c_str(), r, group.truth.size());
  }
  std::printf("rank correlation of tile choices, kernels of 6 tiles and more: median %.3f, least %.3f, of %zu\n",
              percentile(correlations, 0.5), percentile(correlations, 0), correlations.size());
  good &= percentile(correlations, 0.1) >= 0.95;
  return check && !good ? 1 : 0;
}

}  // namespace
}  // namespace tilecheck::conformance

int main(int argc, char** argv) {
  bool check = false;
  const char *features = nullptr, *rows = nullptr;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--check") == 0)
      check = true;
    else if (std::strcmp(argv[i], "--features") == 0 && i + 1 < argc)
      features = argv[++i];
    else if (std::strcmp(argv[i], "--rows") == 0 && i + 1 < argc)
      rows = argv[++i];
  }
  return tilecheck::conformance::run(check, features, rows);
}
