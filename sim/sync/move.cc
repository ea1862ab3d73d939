// Moving the bytes of copies, early or late as the schedule has it.
#include <algorithm>
#include <cassert>
#include <cstring>

#include "sim/memory/transfer.h"
#include "sim/sync/state.h"

namespace tilecheck {
namespace {

constexpr int64_t kPieces = 4;  // torn: at most

// Dimension along which a copy is cut, -1: none has two elements.
int cut_dimension(const Shape& shape) {
  for (int d = 0; d < shape.rank(); ++d)
    if (shape[d] > 1) return d;
  return -1;
}

Ref part(const Ref& ref, int dimension, int64_t begin, int64_t end) {
  std::vector<Slice> slices(static_cast<size_t>(dimension) + 1);
  slices.back() = ds(begin, end - begin);
  return ref.slice(slices);
}

// The elements of `ref` that `other` has too; all of them when that is not a box of ref.
Ref common_part(const Ref& ref, const Event& other) {
  Ref out = ref;
  if (!(ref.base == other.base) || ref.pack != 1) return out;
  for (int d = 0; d < ref.box.rank; ++d) {
    const Range &a = ref.box[d], &b = other.box[d];
    if (a.step != 1 || b.step != 1) continue;
    const int64_t lo = std::max(a.lo, b.lo), end = std::min(a.lo + a.n, b.lo + b.n);
    out.box[d] = {lo, std::max<int64_t>(0, end - lo), 1};
  }
  return out;
}

// The first element of `ref` where two images of it differ, of those where either is defined; none: an empty box.
Box first_difference(const Ref& ref, const CopyImage& a, const CopyImage& b) {
  const auto width = static_cast<size_t>(storage_bytes(a.elements.dtype()));
  for (int64_t i = 0; i < a.elements.size(); ++i) {
    const uint8_t x = a.undefined ? a.undefined[static_cast<size_t>(i)] : 0;
    const uint8_t y = b.undefined ? b.undefined[static_cast<size_t>(i)] : 0;
    const size_t at = static_cast<size_t>(i) * width;
    if (x == y && (x != 0 || std::memcmp(a.elements.data() + at, b.elements.data() + at, width) == 0)) continue;
    Box box = ref.buffer_box();
    if (ref.pack != 1) return box;
    int64_t rest = i;
    for (int d = box.rank; d-- > 0; rest /= ref.box[d].n)
      box[d] = {ref.box[d].lo + rest % ref.box[d].n * ref.box[d].step, 1, 1};
    return box;
  }
  return Box();
}

}  // namespace

void Engine::Impl::add_pending(Copy& copy) {
  use(copy);
  copy.previous = pending_last;
  copy.next = nullptr;
  (pending_last ? pending_last->next : pending_first) = &copy;
  pending_last = &copy;
}

void Engine::Impl::arrive(Semaphore& s, int64_t amount) {
  s.count += amount;
  s.unmoved -= amount;
}

void Engine::Impl::leave_unmoved(Semaphore* s, Item* item) {
  if (s && item && Chain<Item, &Item::of_unmoved>::has(*item)) s->unmoved_items.erase(*item);
}

void Engine::Impl::move_source(Copy& copy) {
  assert(!copy.read_done && copy.piece == 0);
  copy.image = std::make_unique<CopyImage>(read_image(copy.request.source));
  copy.read_done = true;
  leave_unmoved(copy.sent, copy.sent_item);
  if (copy.sent) arrive(*copy.sent, copy.sent->dma ? copy.bytes : 1);
}

void Engine::Impl::move(Copy& copy) {
  assert(!copy.write_done);
  for (Copy* before : held_back_by(copy))
    if (!before->write_done) move(*before);
  if (copy.piece > 0) {
    while (!move_piece(copy)) {
    }
    return;
  }
  std::vector<std::pair<const Twin*, CopyImage>> twins;
  for (const Twin& twin : copy.twins)
    if (!twin.other || twin.other->write_done)
      twins.emplace_back(&twin, read_image(common_part(copy.request.destination, twin.earlier)));
  if (copy.image) {
    write_image(*copy.image, copy.request.destination);
    copy.image.reset();
  } else {
    copy_elements(copy.request.source, copy.request.destination);
  }
  for (const auto& [twin, before] : twins) {
    const Ref common = common_part(copy.request.destination, twin->earlier);
    const Box within = first_difference(common, before, read_image(common));
    if (within.rank > 0)
      report_race(twin->exact ? *twin->exact : twin->earlier, copy.destination, Order::unordered, &within);
  }
  if (copy.sent && !copy.read_done) arrive(*copy.sent, copy.sent->dma ? copy.bytes : 1);
  if (copy.done) arrive(*copy.done, copy.done->dma ? copy.bytes : 1);
  finish_move(copy);
}

void Engine::Impl::move_by_force(Copy& copy) {
  trace.miss("a scope ends while a copy is in flight");
  move(copy);
}

void Engine::Impl::finish_move(Copy& copy) {
  copy.read_done = copy.write_done = true;
  leave_unmoved(copy.sent, copy.sent_item);
  leave_unmoved(copy.done, copy.done_item);
  if (Chain<Copy, &Copy::of_undelivered>::has(copy)) channel_of(copy).undelivered.erase(copy);
  (copy.previous ? copy.previous->next : pending_first) = copy.next;
  (copy.next ? copy.next->previous : pending_last) = copy.previous;
  copy.previous = copy.next = nullptr;
  // The pair of twins is judged by the second to move; what this one holds is not needed any more.
  for (const Twin& twin : copy.twins)
    if (twin.other) release(*twin.other);
  copy.twins.clear();
  release(copy);
}

bool Engine::Impl::move_piece(Copy& copy) {
  assert(!copy.write_done);
  if (held_back(copy)) return false;
  const int d = cut_dimension(copy.request.destination.shape());
  const int64_t extent = d < 0 ? 1 : copy.request.destination.shape()[d];
  const int64_t pieces = std::min(kPieces, extent);
  if (copy.image || !copy.twins.empty() || pieces < 2) {
    move(copy);
    return true;
  }
  const auto until = [pieces](int64_t whole, int64_t piece) { return whole * piece / pieces; };
  // From both ends, so that neither the first nor the last element tells whether a copy is done.
  const int64_t i = copy.piece % 2 == 0 ? copy.piece / 2 : pieces - 1 - copy.piece / 2;
  copy_elements(part(copy.request.source, d, until(extent, i), until(extent, i + 1)),
                part(copy.request.destination, d, until(extent, i), until(extent, i + 1)));
  ++copy.piece;
  const bool last = copy.piece == pieces;
  for (Semaphore* s : {copy.sent, copy.done}) {
    if (!s) continue;
    if (s->dma && !options.atomic_progress) {
      arrive(*s, until(copy.bytes, copy.piece) - until(copy.bytes, copy.piece - 1));
    } else if (last) {
      arrive(*s, s->dma ? copy.bytes : 1);
    }
  }
  if (last) finish_move(copy);
  return last;
}

void Engine::Impl::tear() {
  for (Copy* copy = pending_first; copy;) {
    Copy* next = copy->next;
    move_piece(*copy);
    copy = next;
  }
}

void Engine::Impl::move_everything() {
  while (pending_first) move(*pending_first);
}

Copy* Engine::Impl::next_for(Semaphore& s, bool youngest) {
  const Item* item = youngest ? s.unmoved_items.back() : s.unmoved_items.front();
  return item ? item->copy : nullptr;
}

bool Engine::Impl::bring(Semaphore& s, int64_t amount) {
  if (s.count + s.unmoved < amount) return false;
  const auto kind = options.schedule.kind;
  while (s.count < amount) {
    Copy* copy = next_for(s, kind == ScheduleSpec::Kind::lifo);
    assert(copy);
    if (kind == ScheduleSpec::Kind::torn) {
      // A piece of each copy on this semaphore in turn.
      std::vector<Copy*> unmoved;
      for (const Item* item : s.unmoved_items) unmoved.push_back(item->copy);
      for (size_t i = 0; i < unmoved.size() && s.count < amount; ++i)
        if (!unmoved[i]->write_done) move_piece(*unmoved[i]);
      if (copy->write_done || s.count >= amount) continue;
      if (copy->piece == 0) move(*copy);
    } else if (copy->sent == &s && copy->done != &s && !copy->read_done) {
      move_source(*copy);
    } else {
      move(*copy);
    }
  }
  return true;
}

}  // namespace tilecheck
