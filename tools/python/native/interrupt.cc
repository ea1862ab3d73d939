#include "tools/python/native/interrupt.h"

#include <signal.h>

#include <atomic>
#include <mutex>

namespace tilecheck::python {
namespace {

std::mutex mutex;
int watches = 0;
struct sigaction before;
std::atomic<bool> arrived{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void on_interrupt(int signal, siginfo_t* info, void* context) {
  arrived.store(true);
  if (before.sa_flags & SA_SIGINFO) {
    if (before.sa_sigaction) before.sa_sigaction(signal, info, context);
  } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(signal);
  }
}

}  // namespace

InterruptWatch::InterruptWatch() {
  const std::lock_guard lock(mutex);
  if (watches++ > 0) return;
  arrived.store(false);
  struct sigaction action {};
  action.sa_sigaction = on_interrupt;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(SIGINT, &action, &before);
}

InterruptWatch::~InterruptWatch() {
  const std::lock_guard lock(mutex);
  if (--watches > 0) return;
  struct sigaction current {};
  sigaction(SIGINT, nullptr, &current);
  // Somebody else may have put a handler of their own there meanwhile; that one stays.
  if ((current.sa_flags & SA_SIGINFO) && current.sa_sigaction == on_interrupt) sigaction(SIGINT, &before, nullptr);
}

bool InterruptWatch::interrupted() { return arrived.load(std::memory_order_relaxed); }

}  // namespace tilecheck::python
