#include "sim/fit/vmem_rows.h"

#include <algorithm>

#include "sim/fit/time_table.h"
#include "sim/fit/vmem_spills.h"

namespace tilecheck::fit {
namespace {

// Results that the cross-lane units have under way at once: units times pushes of one register before the first comes
// back. Read from libtpu 0.0.42.1's schedules; the latest a store of a row can begin.
double pushes_under_way(const Target& target) {
  if (target.generation() < 4) return 12;
  if (target.generation() == 4) return 2 * 10;
  if (target.generation() == 5) return 3 * 15;
  return target.generation() == 6 ? 2 * 35 : 2 * 36;
}

// Of a row group of so many registers, how many go on as soon as their reduction is back, instead of when the next
// reduction takes them. Measured from libtpu 0.0.42.1's schedules of softmaxes (transcendental) and layer norms of 2 to
// 14 registers a row group.
double early_registers(double row_registers, bool is_transcendental, const Target& target) {
  const int generation = target.generation();
  double early = 0;
  if (is_transcendental) {
    const double none_from = generation == 6 ? 10 : generation == 5 ? 8 : 9;
    early = std::clamp(2 * (none_from - row_registers), 0.0, row_registers);
  } else {
    early = std::clamp(3 * ((generation <= 4 ? 6 : 5) - row_registers), 0.0, row_registers);
  }
  // Two cycles a group and reduction in the cross-lane units leave the transcendental unit idle for small groups: all
  // but one of their registers go on early then.
  if (generation >= 6 && is_transcendental && row_registers < 3) early = row_registers - 1;
  return early;
}

// Whether what a row group loads is needed again so soon that it is kept: by how long all groups take, each as long as
// its registers and some more. Measured from libtpu 0.0.42.1 on rms norms of 2 to 16 registers a row group, of 32 to
// 224 in all.
bool keeps_loads(double groups, double row_registers, const Target& target) {
  if (target.generation() < 4) return false;
  if (target.generation() == 4) return groups * (row_registers + 4.6) <= 226;
  if (target.generation() == 5) return groups * (row_registers + 2.9) <= 175;
  return groups * (row_registers + 1.7) <= 203;
}

int64_t row_count_of(const Shape& shape) {
  int64_t count = 1;
  for (int d = 0; d < std::max(1, shape.rank() - 1); ++d) count *= shape[d];
  return count;
}

std::vector<bool> transcendental_phases(const Body& body, const Block& block, const std::vector<int>& phase,
                                        int latest_phase, const Target& target) {
  std::vector<bool> is_transcendental(static_cast<size_t>(latest_phase) + 1);
  const TimeTable* table = time_table(target);
  for (size_t i = 0; table != nullptr && i < block.ops.size(); ++i) {
    const Op& op = block.ops[i];
    if (op.kind == OpKind::elementwise && fn_slots(*table, op.fn, type_of(body, op.out[0]).dtype).eup > 0)
      is_transcendental[static_cast<size_t>(phase[i])] = true;
  }
  return is_transcendental;
}

}  // namespace

bool RowStream::has_rows_of(const Shape& shape) const { return row_count > 0 && row_count_of(shape) == row_count; }

RowStream row_stream(const Body& body, const Block& block, const std::vector<int>& phase, int latest_phase,
                     const Target& target) {
  RowStream stream(latest_phase);
  std::vector<double> pushes(stream.under_way.size(), 0);
  int64_t row_registers = 0;
  for (size_t i = 0; i < block.ops.size(); ++i) {
    const Op& op = block.ops[i];
    if (op.kind != OpKind::reduce && op.kind != OpKind::reduce_index) continue;
    const TileType& type = type_of(body, op.in[0]);
    const bool is_over_lanes = type.shape.rank() >= 2 && op.axes.rank() == 1 && op.axes[0] == type.shape.rank() - 1;
    if (!is_over_lanes || element_count(type.shape) == 0 || (stream.row_count != 0 && !stream.has_rows_of(type.shape)))
      return RowStream(latest_phase);
    stream.row_count = row_count_of(type.shape);
    row_registers = (type.shape.back() + target.lanes() - 1) / target.lanes();
    pushes[static_cast<size_t>(phase[i])] += static_cast<double>(vector_registers(type, target) / row_registers);
  }
  if (stream.row_count == 0) return stream;
  for (size_t p = 0; p < pushes.size(); ++p)
    if (pushes[p] > 0) stream.under_way[p] = std::min(1.0, pushes_under_way(target) / pushes[p]);
  const auto count = static_cast<double>(row_registers);
  const std::vector<bool> is_transcendental = transcendental_phases(body, block, phase, latest_phase, target);
  for (size_t p = 0; p < pushes.size(); ++p)
    stream.early_share[p] = p == 0 ? 1 : early_registers(count, is_transcendental[p], target) / count;
  const double groups = *std::max_element(pushes.begin(), pushes.end());
  // Measured from libtpu 0.0.42.1 on softmaxes and layer norms of one to three registers a row group.
  stream.pushes_early = target.generation() < 6 && row_registers <= 2;
  stream.folds_registers = row_registers > 1;
  stream.keeps_loads = keeps_loads(groups, count, target);
  return stream;
}

// Registers of the file that serve what goes on while rows wait for their reductions. Measured from libtpu 0.0.42.1 on
// layer norms, softmaxes and rms norms of 12 to 72 registers, 1 to 16 a row group.
double row_registers_in_use(const Target& target) {
  if (target.generation() < 4) return 0;
  if (target.generation() == 4) return 3;
  return target.generation() == 5 ? 12 : 4;
}

void Waits::settle() {
  for (std::vector<double>* sums : {&at_once_, &as_pushed_, &as_back_})
    for (size_t p = 1; p < sums->size(); ++p) (*sums)[p] += (*sums)[p - 1];
}

double Waits::at(double time) const {
  const auto until = [](const std::vector<double>& sums, int p) {
    return p < 0 ? 0.0 : sums[std::min(static_cast<size_t>(p), sums.size() - 1)];
  };
  const auto of = [&](const std::vector<double>& sums, int p) { return until(sums, p) - until(sums, p - 1); };
  const int p = static_cast<int>(time);
  double alive = until(at_once_, time > p ? p : p - 1) + until(as_pushed_, p - 1) + (time - p) * of(as_pushed_, p) +
                 until(as_back_, p - 2);
  for (int back = std::max(0, p - 1); back <= p && back < static_cast<int>(under_way_.size()); ++back)
    alive += std::clamp(time - back - under_way_[static_cast<size_t>(back)], 0.0, 1.0) * of(as_back_, back);
  return alive;
}

double Waits::most() const {
  double peak = 0;  // between these times it changes steadily
  for (size_t i = 0; i < under_way_.size(); ++i) {
    const double p = static_cast<double>(i), back = p + under_way_[i];
    for (double time : {p + 1, back, back + 1}) peak = std::max(peak, at(time));
  }
  return peak;
}

}  // namespace tilecheck::fit
