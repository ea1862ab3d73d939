// Every single edit of what the devices of a ring do at a step: left out, done twice, or changed for its neighbour.
// Each is caught, or changes nothing that anybody could see.
#include <set>

#include "kernels/all_gather.h"
#include "kernels/all_reduce.h"
#include "kernels/double_buffered_copy.h"
#include "kernels/ring_permute.h"
#include "tests/unit/kernels/run_kernel.h"

namespace tilecheck::testing_kernels {
namespace {

using Ops = std::vector<std::string>;

// "drop wait_sent" and what is then done, for all edits.
std::map<std::string, Ops> mutants(const Ops& right) {
  std::map<std::string, Ops> all;
  for (size_t i = 0; i < right.size(); ++i) {
    const auto here = static_cast<std::ptrdiff_t>(i);
    Ops ops = right;
    ops.erase(ops.begin() + here);
    all["drop " + right[i]] = ops;
    ops = right;
    ops.insert(ops.begin() + here, right[i]);
    all["twice " + right[i]] = ops;
    if (i == 0) continue;
    ops = right;
    std::swap(ops[i - 1], ops[i]);
    all[right[i] + " before " + right[i - 1]] = ops;
  }
  return all;
}

// By what it got wrong, not by its results.
bool is_caught(const Outcome& o) {
  return std::ranges::any_of(o.report.findings, [](const Finding& f) {
    return f.kind != Kind::result_mismatch && f.kind != Kind::non_finite && f.kind != Kind::undefined_output;
  });
}

// ---- Devices of a ring.

const Ops kRingOps{"wait_sent", "wait_received", "use", "give_credit", "take_credit", "prepare", "send"};

void perform(Core& core, const Lane& lane, int64_t t, const std::string& op) {
  const int64_t over = t - lane.window;
  const bool ends = over >= 0, begins = t < lane.messages;
  if (op == "wait_sent" && ends) core.wait_bytes_of(lane.sent({over % lane.window}), lane.source(over));
  if (op == "wait_received" && ends) core.wait_bytes_of(lane.received({over % lane.window}), lane.arriving(over));
  if (op == "use" && ends && lane.after) lane.after(over);
  if (op == "give_credit" && ends && begins) core.signal(lane.credit, 1, {.device = lane.from});
  if (op == "take_credit" && ends && begins) core.wait(lane.credit);
  if (op == "prepare" && begins && lane.before) lane.before(t);
  if (op == "send" && begins)
    core.start_remote_copy(lane.source(t), lane.target(t), lane.sent({t % lane.window}),
                           lane.received({t % lane.window}), {.device = lane.to});
}

// The mutant on all devices, or on device 1 alone.
RingProtocol protocol_of(const Ops& ops, bool all_devices) {
  return {.enter = ring_protocol().enter, .step = [=](Core& core, const Lane& lane, int64_t t) {
            const bool mutated = all_devices || core.device_id() == 1;
            for (const std::string& op : mutated ? ops : kRingOps) perform(core, lane, t, op);
          }};
}

KernelCase make(const std::string& kernel, const std::string& set, const RingProtocol& protocol) {
  const ParamValues values(choice(kernel).kernel->params, parse_set(set));
  if (kernel == "ring_permute") return ring_permute_case(RingPermute(values), protocol);
  if (kernel == "all_gather") return all_gather_case(Ring(values), protocol);
  if (kernel == "reduce_scatter") return reduce_scatter_case(Ring(values), protocol);
  return all_reduce_case(Ring(values), protocol);
}

// Edits that nobody could see: both waits come before anything that needs either; what is prepared is the device's own,
// as is what it uses of a sum, since the next message goes to the other of the two buffers.
bool is_equivalent(const std::string& edit, bool all_devices) {
  static const std::set<std::string> always{"wait_received before wait_sent", "prepare before take_credit",
                                            "give_credit before use"};
  // One device may wait first as long as its neighbours do not.
  return always.contains(edit) || (!all_devices && edit == "take_credit before give_credit");
}

struct MutantCase {
  const char* kernel;
  const char* set;
  bool works = true;  // on what arrives; else nothing is prepared or used
};

class RingMutants : public testing::TestWithParam<MutantCase> {};

TEST_P(RingMutants, AreCaught) {
  const auto& [kernel, set, works] = GetParam();
  const auto run_mutant = [&](const Ops& ops, bool all_devices) {
    return run(make(kernel, set, protocol_of(ops, all_devices)), {.analyse_fit = false}).outcome;
  };
  for (const bool all_devices : {true, false}) {
    expect_clean(run_mutant(kRingOps, all_devices));
    for (const auto& [edit, ops] : mutants(kRingOps)) {
      const bool idle = !works && (edit.find("use") != edit.npos || edit.find("prepare") != edit.npos);
      const Outcome o = run_mutant(ops, all_devices);
      EXPECT_EQ(is_caught(o), !idle && !is_equivalent(edit, all_devices))
          << edit << (all_devices ? "" : " on device 1 alone") << "\n"
          << describe(o);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, RingMutants,
                         testing::Values(MutantCase{"all_gather", "devices=3 rows=8 chunk_rows=4", false},
                                         MutantCase{"all_gather", "devices=3 rows=8 chunk_rows=2", false},
                                         MutantCase{"ring_permute", "devices=6 shift=5 rows=8 chunk_rows=4", false},
                                         MutantCase{"reduce_scatter", "devices=4 rows=8 chunk_rows=4"},
                                         MutantCase{"all_reduce", "devices=4 rows=32 chunk_rows=4"}),
                         [](const auto& test) {
                           return std::string(test.param.kernel) + "_" + std::to_string(test.index);
                         });

// ---- A core and its copies.

const Ops kCopyOps{"load", "wait_loaded", "wait_stored", "work", "store"};

// double_buffered_copy with these steps.
KernelCase copy_with(const Ops& ops, const DoubleBufferedCopy& p) {
  KernelCase c = double_buffered_copy_case(p);
  c.body = [ops, p](Core& core, std::span<const Ref> all) {
    const DoubleBufferedCopyRefs refs(p, all);
    const int64_t blocks = p.blocks(), ahead = p.slots - 1;
    for (int64_t i = -ahead; i < blocks + p.slots; ++i)
      for (const std::string& op : ops) {
        const bool exists = i >= 0 && i < blocks;
        if (op == "load" && i + ahead < blocks)
          core.start_copy(refs.x_block(i + ahead), refs.x_slot(i + ahead), refs.loaded(i + ahead));
        if (op == "wait_loaded" && exists) core.wait_bytes_of(refs.loaded(i), refs.x_slot(i));
        if (op == "wait_stored" && i >= p.slots)
          core.wait_bytes_of(refs.stored(i - p.slots), refs.y_block(i - p.slots));
        if (op == "work" && exists) core.store(refs.y_slot(i), maximum(core.load(refs.x_slot(i)) * 2 + 1, 0));
        if (op == "store" && exists) core.start_copy(refs.y_slot(i), refs.y_block(i), refs.stored(i));
      }
  };
  return c;
}

TEST(CopyMutants, AreCaught) {
  // A load may start after the wait for an earlier one, waits may change places, and work may be done again.
  const std::set<std::string> equivalent{"wait_loaded before load", "wait_stored before wait_loaded", "twice work"};
  for (const char* slots : {"2", "3"}) {
    const Set set{{"rows", "44"}, {"columns", "128"}, {"block_rows", "8"}, {"slots", slots}};
    const DoubleBufferedCopy p(ParamValues(choice("double_buffered_copy").kernel->params, set));
    expect_clean(run(copy_with(kCopyOps, p), {.analyse_fit = false}).outcome);
    for (const auto& [edit, ops] : mutants(kCopyOps)) {
      const Outcome o = run(copy_with(ops, p), {.analyse_fit = false}).outcome;
      // Without work there is nothing to order: the slots' bytes are undefined, and say so.
      const bool caught = is_caught(o) || (edit == "drop work" && !o.report.findings.empty());
      EXPECT_EQ(caught, !equivalent.contains(edit)) << edit << " " << slots << " slots\n" << describe(o);
    }
  }
}

}  // namespace
}  // namespace tilecheck::testing_kernels
