// Where the devices of one kernel meet: XLA calls the handler once per device, each on a thread of its own, and one
// simulation runs them all.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "tools/python/native/call.h"

namespace tilecheck::python {

class Rendezvous {
 public:
  // Which devices belong together: those of one execution of one program, at one call in it.
  struct Key {
    int64_t run = 0;
    int64_t site = 0;
    auto operator<=>(const Key&) const = default;
  };
  using Run = std::function<CallStatus(std::vector<DeviceArrays>)>;

  // Blocks until `count` devices have come with this key; the last one runs `run` (which must not throw) with all
  // arrays, by device number, and everybody gets its status. The same devices may come again and again (a kernel in a
  // loop). All who wait get an error if a device number comes twice, if Ctrl-C is pressed, or if the others do not come
  // within `patience`, in which no other kernel runs.
  CallStatus meet(Key key, int device, int count, DeviceArrays arrays, std::chrono::milliseconds patience,
                  const Run& run);

 private:
  struct Meeting {
    std::vector<DeviceArrays> arrays;
    std::vector<bool> here;
    int arrived = 0;
    bool over = false;
    CallStatus status;
    std::condition_variable changed;
  };
  std::mutex mutex_;
  std::map<Key, std::shared_ptr<Meeting>> meetings_;  // not yet complete
};

}  // namespace tilecheck::python
