// Fiber: a function that can stop in the middle and go on later, on its own guarded stack.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>

namespace tilecheck {

// Everything about switching stacks lives here: guard pages, what AddressSanitizer and ThreadSanitizer must be told,
// and the state of C++ exceptions. One thread drives a fiber.
class Fiber {
 public:
  static constexpr size_t kStackBytes = size_t{8} << 20;  // reserved, not touched: pages come as they are used

  explicit Fiber(std::function<void()> body);
  // The body must have ended, or never have been resumed.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Runs the body until it yields or ends. Not from inside a fiber.
  void resume();
  // From inside the body: back to resume()'s caller.
  void yield();
  bool entered() const;
  bool done() const;
  // What the body threw, if anything; null otherwise.
  std::exception_ptr error() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tilecheck
