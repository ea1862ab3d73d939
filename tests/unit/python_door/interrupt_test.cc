// SIGINT's action is the same after a watch as before it, and runs as it asked to meanwhile.
#include "tools/python/native/interrupt.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace tilecheck::python {
namespace {

int calls = 0;
bool was_blocked = false;

void note() {
  sigset_t blocked;
  sigprocmask(SIG_BLOCK, nullptr, &blocked);
  ++calls;
  was_blocked = sigismember(&blocked, SIGUSR1) == 1;
}
void handler(int) { note(); }
void handler_with_info(int, siginfo_t*, void*) { note(); }

struct sigaction action(bool with_info, int flags, bool blocks) {
  struct sigaction a {};
  if (with_info)
    a.sa_sigaction = handler_with_info;
  else
    a.sa_handler = handler;
  a.sa_flags = flags | (with_info ? SA_SIGINFO : 0);
  sigemptyset(&a.sa_mask);
  if (blocks) sigaddset(&a.sa_mask, SIGUSR1);
  return a;
}

struct sigaction current() {
  struct sigaction a {};
  sigaction(SIGINT, nullptr, &a);
  return a;
}

void expect_same(const struct sigaction& a, const struct sigaction& b) {
  EXPECT_EQ(a.sa_flags, b.sa_flags);
  EXPECT_EQ(a.sa_handler, b.sa_handler);
  for (int signal = 1; signal < NSIG; ++signal)
    EXPECT_EQ(sigismember(&a.sa_mask, signal), sigismember(&b.sa_mask, signal)) << signal;
}

class InterruptAction : public ::testing::Test {
 protected:
  void TearDown() override { sigaction(SIGINT, &first_, nullptr); }
  struct sigaction first_ = current();
};

TEST_F(InterruptAction, TheActionThatWasThereComesBackWhole) {
  for (const bool with_info : {false, true})
    for (const int flags : {0, SA_RESTART, SA_NODEFER | SA_ONSTACK})
      for (const bool blocks : {false, true}) {
        const struct sigaction wanted = action(with_info, flags, blocks);
        sigaction(SIGINT, &wanted, nullptr);
        const struct sigaction before = current();
        calls = 0;
        {
          const InterruptWatch watch;
          EXPECT_FALSE(watch.interrupted());
          raise(SIGINT);
          EXPECT_TRUE(watch.interrupted());
          EXPECT_EQ(calls, 1);
          EXPECT_EQ(was_blocked, blocks);
          EXPECT_EQ(current().sa_flags | SA_SIGINFO, before.sa_flags | SA_SIGINFO);
        }
        expect_same(current(), before);
        raise(SIGINT);
        EXPECT_EQ(calls, 2);
      }
}

TEST_F(InterruptAction, AHandlerForOneSignalIsGoneAfterIt) {
  const struct sigaction once = action(false, SA_RESETHAND, false);
  sigaction(SIGINT, &once, nullptr);
  {
    const InterruptWatch watch;
    raise(SIGINT);
    EXPECT_TRUE(watch.interrupted());
  }
  EXPECT_EQ(current().sa_handler, SIG_DFL);
}

}  // namespace
}  // namespace tilecheck::python
