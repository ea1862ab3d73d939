// Fibers on Boost.Context.
#include "sim/sync/fiber.h"

#include <cxxabi.h>

#include <boost/context/fiber.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <cassert>
#include <cstring>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#define TILECHECK_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TILECHECK_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define TILECHECK_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TILECHECK_TSAN 1
#endif
#endif
#ifdef TILECHECK_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef TILECHECK_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace tilecheck {
namespace {

namespace ctx = boost::context;

// The per-thread bookkeeping of exceptions being handled (Itanium C++ ABI, __cxa_eh_globals), which must travel with
// the stack they are handled on.
struct ExceptionState {
  void* caught = nullptr;
  unsigned int uncaught = 0;
};

void swap_exception_state(ExceptionState& state) {
  auto* live = reinterpret_cast<std::byte*>(abi::__cxa_get_globals());
  ExceptionState now;
  std::memcpy(&now, live, sizeof now);
  std::memcpy(live, &state, sizeof state);
  state = now;
}

}  // namespace

struct Fiber::Impl {
  std::function<void()> body;
  ctx::fiber own;    // the body, while it is stopped
  ctx::fiber owner;  // resume()'s caller, while the body runs
  bool entered = false;
  bool done = false;
  std::exception_ptr error;
  ExceptionState exceptions;  // of whichever side is stopped
  // Sanitizers.
  const void* own_stack = nullptr;
  size_t own_stack_bytes = 0;
  const void* owner_stack = nullptr;
  size_t owner_stack_bytes = 0;
  void* fake_stack_own = nullptr;
  void* fake_stack_owner = nullptr;
  void* tsan_own = nullptr;
  void* tsan_owner = nullptr;

  void before_entering_own() {
    swap_exception_state(exceptions);
#ifdef TILECHECK_ASAN
    __sanitizer_start_switch_fiber(&fake_stack_owner, own_stack, own_stack_bytes);
#endif
#ifdef TILECHECK_TSAN
    tsan_owner = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(tsan_own, 0);
#endif
  }
  void after_entering_own() {
#ifdef TILECHECK_ASAN
    __sanitizer_finish_switch_fiber(fake_stack_own, &owner_stack, &owner_stack_bytes);
#endif
  }
  void before_leaving_own(bool for_good) {
    (void)for_good;
#ifdef TILECHECK_ASAN
    __sanitizer_start_switch_fiber(for_good ? nullptr : &fake_stack_own, owner_stack, owner_stack_bytes);
#endif
#ifdef TILECHECK_TSAN
    __tsan_switch_to_fiber(tsan_owner, 0);
#endif
  }
  void after_leaving_own() {
#ifdef TILECHECK_ASAN
    __sanitizer_finish_switch_fiber(fake_stack_owner, nullptr, nullptr);
#endif
    swap_exception_state(exceptions);
  }
};

Fiber::Fiber(std::function<void()> body) : impl_(std::make_unique<Impl>()) {
  Impl& f = *impl_;
  f.body = std::move(body);
#ifdef TILECHECK_TSAN
  f.tsan_own = __tsan_create_fiber(0);
#endif
  ctx::protected_fixedsize_stack allocator(kStackBytes);
  ctx::stack_context stack = allocator.allocate();
  f.own_stack_bytes = stack.size;
  f.own_stack = static_cast<const std::byte*>(stack.sp) - stack.size;
  f.own = ctx::fiber(std::allocator_arg, ctx::preallocated(stack.sp, stack.size, stack), allocator,
                     [&f](ctx::fiber&& owner) {
                       f.owner = std::move(owner);
                       f.after_entering_own();
                       try {
                         f.body();
                       } catch (const ctx::detail::forced_unwind&) {
                         throw;
                       } catch (...) {
                         f.error = std::current_exception();
                       }
                       f.done = true;
                       f.before_leaving_own(true);
                       return std::move(f.owner);
                     });
}

Fiber::~Fiber() {
  assert(impl_->done || !impl_->entered);
#ifdef TILECHECK_TSAN
  if (impl_->tsan_own) __tsan_destroy_fiber(impl_->tsan_own);
#endif
}

void Fiber::resume() {
  Impl& f = *impl_;
  assert(!f.done);
  f.entered = true;
  f.before_entering_own();
  f.own = std::move(f.own).resume();
  f.after_leaving_own();
}

void Fiber::yield() {
  Impl& f = *impl_;
  f.before_leaving_own(false);
  f.owner = std::move(f.owner).resume();
  f.after_entering_own();
}

bool Fiber::entered() const { return impl_->entered; }
bool Fiber::done() const { return impl_->done; }
std::exception_ptr Fiber::error() const { return impl_->error; }

}  // namespace tilecheck
