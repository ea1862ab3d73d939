#include "kernels/double_buffered_copy_twins.h"

#include "kernels/list.h"
#include "kernels/tiling.h"
#include "kernels/twins.h"

namespace tilecheck {
namespace {

// double_buffered_copy.cc's body, with the flaws.
class Flawed {
 public:
  Flawed(CopyFlaw flaw, const DoubleBufferedCopy& p) : flaw_(flaw), p_(p) {}

  void operator()(Core& core, std::span<const Ref> all) const {
    DoubleBufferedCopyRefs refs(p_, all);
    if (!is(CopyFlaw::scope_left_in_flight) && !is(CopyFlaw::loads_into_left_scope)) {
      copy_blocks(core, refs, all.back());
      return;
    }
    // The slots of x live in a scope of their own.
    const std::vector<Scratch> slots{
        {.name = "scoped slots", .dtype = refs.x.dtype, .shape = refs.x_slots.shape()},
        {.name = "scoped loaded", .dtype = DType::dma_semaphore, .shape = {p_.slots}, .space = Space::semaphore}};
    core.scope(slots, [&](std::span<const Ref> scoped) {
      refs.x_slots = scoped[0], refs.x_done = scoped[1];
      copy_blocks(core, refs, all.back());
    });
    if (is(CopyFlaw::loads_into_left_scope)) {
      load(core, refs, 0);
      core.wait_bytes_of(refs.loaded(0), refs.x_slot(0));
    }
  }

 private:
  bool is(CopyFlaw flaw) const { return flaw_ == flaw; }

  void load(Core& core, const DoubleBufferedCopyRefs& refs, int64_t i) const {
    if (is(CopyFlaw::load_not_started) && i == 1) return;
    const Ref slot = refs.x_slot(is(CopyFlaw::loads_into_one_slot) ? 0 : i);
    const Ref done = refs.loaded(is(CopyFlaw::loads_share_semaphore) ? 0 : i);
    if (!is(CopyFlaw::half_awaited)) {
      core.start_copy(refs.x_block(i), slot, done);
      return;
    }
    const int64_t rows = slot.shape()[0], half = rows / 2;
    core.start_copy(refs.x_block(i)({ds(0, half)}), slot({ds(0, half)}), done);
    core.start_copy(refs.x_block(i)({ds(half, rows - half)}), slot({ds(half, rows - half)}), done);
  }

  void wait_loaded(Core& core, const DoubleBufferedCopyRefs& refs, int64_t i) const {
    int64_t semaphore = i;
    if (is(CopyFlaw::other_slot_awaited) && i + 1 < p_.blocks()) ++semaphore;
    if (is(CopyFlaw::loads_share_semaphore)) semaphore = 0;
    const Ref done = refs.loaded(semaphore), slot = refs.x_slot(i);
    core.wait_bytes_of(done, is(CopyFlaw::half_awaited) ? slot({ds(0, slot.shape()[0] / 2)}) : slot);
    if (is(CopyFlaw::awaited_twice) && i == 0) core.wait_bytes_of(done, slot);
  }

  void work(Core& core, const DoubleBufferedCopyRefs& refs, int64_t i) const {
    const bool late = is(CopyFlaw::load_awaited_late);
    if (!is(CopyFlaw::load_not_awaited) && !late) wait_loaded(core, refs, i);
    if (i >= p_.slots && !is(CopyFlaw::store_slot_overwritten))
      core.wait_bytes_of(refs.stored(i - p_.slots), refs.y_block(i - p_.slots));
    core.store(refs.y_slot(i), maximum(core.load(refs.x_slot(i)) * 2 + 1, 0));
    if (late) wait_loaded(core, refs, i);
    core.start_copy(refs.y_slot(i), refs.y_block(i), refs.stored(i));
    if (is(CopyFlaw::store_source_changed)) core.store(refs.y_slot(i), 0);
    if (i >= p_.slots && is(CopyFlaw::store_slot_overwritten))
      core.wait_bytes_of(refs.stored(i - p_.slots), refs.y_block(i - p_.slots));
  }

  // Of the twins that count blocks on a regular semaphore.
  void count(Core& core, const Ref& counter, int64_t i) const {
    if (is(CopyFlaw::signal_leaked)) {
      core.signal(counter);
      if (i > 0) core.wait(counter);
    }
    if (is(CopyFlaw::never_signalled) && i == 1) core.wait(counter);
    if (is(CopyFlaw::own_signal_too_late)) {
      core.wait(counter);
      core.signal(counter);
    }
    if (is(CopyFlaw::count_overflows)) core.signal(counter, int64_t{1} << 30);
  }

