#include "tools/python/native/rendezvous.h"

#include <algorithm>
#include <string>

#include "tools/python/native/interrupt.h"
#include "tools/python/native/runner.h"

namespace tilecheck::python {
namespace {

// How long one who waits for others does not see Ctrl-C.
constexpr std::chrono::milliseconds kLookForInterrupt{50};

}  // namespace

CallStatus Rendezvous::meet(Key key, int device, int count, DeviceArrays arrays, std::chrono::milliseconds patience,
                            const Run& run) {
  std::unique_lock lock(mutex_);
  std::shared_ptr<Meeting>& slot = meetings_[key];
  if (!slot) {
    slot = std::make_shared<Meeting>();
    slot->arrays.resize(static_cast<size_t>(count));
    slot->here.resize(static_cast<size_t>(count));
  }
  const std::shared_ptr<Meeting> meeting = slot;
  const auto give_up = [&](CallStatus::Code code, std::string why) {
    meeting->status = {code, std::move(why)};
    meeting->over = true;
    meetings_.erase(key);
    meeting->changed.notify_all();
    return meeting->status;
  };
  const auto number = static_cast<size_t>(device);
  if (device < 0 || number >= meeting->here.size() || meeting->here[number])
    return give_up(CallStatus::Code::bad_input,
                   "device " + std::to_string(device) + " of " + std::to_string(count) + " came " +
                       (device < 0 || device >= count ? "from outside the mesh" : "twice"));
  meeting->arrays[number] = std::move(arrays);
  meeting->here[number] = true;
  if (++meeting->arrived == count) {
    meetings_.erase(key);
    std::vector<DeviceArrays> all = std::move(meeting->arrays);
    lock.unlock();
    CallStatus status = run(std::move(all));
    lock.lock();
    meeting->status = status;
    meeting->over = true;
    meeting->changed.notify_all();
    return status;
  }
  // Once complete, the wait is for the run itself, however long that takes.
  const InterruptWatch watch;
  auto deadline = std::chrono::steady_clock::now() + patience;
  while (!meeting->over) {
    if (meeting->arrived == count) {
      meeting->changed.wait(lock);
      continue;
    }
    const auto now = std::chrono::steady_clock::now();
    if (watch.interrupted()) return give_up(CallStatus::Code::cancelled, "interrupted");
    if (runs_in_progress() > 0) deadline = now + patience;  // the others may be in another kernel
    if (now >= deadline)
      return give_up(CallStatus::Code::bad_input, "only " + std::to_string(meeting->arrived) + " of " +
                                                      std::to_string(count) + " devices reached this kernel within " +
                                                      std::to_string(patience.count()) + " ms");
    meeting->changed.wait_until(lock, std::min(deadline, now + kLookForInterrupt));
  }
  return meeting->status;
}

}  // namespace tilecheck::python
