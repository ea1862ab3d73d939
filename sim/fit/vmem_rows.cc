#include "sim/fit/vmem_rows.h"

#include <algorithm>

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
// reduction takes them. Measured from libtpu 0.0.42.1's schedules of softmaxes of 2 to 14 registers a row group.
double early_registers(double row_registers, const Target& target) {
  const double none_from = target.generation() == 5 ? 8 : target.generation() == 6 ? 10 : 9;
  return std::clamp(2 * (none_from - row_registers), 0.0, row_registers);
}

int64_t row_count_of(const Shape& shape) {
  int64_t count = 1;
  for (int d = 0; d < std::max(1, shape.rank() - 1); ++d) count *= shape[d];
  return count;
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
    if (!is_over_lanes || (stream.row_count != 0 && !stream.has_rows_of(type.shape))) return RowStream(latest_phase);
    stream.row_count = row_count_of(type.shape);
    row_registers = (type.shape.back() + target.lanes() - 1) / target.lanes();
    pushes[static_cast<size_t>(phase[i])] += static_cast<double>(vector_registers(type, target) / row_registers);
  }
  if (stream.row_count == 0) return stream;
  for (size_t p = 0; p < pushes.size(); ++p)
    if (pushes[p] > 0) stream.under_way[p] = std::min(1.0, pushes_under_way(target) / pushes[p]);
  const auto count = static_cast<double>(row_registers);
  stream.early_share = early_registers(count, target) / count;
  return stream;
}

// Registers of the file that serve what goes on while rows wait for their reductions. Measured from libtpu 0.0.42.1 on
// layer norms, softmaxes and rms norms of 12 to 72 registers, 1 to 16 a row group.
double row_registers_in_use(const Target& target) {
  if (target.generation() < 4) return 0;
  if (target.generation() == 4) return 3;
  return target.generation() == 5 ? 12 : 4;
}

double Waits::at(double time) const {
  const auto reached = [](double after, bool by_rows) {
    return by_rows ? std::clamp(after, 0.0, 1.0) : after > 0 ? 1.0 : 0.0;
  };
  double alive = 0;
  for (const Span& s : spans_)
    alive += s.registers * (reached(time - s.from, s.by_rows) - reached(time - s.to, s.by_rows));
  return alive;
}

double Waits::most() const {
  double peak = 0;  // between these times it changes steadily
  for (size_t i = 0; i < under_way_.size(); ++i) {
    const int p = static_cast<int>(i);
    for (double time : {p + 1.0, back(p), back(p) + 1}) peak = std::max(peak, at(time));
  }
  return peak;
}

}  // namespace tilecheck::fit
