#include "sim/mosaic/chains.h"

#include <algorithm>
#include <array>

#include "sim/ops/chain.h"

namespace tilecheck::mosaic {
namespace {

bool is_tile(const Slot& slot) { return slot.kind == SlotKind::tile; }

bool is_elementwise(const Instr& instr) {
  if (!instr.call || !info(instr.call->op).elementwise || instr.out.size() != 1 || !is_tile(instr.out[0])) return false;
  if (instr.in.empty() || instr.in.size() > kMaxChainOperands || !std::ranges::all_of(instr.in, is_tile)) return false;
  const DType operand = instr.in[instr.call->op == OpId::select ? 1 : 0].dtype;
  return strip_fn(instr.call->op, operand, instr.out[0].dtype) != nullptr;
}

bool is_matmul(const Instr& instr) {
  return instr.call && instr.call->op == OpId::matmul && is_tile(instr.out[0]) &&
         std::ranges::all_of(instr.in, is_tile);
}

bool uses(const Instr& instr, size_t operand, const Instr& before) {
  return instr.in[operand].index == before.out[0].index;
}

// Whether `next` is elementwise and the last to use what `before` makes.
bool continues(const Instr& before, const Instr& next) {
  if (!is_elementwise(next) || !(next.shape == before.shape)) return false;
  for (size_t i = 0; i < next.in.size(); ++i)
    if (uses(next, i, before) && (next.dies >> i & 1u)) return true;
  return false;
}

// How many instructions from `first` on run together; 1: none does.
size_t chain_length(std::span<const Instr> instrs) {
  if (!is_elementwise(instrs[0]) && !is_matmul(instrs[0])) return 1;
  size_t tiles = instrs[0].in.size(), n = 1;
  for (; n < instrs.size() && n < kMaxChainSteps && continues(instrs[n - 1], instrs[n]); ++n) {
    tiles += instrs[n].in.size() - 1;
    if (tiles > kMaxChainTiles) break;
  }
  return n;
}

// Whether a pure operation's place may be after this instruction instead of before it.
bool lets_pass(const Instr& between, const Instr& moved) {
  if (!between.op || !between.blocks.empty()) return false;
  const Effect effect = info(between.op->code).effect;
  if (effect != Effect::pure && effect != Effect::read) return false;
  for (const Slot& operand : moved.in) {
    for (size_t i = 0; i < between.in.size(); ++i)
      if (is_tile(between.in[i]) && between.in[i].index == operand.index && (between.dies >> i & 1u)) return false;
    if (std::ranges::find(between.drop, operand.index) != between.drop.end()) return false;
  }
  return true;
}

// Moves each operation down to the one that alone uses its result, past loads and what computes other values.
void bring_together(std::vector<Instr>& instrs) {
  const auto uses_result = [](const Instr& instr, const Instr& before) {
    return std::ranges::any_of(instr.in,
                               [&](const Slot& slot) { return is_tile(slot) && slot.index == before.out[0].index; });
  };
  for (size_t i = instrs.size(); i-- > 0;) {
    if (!instrs[i].drop.empty() || !(is_elementwise(instrs[i]) || is_matmul(instrs[i]))) continue;
    size_t user = i + 1;
    while (user < instrs.size() && !uses_result(instrs[user], instrs[i]) && lets_pass(instrs[user], instrs[i])) ++user;
    if (user == i + 1 || user == instrs.size() || !continues(instrs[i], instrs[user])) continue;
    const auto at = [&](size_t k) { return instrs.begin() + static_cast<std::ptrdiff_t>(k); };
    std::rotate(at(i), at(i + 1), at(user));
  }
}

void run_each(Activation& frame, std::span<const Instr> instrs) {
  for (const Instr& instr : instrs) instr.run(frame, instr);
}

bool is_scaling(const Instr& instr, const Instr& product) {
  return instr.call->op == OpId::mulf && uses(instr, 0, product) && !uses(instr, 1, product);
}
bool is_sum(const Instr& instr, const Instr& before) {
  return instr.call->op == OpId::addf && uses(instr, 1, before) && !uses(instr, 0, before);
}

// A matmul with the scaling, the addition or both that follow it, in one. Returns how many instructions that were; 0:
// nothing has been done.
size_t run_ended(Activation& frame, std::span<const Instr> instrs) {
  const Instr& product = instrs[0];
  OpContext& context = frame.core->ops();
  const size_t n = product.in.size();
  std::array<const Tile*, 3> seen{};
  for (size_t i = 0; i < n; ++i) seen[i] = &frame.tiles[product.in[i].index];
  const auto may = [&](const Instr* scale, const Instr* add) {
    return can_end_matmul(context, *product.call, {seen.data(), n}, scale ? &frame.tiles[scale->in[1].index] : nullptr,
                          add ? &frame.tiles[add->in[0].index] : nullptr);
  };
  const Instr* scale = is_scaling(instrs[1], product) && may(&instrs[1], nullptr) ? &instrs[1] : nullptr;
  size_t done = scale ? 2 : 1;
  const Instr* add = done < instrs.size() && is_sum(instrs[done], instrs[done - 1]) && may(scale, &instrs[done])
                         ? &instrs[done]
                         : nullptr;
  if (!scale && !add) return 0;
  done += add != nullptr;
  std::array<Tile, 3> operands;
  for (size_t i = 0; i < n; ++i) operands[i] = take_tile(frame, product, i);
  MatmulEnd end;
  if (scale) end.scale = scale->call, end.factor = take_tile(frame, *scale, 1);
  if (add) end.add = add->call, end.addend = take_tile(frame, *add, 0);
  frame.tiles[instrs[done - 1].out[0].index] = apply_ended(context, *product.call, {operands.data(), n}, end);
  return done;
}

// The instructions over strips. False: nothing has been done.
bool run_strips(Activation& frame, std::span<const Instr> instrs) {
  std::array<ChainStep, kMaxChainSteps> steps;
  std::array<const Tile*, kMaxChainTiles> seen;
  std::array<std::pair<const Instr*, size_t>, kMaxChainTiles> places;
  size_t n = 0;
  for (size_t i = 0; i < instrs.size(); ++i) {
    const Instr& instr = instrs[i];
    ChainStep& step = steps[i];
    step.operands = {};
    step.call = instr.call;
    step.dtype = instr.out[0].dtype;
    step.operand_count = static_cast<int>(instr.in.size());
    for (size_t k = 0; k < instr.in.size(); ++k) {
      if (i > 0 && uses(instr, k, instrs[i - 1])) {
        step.operands[k] = kPrevious;
        continue;
      }
      step.operands[k] = static_cast<int>(n);
      seen[n] = &frame.tiles[instr.in[k].index];
      places[n++] = {&instr, k};
    }
  }
  OpContext& context = frame.core->ops();
  const Chain chain = {instrs.back().shape, {steps.data(), instrs.size()}};
  if (!can_run_chain(context, chain, {seen.data(), n})) return false;
  std::array<Tile, kMaxChainTiles> tiles;
  for (size_t k = 0; k < n; ++k) tiles[k] = take_tile(frame, *places[k].first, places[k].second);
  frame.tiles[instrs.back().out[0].index] = run_chain(context, chain, {tiles.data(), n});
  return true;
}

bool has_dense_operand(const Activation& frame, const Instr& instr) {
  return std::ranges::any_of(instr.in, [&](const Slot& slot) {
    const Layout layout = frame.tiles[slot.index].layout();
    return layout == Layout::dense || layout == Layout::rows;
  });
}

// blocks[0]: the instructions that run together.
void run_joined(Activation& frame, const Instr& instr) {
  std::span<const Instr> rest = instr.blocks[0].instrs;
  if (is_matmul(rest[0])) {
    const size_t done = run_ended(frame, rest);
    if (done == 0) run_each(frame, rest.first(1));
    rest = rest.subspan(std::max<size_t>(done, 1));
  }
  // What repeats is computed once per period, not stretched to whole tiles.
  while (!rest.empty() && !has_dense_operand(frame, rest[0])) {
    run_each(frame, rest.first(1));
    rest = rest.subspan(1);
  }
  if (rest.size() < 2 || !run_strips(frame, rest)) run_each(frame, rest);
}

}  // namespace

void join_chains(Code& code) {
  bring_together(code.instrs);
  std::vector<Instr> joined;
  std::span<Instr> rest = code.instrs;
  while (!rest.empty()) {
    const size_t n = chain_length(rest);
    if (n == 1) {
      joined.push_back(std::move(rest[0]));
    } else {
      Instr& chain = joined.emplace_back();
      chain.run = run_joined;
      chain.loc = rest[n - 1].loc;
      for (const Instr& instr : rest.first(n))
        chain.drop.insert(chain.drop.end(), instr.drop.begin(), instr.drop.end());
      std::vector<Instr>& own = chain.blocks.emplace_back().instrs;
      std::move(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(n), std::back_inserter(own));
    }
    rest = rest.subspan(n);
  }
  code.instrs = std::move(joined);
}

}  // namespace tilecheck::mosaic
