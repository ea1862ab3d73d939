#include "sim/machine/counters.h"

#include <algorithm>

namespace tilecheck {

void add_counters(Counters& into, const Counters& from) {
  into.grid_steps += from.grid_steps;
  into.operations += from.operations;
  into.flops += from.flops;
  into.transcendentals += from.transcendentals;
  into.loads += from.loads;
  into.load_bytes += from.load_bytes;
  into.stores += from.stores;
  into.store_bytes += from.store_bytes;
  into.dma_copies += from.dma_copies;
  into.dma_bytes += from.dma_bytes;
  into.semaphore_waits += from.semaphore_waits;
  into.semaphore_signals += from.semaphore_signals;
  into.unused_loads_removed = std::max(into.unused_loads_removed, from.unused_loads_removed);
  into.unused_load_bytes = std::max(into.unused_load_bytes, from.unused_load_bytes);
  if (into.windows.empty()) {
    into.windows = from.windows;
    return;
  }
  for (size_t i = 0; i < into.windows.size() && i < from.windows.size(); ++i) {
    into.windows[i].fetches += from.windows[i].fetches;
    into.windows[i].write_backs += from.windows[i].write_backs;
    into.windows[i].moved_bytes += from.windows[i].moved_bytes;
    into.windows[i].minimum_bytes += from.windows[i].minimum_bytes;
  }
}

}  // namespace tilecheck
