#include "tools/python/native/interrupt.h"

#include <signal.h>

#include <atomic>
#include <deque>
#include <mutex>

namespace tilecheck::python {
namespace {

std::mutex mutex;
int watches = 0;
std::atomic<uint64_t> arrived{0};
// The handler that was there. Signals come on any thread at any time, so what it points to never changes.
std::atomic<const struct sigaction*> hidden{nullptr};
static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<const struct sigaction*>::is_always_lock_free);

void on_interrupt(int signal, siginfo_t* info, void* context) {
  arrived.fetch_add(1);
  const struct sigaction* before = hidden.load();
  if (before->sa_flags & SA_SIGINFO)
    before->sa_sigaction(signal, info, context);
  else
    before->sa_handler(signal);
}

bool is_same(const struct sigaction& a, const struct sigaction& b) {
  if (a.sa_flags != b.sa_flags) return false;
  for (int signal = 1; signal < NSIG; ++signal)
    if (sigismember(&a.sa_mask, signal) != sigismember(&b.sa_mask, signal)) return false;
  return a.sa_flags & SA_SIGINFO ? a.sa_sigaction == b.sa_sigaction : a.sa_handler == b.sa_handler;
}

bool is_ours(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) && action.sa_sigaction == on_interrupt;
}

// The same action where it stays for good.
const struct sigaction* kept(const struct sigaction& action) {
  static auto* const all = new std::deque<struct sigaction>;  // a few: one for each action that the process ever has
  for (const struct sigaction& a : *all)
    if (is_same(a, action)) return &a;
  return &all->emplace_back(action);
}

void install() {
  struct sigaction before {};
  sigaction(SIGINT, nullptr, &before);
  const bool has_handler = before.sa_flags & SA_SIGINFO ? before.sa_sigaction != nullptr
                                                        : before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN;
  if (!has_handler || is_ours(before)) return;
  hidden.store(kept(before));
  // The handler that was there runs as it asked to: with what it blocks, on its stack, once or always.
  struct sigaction action = before;
  action.sa_sigaction = on_interrupt;
  action.sa_flags |= SA_SIGINFO;
  sigaction(SIGINT, &action, nullptr);
}

// Somebody else may have put a handler of their own there meanwhile; that one stays.
void remove() {
  struct sigaction current {};
  sigaction(SIGINT, nullptr, &current);
  if (is_ours(current)) sigaction(SIGINT, hidden.load(), nullptr);
}

}  // namespace

InterruptWatch::InterruptWatch() {
  const std::lock_guard lock(mutex);
  if (watches++ == 0) install();
  before_ = arrived.load();
}

InterruptWatch::~InterruptWatch() {
  const std::lock_guard lock(mutex);
  if (--watches == 0) remove();
}

bool InterruptWatch::interrupted() const { return arrived.load(std::memory_order_relaxed) != before_; }

}  // namespace tilecheck::python
