#include "sim/fit/vmem_live.h"

#include <algorithm>

#include "sim/fit/vmem_blocks.h"

namespace tilecheck::fit {
namespace {

struct Box {
  Dims start, extent;
  bool contains(const Box& other) const {
    for (int i = 0; i < start.rank(); ++i) {
      if (other.start[i] < start[i] || other.start[i] + other.extent[i] > start[i] + extent[i]) return false;
    }
    return true;
  }
};

// Follows the body in order, knowing for each buffer which boxes this step has written so far.
class Survivors {
 public:
  explicit Survivors(const Body& body)
      : body_(body),
        written_(body.refs.size()),
        result_(body.refs.size(), Survival::unused),
        must_live_(body.refs.size()),
        read_(body.refs.size()),
        store_block_(body.refs.size(), nullptr) {}

  std::vector<Survival> run() {
    visit(body_.top);
    for (size_t i = 0; i < result_.size(); ++i)
      result_[i] = must_live_[i] ? Survival::lives : read_[i] ? Survival::promoted : Survival::unused;
    return std::move(result_);
  }

 private:
  bool is_candidate(RefId root) const {
    const RefInfo& ref = body_.refs[static_cast<size_t>(root)];
    return ref.space == Space::vmem && (ref.root == RefRoot::scratch || ref.root == RefRoot::alloc);
  }
  void live(RefId ref) {
    if (ref != kNone) must_live_[static_cast<size_t>(root_of(body_, ref))] = true;
  }
  // The box of an access in its root; nothing if an index is dynamic, a view reshapes, or lanes are masked or strided.
  bool box_of(const Op& op, Box& box) const {
    if (op.has_mask || !op.strides.empty() || body_.refs[static_cast<size_t>(op.ref)].base != kNone) return false;
    if (static_cast<int>(op.starts.size()) != op.extent.rank()) return false;
    for (const Offset& offset : op.starts) {
      if (!offset.is_constant()) return false;
      box.start.push_back(offset.constant);
    }
    box.extent = op.extent;
    return true;
  }
  bool is_covered(RefId root, const Box& box) const {
    const std::vector<Box>& boxes = written_[static_cast<size_t>(root)];
    return std::any_of(boxes.begin(), boxes.end(), [&](const Box& w) { return w.contains(box); });
  }

  void visit(const Block& block) {
    const Block* outer = block_;
    for (const Op& op : block.ops) {
      block_ = &block;
      if (op.kind == OpKind::alloc) {
        written_[static_cast<size_t>(op.ref)].clear();
      } else if (op.kind == OpKind::load || op.kind == OpKind::store) {
        access(op);
      } else if (op.kind == OpKind::dma_start || op.kind == OpKind::dma_wait) {
        live(op.ref);
        live(op.ref2);
      }
      if (op.blocks.empty()) continue;
      // A scope's writes are certain after it. What a branch or a loop writes would have to be merged at its end, which
      // the compiler does not do: nothing is known to be written then, nor at a loop's start.
      if (op.kind == OpKind::scope) {
        for (const Block& inner : op.blocks) visit(inner);
        continue;
      }
      std::vector<bool> touched(body_.refs.size(), false);
      for (const Block& inner : op.blocks) note_stores(inner, touched);
      const bool repeats = op.kind == OpKind::loop || op.kind == OpKind::while_loop;
      if (repeats) forget(touched);
      for (const Block& inner : op.blocks) {
        const std::vector<std::vector<Box>> before = written_;
        visit(inner);
        written_ = before;
      }
      forget(touched);
    }
    block_ = outer;
  }
  void note_stores(const Block& block, std::vector<bool>& touched) const {
    for (const Op& op : block.ops) {
      if (op.kind == OpKind::store) touched[static_cast<size_t>(root_of(body_, op.ref))] = true;
      for (const Block& inner : op.blocks) note_stores(inner, touched);
    }
  }
  void forget(const std::vector<bool>& touched) {
    for (size_t i = 0; i < touched.size(); ++i)
      if (touched[i]) written_[i].clear();
  }
  void access(const Op& op) {
    const RefId root = root_of(body_, op.ref);
    if (!is_candidate(root)) return;
    Box box;
    const bool is_exact = box_of(op, box);
    if (op.kind == OpKind::load) {
      read_[static_cast<size_t>(root)] = true;
      if (!is_exact || !is_covered(root, box)) live(root);
    } else if (is_exact && stores_stay_in_block(root)) {
      std::vector<Box>& boxes = written_[static_cast<size_t>(root)];
      if (boxes.size() < kMaxBoxes) boxes.push_back(std::move(box));
    } else {
      live(root);  // dynamic or partial
    }
  }
  // Writes in several blocks would have to be merged.
  bool stores_stay_in_block(RefId root) {
    const Block*& home = store_block_[static_cast<size_t>(root)];
    if (home == nullptr) home = block_;
    return home == block_;
  }

  static constexpr size_t kMaxBoxes = 256;
  const Body& body_;
  std::vector<std::vector<Box>> written_;
  std::vector<Survival> result_;
  std::vector<bool> must_live_, read_;
  std::vector<const Block*> store_block_;  // the block that stores to each root
  const Block* block_ = nullptr;           // being visited
};

class Peak {
 public:
  Peak(const Body& body, const std::vector<Survival>& survival, const Target& target)
      : body_(body), survival_(survival), target_(target) {}
  ScopedPeak run() {
    visit(body_.top, 0);
    return std::move(peak_);
  }

 private:
  void visit(const Block& block, int64_t held_bytes) {
    const size_t mark = held_.size();
    for (const Op& op : block.ops) {
      if (op.kind == OpKind::alloc && body_.refs[static_cast<size_t>(op.ref)].space == Space::vmem &&
          survival_[static_cast<size_t>(op.ref)] == Survival::lives) {
        const RefInfo& ref = body_.refs[static_cast<size_t>(op.ref)];
        held_bytes += padded_bytes(ref.dtype, ref.shape, target_);
        held_.push_back(op.ref);
        if (held_bytes > peak_.bytes) peak_ = {held_bytes, held_};
      }
      for (const Block& inner : op.blocks) visit(inner, held_bytes);
    }
    held_.resize(mark);
  }

  const Body& body_;
  const std::vector<Survival>& survival_;
  const Target& target_;
  std::vector<RefId> held_;
  ScopedPeak peak_;
};

}  // namespace

std::vector<Survival> buffer_survival(const Body& body) { return Survivors(body).run(); }

ScopedPeak scoped_peak(const Body& body, const std::vector<Survival>& survival, const Target& target) {
  return Peak(body, survival, target).run();
}

}  // namespace tilecheck::fit
