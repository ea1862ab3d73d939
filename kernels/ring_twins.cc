#include "kernels/ring_twins.h"

#include "kernels/all_gather.h"
#include "kernels/all_reduce.h"
#include "kernels/list.h"
#include "kernels/ring_permute.h"
#include "kernels/twins.h"

namespace tilecheck {
namespace {

// ring.cc's protocol, with the flaws.
class Flawed {
 public:
  Flawed(RingFlaw flaw, int devices) : flaw_(flaw), devices_(devices) {}

  void enter(Core& core, int left, int right) const {
    const bool skips = is(RingFlaw::barrier_skipped) || is(RingFlaw::stays_out);
    if (is(RingFlaw::no_barrier) || (skips && core.device_id() == 1)) return;
    const Ref barrier = core.barrier_semaphore();
    const bool to_self = is(RingFlaw::barrier_to_self);
    core.signal(barrier, 1, {.device = to_self ? core.device_id() : left});
    core.signal(barrier, 1, {.device = to_self ? core.device_id() : right});
    core.wait(barrier, is(RingFlaw::half_barrier) ? 1 : 2);
  }

  void step(Core& core, const Lane& lane, int64_t t) const {
    if (is(RingFlaw::stays_out) && core.device_id() == 1) return;
    const int64_t over = t - lane.window;
    const bool first = is(RingFlaw::messages_awaited_first);
    if (first && t < lane.messages) await(core, lane, t);
    if (over >= 0) {
      if (is(RingFlaw::early_credit) && t < lane.messages) core.signal(lane.credit, 1, {.device = lane.from});
      if (!first) await(core, lane, over);
      credit(core, lane, t);
    }
    if (t < lane.messages) send(core, lane, t);
  }

 private:
  bool is(RingFlaw flaw) const { return flaw_ == flaw; }
  bool leaves_out(const Core& core, const Lane& lane, int64_t t) const {
    return is(RingFlaw::ends_early) && core.device_id() == devices_ - 1 && t == lane.messages - 1;
  }

  Ref received(const Lane& lane, int64_t t) const {
    int64_t semaphore = t;
    if (is(RingFlaw::one_receive_semaphore)) semaphore = 0;
    return lane.received({semaphore % lane.window});
  }

  void await(Core& core, const Lane& lane, int64_t t) const {
    if (leaves_out(core, lane, t)) return;
    if (!is(RingFlaw::sent_not_awaited)) core.wait_bytes_of(lane.sent({t % lane.window}), lane.source(t));
    const bool late = is(RingFlaw::received_too_late);
    if (late && lane.after) lane.after(t);
    if (!is(RingFlaw::received_not_awaited)) {
      const Ref arriving = lane.arriving(t);
      const Ref awaited = is(RingFlaw::half_received) ? arriving({ds(0, arriving.shape()[0] / 2)}) : arriving;
      core.wait_bytes_of(received(lane, is(RingFlaw::other_semaphore_awaited) ? t ^ 1 : t), awaited);
    }
    if (!late && lane.after) lane.after(t);
  }

  // Gives credit for message t - window, and takes it for message t.
  void credit(Core& core, const Lane& lane, int64_t t) const {
    const bool more = t < lane.messages;
    if (is(RingFlaw::no_credit) || (!more && !is(RingFlaw::credit_leaked))) return;
    const bool zero = core.device_id() == 0;
    if (is(RingFlaw::credit_before_given)) core.wait(lane.credit);
    int to = is(RingFlaw::credit_to_wrong_device) && zero ? lane.to : lane.from;
    if (is(RingFlaw::credit_of_own)) to = core.device_id();
    if (!is(RingFlaw::early_credit))
      core.signal(lane.credit, is(RingFlaw::credit_overflows) ? int64_t{1} << 30 : 1, {.device = to});
    if (more && !is(RingFlaw::credit_before_given) && !is(RingFlaw::credit_overflows)) core.wait(lane.credit);
    if (is(RingFlaw::credit_awaited_twice) && zero) core.wait(lane.credit);
  }

