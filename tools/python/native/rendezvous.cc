#include "tools/python/native/rendezvous.h"

#include <string>

namespace tilecheck::python {

CallStatus Rendezvous::meet(Key key, int device, int count, DeviceArrays arrays, std::chrono::seconds patience,
                            const Run& run) {
  std::unique_lock lock(mutex_);
  std::shared_ptr<Meeting>& slot = meetings_[key];
  if (!slot) {
    slot = std::make_shared<Meeting>();
    slot->arrays.resize(static_cast<size_t>(count));
    slot->here.resize(static_cast<size_t>(count));
  }
  const std::shared_ptr<Meeting> meeting = slot;
  const auto give_up = [&](std::string why) {
    meeting->status = {CallStatus::Code::bad_input, std::move(why)};
    meeting->over = true;
    meetings_.erase(key);
    meeting->changed.notify_all();
    return meeting->status;
  };
  const auto number = static_cast<size_t>(device);
  if (device < 0 || number >= meeting->here.size() || meeting->here[number])
    return give_up("device " + std::to_string(device) + " of " + std::to_string(count) + " came " +
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
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!meeting->over) {
    if (meeting->arrived == count) {
      meeting->changed.wait(lock);
    } else if (meeting->changed.wait_until(lock, deadline) == std::cv_status::timeout && !meeting->over &&
               meeting->arrived < count) {
      return give_up("only " + std::to_string(meeting->arrived) + " of " + std::to_string(count) +
                     " devices reached this kernel within " + std::to_string(patience.count()) + " s");
    }
  }
  return meeting->status;
}

}  // namespace tilecheck::python
