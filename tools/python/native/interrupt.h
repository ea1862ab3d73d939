// Ctrl-C while a kernel runs. Python notices a signal only when its main thread is back, so a run must end by itself.
#pragma once

#include <cstdint>

namespace tilecheck::python {

// While any exists, SIGINT is counted before it reaches the handler that was there. Where none was (the signal ends the
// process, or is ignored) nothing changes.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;
  // Whether SIGINT arrived since this watch began. Any thread may ask.
  bool interrupted() const;

 private:
  uint64_t before_ = 0;  // how many had arrived
};

}  // namespace tilecheck::python
