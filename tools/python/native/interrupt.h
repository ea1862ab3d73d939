// Ctrl-C while a kernel runs. Python notices a signal only when its main thread is back, so a run must end by itself.
#pragma once

namespace tilecheck::python {

// While any exists, SIGINT sets a flag before it reaches the handler that was there.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;
  // Whether SIGINT arrived since the first of the watches that exist now.
  static bool interrupted();
};

}  // namespace tilecheck::python