  void copy_blocks(Core& core, const DoubleBufferedCopyRefs& refs, const Ref& counter) const {
    const int64_t blocks = p_.blocks(), ahead = p_.slots - 1 + (is(CopyFlaw::load_into_used_slot) ? 1 : 0);
    for (int64_t i = 0; i < std::min(ahead, blocks); ++i) load(core, refs, i);
    for (int64_t i = 0; i < blocks; ++i) {
      count(core, counter, i);
      if (i + ahead < blocks) load(core, refs, i + ahead);
      work(core, refs, i);
    }
    if (is(CopyFlaw::signals_dma_semaphore)) core.signal(refs.loaded(0));
    if (is(CopyFlaw::scope_left_in_flight)) load(core, refs, 0);
    const int64_t end = blocks - (is(CopyFlaw::last_store_not_awaited) ? 1 : 0);
    for (int64_t i = std::max<int64_t>(0, blocks - p_.slots); i < end; ++i)
      core.wait_bytes_of(refs.stored(i), refs.y_block(i));
  }

  CopyFlaw flaw_;
  DoubleBufferedCopy p_;
};

BrokenTwin flawed(std::string name, std::string what, Kind kind, CopyFlaw flaw) {
  // Four blocks, the last a short one.
  return {.name = std::move(name),
          .what = std::move(what),
          .kind = kind,
          .set = {{"rows", "28"}, {"columns", "128"}, {"block_rows", "8"}},
          .make = [flaw](const ParamValues& values) {
            return double_buffered_copy_with(flaw, DoubleBufferedCopy(values));
          }};
}

}  // namespace

KernelCase double_buffered_copy_with(CopyFlaw flaw, const DoubleBufferedCopy& p) {
  KernelCase c = double_buffered_copy_case(p);
  c.spec.scratch.push_back({.name = "blocks", .dtype = DType::semaphore, .shape = {}, .space = Space::semaphore});
  c.body = Flawed(flaw, p);
  return c;
}

std::vector<BrokenTwin> double_buffered_copy_twins() {
  return {
      flawed("load_not_awaited", "a block is read without waiting for its load", Kind::race,
             CopyFlaw::load_not_awaited),
      flawed("load_awaited_late", "a block is read first, and its load awaited after that", Kind::race,
             CopyFlaw::load_awaited_late),
      flawed("other_slot_awaited", "the wait is on the semaphore of the next slot", Kind::race,
             CopyFlaw::other_slot_awaited),
      flawed("half_awaited", "two copies fill a slot, and the bytes of one are awaited", Kind::race,
             CopyFlaw::half_awaited),
      flawed("loads_share_semaphore", "loads in flight share a semaphore: a wait cannot tell which is over", Kind::race,
             CopyFlaw::loads_share_semaphore),
      flawed("load_into_used_slot", "loads run one block too far ahead, into the slot that is worked on", Kind::race,
             CopyFlaw::load_into_used_slot),
      flawed("loads_into_one_slot", "every load goes to slot 0, two of them at once", Kind::race,
             CopyFlaw::loads_into_one_slot),
      flawed("store_slot_overwritten", "a slot is filled again before the store of what it held is awaited", Kind::race,
             CopyFlaw::store_slot_overwritten),
      flawed("store_source_changed", "a slot is cleared as soon as its store has started", Kind::race,
             CopyFlaw::store_source_changed),
      flawed("last_store_not_awaited", "the last store is still in flight when the kernel ends", Kind::dma_not_awaited,
             CopyFlaw::last_store_not_awaited),
      flawed("load_not_started", "block 1 is awaited, and its load was never started", Kind::wait_without_start,
             CopyFlaw::load_not_started),
      flawed("awaited_twice", "the first load is awaited twice", Kind::wait_without_start, CopyFlaw::awaited_twice),
      flawed("scope_left_in_flight", "the scope of the slots ends while a load into it is in flight",
             Kind::dma_not_awaited, CopyFlaw::scope_left_in_flight),
      flawed("loads_into_left_scope", "a load goes to slots whose scope has ended", Kind::use_after_scope,
             CopyFlaw::loads_into_left_scope),
      flawed("signal_leaked", "one signal more than waits", Kind::semaphore_not_drained, CopyFlaw::signal_leaked),
      flawed("never_signalled", "a semaphore is awaited that nobody signals", Kind::deadlock,
             CopyFlaw::never_signalled),
      flawed("own_signal_too_late", "waits for a signal that only the core itself gives, later", Kind::deadlock,
             CopyFlaw::own_signal_too_late),
      flawed("count_overflows", "signals of 2^30 that nobody waits for", Kind::semaphore_overflow,
             CopyFlaw::count_overflows),
      flawed("signals_dma_semaphore", "a semaphore that counts a copy's bytes is signalled", Kind::semaphore_misuse,
             CopyFlaw::signals_dma_semaphore),
  };
}

}  // namespace tilecheck