  void send(Core& core, const Lane& lane, int64_t t) const {
    if (leaves_out(core, lane, t)) return;
    if (lane.before) lane.before(t);
    int to = lane.to;
    if (is(RingFlaw::wrong_neighbour) && core.device_id() == 1) to = lane.from;
    if (is(RingFlaw::no_such_device) && core.device_id() == devices_ - 1) to = devices_;
    core.start_remote_copy(lane.source(t), lane.target(t), lane.sent({t % lane.window}), received(lane, t),
                           {.device = to});
  }

  RingFlaw flaw_;
  int devices_;
};

using Set = std::map<std::string, std::string>;

// Three devices, two messages a hop: as many as are in flight.
Set small(const Set& more = {}) {
  Set set{{"devices", "3"}, {"rows", "8"}, {"columns", "128"}, {"chunk_rows", "4"}};
  for (const auto& [name, value] : more) set[name] = value;
  return set;
}

struct Twins {
  KernelCase (*make)(const ParamValues& values, RingFlaw flaw);
  std::vector<BrokenTwin> all;

  void add(std::string name, std::string what, Kind kind, RingFlaw flaw, Set set = small()) {
    all.push_back({.name = std::move(name),
                   .what = std::move(what),
                   .kind = kind,
                   .set = std::move(set),
                   .make = [make = make, flaw](const ParamValues& values) { return make(values, flaw); }});
  }
};

template <typename Problem, KernelCase (*kCase)(const Problem&, const RingProtocol&)>
KernelCase with_flaw(const ParamValues& values, RingFlaw flaw) {
  const Problem problem(values);
  return kCase(problem, ring_protocol_with(flaw, problem));
}

}  // namespace

RingProtocol ring_protocol_with(RingFlaw flaw, const Ring& ring) {
  const Flawed flawed(flaw, ring.devices);
  return {.enter = [=](Core& core, int left, int right) { flawed.enter(core, left, right); },
          .step = [=](Core& core, const Lane& lane, int64_t t) { flawed.step(core, lane, t); }};
}

std::vector<BrokenTwin> all_gather_twins() {
  Twins twins{with_flaw<Ring, all_gather_case>, {}};
  twins.add("no_barrier", "messages leave before it is known that the neighbour has entered", Kind::race,
            RingFlaw::no_barrier);
  twins.add("half_barrier", "waits for one neighbour to enter, whichever comes first", Kind::race,
            RingFlaw::half_barrier);
  twins.add("barrier_skipped", "device 1 does without the barrier", Kind::deadlock, RingFlaw::barrier_skipped);
  twins.add("stays_out", "device 1 takes no part", Kind::collective_mismatch, RingFlaw::stays_out);
  twins.add("barrier_to_self", "signals itself at the barrier, not its neighbours", Kind::race,
            RingFlaw::barrier_to_self);
  twins.add("no_such_device", "the last device's neighbour is not taken modulo the number of devices",
            Kind::collective_mismatch, RingFlaw::no_such_device);
  twins.add("received_not_awaited", "what a neighbour sends is passed on without waiting for it", Kind::race,
            RingFlaw::received_not_awaited);
  twins.add("half_received", "the bytes of half a message are awaited", Kind::race, RingFlaw::half_received);
  twins.add("messages_awaited_first", "every device waits for a message before it sends its own", Kind::deadlock,
            RingFlaw::messages_awaited_first);
  twins.add("ends_early", "the last device leaves out its last message", Kind::deadlock, RingFlaw::ends_early);
  twins.add("wrong_neighbour", "device 1 sends to the left, the others to the right", Kind::deadlock,
            RingFlaw::wrong_neighbour);
  twins.add("other_semaphore_awaited", "waits on the semaphore of the message beside it", Kind::race,
            RingFlaw::other_semaphore_awaited);
  twins.add("one_receive_semaphore", "messages in flight share one receive semaphore", Kind::race,
            RingFlaw::one_receive_semaphore);
  twins.all.push_back(edited("no_collective_id", "a barrier needs a collective id, which the kernel does not have",
                             Kind::semaphore_misuse, small(), all_gather_kernel,
                             [](KernelCase& c, const ParamValues&) { c.spec.collective_id.reset(); }));
  // Four messages a hop: a message is passed on only when one that was sent after it had left is there, too.
  twins.add("message_order", "the same, but right wherever messages keep their order", Kind::relies_on_message_order,
            RingFlaw::one_receive_semaphore, small({{"chunk_rows", "2"}}));
  return std::move(twins.all);
}

std::vector<BrokenTwin> ring_permute_twins() {
  Twins twins{with_flaw<RingPermute, ring_permute_case>, {}};
  const Set two_hops = small({{"shift", "2"}, {"devices", "4"}}), five_hops = small({{"shift", "5"}, {"devices", "6"}});
  twins.add("sent_not_awaited", "a buffer is given free while it may still be read by the message out of it",
            Kind::dma_not_awaited, RingFlaw::sent_not_awaited, five_hops);
  twins.add("no_credit", "messages leave without waiting for the neighbour to be done with their place", Kind::race,
            RingFlaw::no_credit, five_hops);
  twins.add("early_credit", "a buffer is given free before the message out of it has left", Kind::race,
            RingFlaw::early_credit, five_hops);
  twins.add("credit_to_wrong_device", "device 0 gives its credit to the neighbour that it sends to", Kind::deadlock,
            RingFlaw::credit_to_wrong_device, two_hops);
  twins.add("credit_leaked", "the last messages are credited too, and nobody waits for that",
            Kind::semaphore_not_drained, RingFlaw::credit_leaked, two_hops);
  twins.add("credit_awaited_twice", "device 0 waits for two credits a message", Kind::deadlock,
            RingFlaw::credit_awaited_twice, two_hops);
  twins.add("credit_before_given", "every device waits for credit before it gives any", Kind::deadlock,
            RingFlaw::credit_before_given, two_hops);
  twins.add("credit_of_own", "the credit that is awaited is the device's own", Kind::race, RingFlaw::credit_of_own,
            five_hops);
  twins.add("credit_overflows", "credits of 2^30 that nobody waits for", Kind::semaphore_overflow,
            RingFlaw::credit_overflows, two_hops);
  return std::move(twins.all);
}

std::vector<BrokenTwin> reduce_scatter_twins() {
  Twins twins{with_flaw<Ring, reduce_scatter_case>, {}};
  twins.add("received_too_late", "a sum is worked on first, and its arrival awaited after that", Kind::race,
            RingFlaw::received_too_late);
  twins.add("no_credit", "sums are sent into a buffer that the neighbour still reads", Kind::race, RingFlaw::no_credit,
            small({{"devices", "4"}}));
  twins.add("early_credit", "a buffer is given free before what it holds has been used", Kind::race,
            RingFlaw::early_credit, small({{"devices", "4"}}));
  twins.add("half_received", "the bytes of half a sum are awaited", Kind::race, RingFlaw::half_received);
  twins.add("no_barrier", "sums leave before it is known that the neighbour has entered", Kind::race,
            RingFlaw::no_barrier);
  twins.add("wrong_neighbour", "device 1 sends to the left, the others to the right", Kind::deadlock,
            RingFlaw::wrong_neighbour);
  return std::move(twins.all);
}

std::vector<BrokenTwin> all_reduce_twins() {
  Twins twins{with_flaw<Ring, all_reduce_case>, {}};
  const Set set = small({{"rows", "24"}});
  twins.add("received_not_awaited", "a sum is worked on without waiting for it", Kind::race,
            RingFlaw::received_not_awaited, set);
  twins.add("sent_not_awaited", "what leaves is never awaited", Kind::dma_not_awaited, RingFlaw::sent_not_awaited, set);
  twins.add("early_credit", "a buffer is given free before what it holds has been used", Kind::race,
            RingFlaw::early_credit, set);
  twins.add("ends_early", "the last device leaves out its last message", Kind::deadlock, RingFlaw::ends_early, set);
  twins.add("credit_leaked", "the last messages are credited too, and nobody waits for that",
            Kind::semaphore_not_drained, RingFlaw::credit_leaked, set);
  return std::move(twins.all);
}

}  // namespace tilecheck
