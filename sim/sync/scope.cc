// Scoped memory, and semaphores that outlive the kernel.
#include "sim/sync/engine.h"
#include "sim/sync/state.h"

namespace tilecheck {

void Engine::enter_scope(AgentId id, std::span<Buffer* const> buffers, Loc) {
  if (!several_) return;
  for (size_t i = 0; i < buffers.size(); ++i) {
    impl_->scope_places[buffers[i]].position = static_cast<int>(i);
    if (!is_semaphore(buffers[i]->dtype)) impl_->scopes[buffers[i]] = {impl_->time(id), 0, true};
  }
}

void Engine::leave_scope(AgentId id, std::span<Buffer* const> buffers, Loc at) {
  Impl& e = *impl_;
  for (Buffer* b : buffers) {
    // Copies that touch the buffer and are not known to be over.
    if (b->history) {
      const std::vector<Event*> events(b->history->events.begin(), b->history->events.end());
      for (Event* event : events) {
        if (!event->copy) continue;
        Copy& c = *event->copy;
        const Completion& completion = event->write ? c.written : c.read;
        if (completion.before(e.agent(id).known) == Order::unordered)
          e.report_not_awaited(c, event->write, "the scope", id, at);
      }
      for (Event* event : events) {
        Copy* c = event->copy;
        if (c) e.use(*c);
        if (c && !c->write_done) e.move_by_force(*c);
        e.detach(*event);
        if (c) e.release(*c);
      }
    }
    const auto found = e.semaphores.find(b);
    if (found != e.semaphores.end()) {
      for (auto& s : found->second) {
        if (!s) continue;
        for (Item* item : s->items)
          if (item->copy && !item->copy->write_done) e.move_by_force(*item->copy);
        e.check_drained(*s, "the scope", id, at);
        while (!s->items.empty()) {
          Item* item = s->items.front();
          s->items.erase(*item);
          if (item->copy && item->copy->done == s.get()) item->copy->done = nullptr;
          if (item->copy && item->copy->sent == s.get()) item->copy->sent = nullptr;
          e.free_item(item);
        }
      }
      found->second.clear();
      e.spare_semaphores.push_back(e.semaphores.extract(found));
    }
    b->alive = false;
    if (several_) ++e.scope_places[b].visits;
    if (const auto scope = e.scopes.find(b); scope != e.scopes.end()) {
      scope->second.left = e.time(id);
      scope->second.inside = false;
    }
  }
}

void Engine::adopt_semaphores(Buffer& buffer, std::span<const int64_t> counts) {
  Impl& e = *impl_;
  for (size_t i = 0; i < counts.size(); ++i) {
    Semaphore& s = e.semaphore({&buffer, static_cast<int64_t>(i)});
    s.adopted = true;
    s.count = counts[i];
    s.waited = -counts[i];  // what is there already is certain: it left on both sides
    s.ever_added = counts[i] != 0;
  }
}

}  // namespace tilecheck
