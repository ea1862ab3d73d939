#include "sim/mosaic/verifier.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/mosaic/verifier_rules.h"
#include "sim/types/error.h"

namespace tilecheck::mosaic {

namespace {

std::string place(const Module& module, const Op& op) {
  const Frame frame = user_frame(module, op.loc);
  std::string out = "at byte " + std::to_string(op.offset);
  if (!frame.file.empty()) out += " (" + std::string(frame.file) + ":" + std::to_string(frame.line) + ")";
  return out + ": " + std::string(op.name);
}

}  // namespace

void OpCheck::fail(const std::string& expected) const {
  throw InputError(std::string(name), place(module, op) + ": expected " + expected);
}

void OpCheck::incomplete(const std::string& what) const { throw Incomplete(place(module, op) + ": " + what); }

namespace {

bool list_equal(std::span<const Type* const> a, std::span<const Type* const> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Type* x, const Type* y) { return *x == *y; });
}

class Verifier {
 public:
  Verifier(const Module& module, std::string_view name) : module_(module), name_(name) {}

  void run() {
    for (size_t i = 0; i < module_.functions.size(); ++i)
      if (!by_name_.emplace(module_.functions[i].name, i).second) fail(module_.functions[i], "each function name once");
    for (const Function& f : module_.functions) function(f);
    refuse_recursion();
  }

 private:
  [[noreturn]] void fail(const Function& f, const std::string& expected) const {
    throw InputError(std::string(name_), place(f) + ": expected " + expected);
  }
  [[noreturn]] static void incomplete(const Function& f, const std::string& what) {
    throw Incomplete(place(f) + ": " + what);
  }
  static std::string place(const Function& f) {
    return "at byte " + std::to_string(f.offset) + ": function " + std::string(f.name);
  }
  OpCheck check(const Op& op) const { return {module_, *function_, op, name_}; }

  void function(const Function& f) {
    function_ = &f;
    if (f.name.empty()) fail(f, "a name");
    if (f.body.blocks.empty()) fail(f, "a body");
    if (f.body.blocks.size() != 1) incomplete(f, "branches between blocks");
    if (!list_equal(f.type->inputs, args(f.body.block()))) fail(f, "arguments of the function's type");
    for (const Type* type : f.value_types) value_type(f, *type);
    defined_.assign(f.value_types.size(), false);
    block(f.body.block());
    const Op& last = f.body.block().ops.back();
    if (last.code != OpCode::func_return) check(last).fail("func.return at the end of a function");
    if (!list_equal(f.type->results, types(last.operands))) check(last).fail("operands of the function's result types");
  }

  void value_type(const Function& f, const Type& type) const {
    switch (type.kind) {
      case TypeKind::index:
        return;
      case TypeKind::scalar:
        if (is_semaphore(type.dtype)) fail(f, "semaphores only in memrefs");
        return;
      case TypeKind::vector: {
        const int64_t n = type.is_static() ? checked_element_count(type.shape) : -1;
        if (n < 0 || n > kMaxVectorElements || is_semaphore(type.dtype))
          fail(f, "vectors of at most " + std::to_string(kMaxVectorElements) + " numbers, found " + to_string(type));
        return;
      }
      case TypeKind::memref: {
        Shape known;
        for (int64_t d : type.shape) known.push_back(d == kDynamic ? 1 : d);
        if (checked_element_count(known, 8) < 0) fail(f, "memrefs whose bytes fit 63 bits, found " + to_string(type));
        if (type.layout) incomplete(f, "the layout of " + to_string(type));
        return;
      }
      case TypeKind::none:
      case TypeKind::tensor:
      case TypeKind::function:
      case TypeKind::opaque:
        incomplete(f, "the type " + to_string(type));
    }
  }

  std::span<const Type* const> args(const Block& b) const {
    return std::span<const Type* const>(function_->value_types).subspan(b.first_arg, b.arg_count);
  }
  std::vector<const Type*> types(std::span<const ValueId> ids) const {
    std::vector<const Type*> out;
    for (ValueId id : ids) out.push_back(function_->value_types[id]);
    return out;
  }
  std::span<const Type* const> results(const Op& op) const {
    return std::span<const Type* const>(function_->value_types).subspan(op.first_result, op.result_count);
  }

  void block(const Block& b) {
    for (uint32_t i = 0; i < b.arg_count; ++i) defined_[b.first_arg + i] = true;
    if (b.ops.empty()) fail(*function_, "a terminator at the end of each block, found an empty block");
    for (const Op& op : b.ops) {
      operation(op);
      for (uint32_t i = 0; i < op.result_count; ++i) defined_[op.result(i)] = true;
      const bool ends = op.code != OpCode::unknown && info(op.code).effect == Effect::terminator;
      if (ends != (&op == &b.ops.back()) && op.code != OpCode::unknown)
        check(op).fail(ends ? "nothing after a terminator" : "a terminator at the end of the block");
    }
  }

  void operation(const Op& op) {
    for (ValueId id : op.operands)
      if (!defined_[id]) check(op).fail("operands that are defined before their use");
    if (op.code != OpCode::unknown) {
      counts(op);
      check_types(check(op));
    }
    for (const Region& region : op.regions) {
      if (region.blocks.size() > 1) check(op).incomplete("branches between blocks");
      if (!region.empty()) block(region.block());
    }
    regions(op);
  }

  void counts(const Op& op) const {
    const OpInfo& row = info(op.code);
    const auto in = [](size_t n, int lo, int hi) {
      return n >= static_cast<size_t>(lo) && (hi < 0 || n <= static_cast<size_t>(hi));
    };
    const auto wanted = [](int lo, int hi, const char* what) {
      if (hi < 0) return "at least " + std::to_string(lo) + what;
      return (lo == hi ? "" : std::to_string(lo) + " to ") + std::to_string(hi) + what;
    };
    if (!in(op.operands.size(), row.min_operands, row.max_operands))
      check(op).fail(wanted(row.min_operands, row.max_operands, " operands, found ") +
                     std::to_string(op.operands.size()));
    if (!in(op.result_count, row.min_results, row.max_results))
      check(op).fail(wanted(row.min_results, row.max_results, " results, found ") + std::to_string(op.result_count));
    if (!in(op.regions.size(), row.min_regions, row.max_regions))
      check(op).fail(wanted(row.min_regions, row.max_regions, " regions, found ") + std::to_string(op.regions.size()));
    if (row.segments == 0) return;
    const std::span<const int64_t> sizes = op.ints(AttrName::operand_segment_sizes);
    int64_t total = 0;
    bool ok = sizes.size() == row.segments;
    for (int64_t n : sizes) {
      ok = ok && n >= 0 && n <= static_cast<int64_t>(op.operands.size());
      total += ok ? n : 0;
    }
    if (!ok || total != static_cast<int64_t>(op.operands.size()))
      check(op).fail("operandSegmentSizes of " + std::to_string(row.segments) + " numbers that add up to its operands");
  }

  const Op& terminator(const Op& op, const Region& region, OpCode code) const {
    if (region.empty()) check(op).fail("a region with a block");
    const Op& last = region.block().ops.back();
    if (last.code != code) check(op).fail("a region that ends in " + std::string(info(code).name));
    return last;
  }

  // What regions take and yield, once their contents are known to be right.
  void regions(const Op& op) const {
    const auto yields = [&](const Region& region, OpCode code, std::span<const Type* const> wanted) {
      const Op& last = terminator(op, region, code);
      if (!list_equal(types(last.operands), wanted))
        check(last).fail("operands of the types that " + std::string(op.name) + " asks for");
    };
    const auto takes = [&](const Region& region, std::span<const Type* const> wanted) {
      if (region.empty()) check(op).fail("a region with a block");
      if (!list_equal(args(region.block()), wanted)) check(op).fail("region arguments of the right number and types");
    };
    const std::vector<const Type*> none;
    switch (op.code) {
      case OpCode::scf_for: {
        std::vector<const Type*> wanted = types(op.operands);
        if (!list_equal(std::span<const Type* const>(wanted).subspan(3), results(op)))
          check(op).fail("results of the initial values' types");
        wanted.erase(wanted.begin() + 1, wanted.begin() + 3);  // the induction variable has the bounds' type
        takes(op.regions[0], wanted);
        yields(op.regions[0], OpCode::scf_yield, results(op));
        break;
      }
      case OpCode::scf_if:
        takes(op.regions[0], none);
        yields(op.regions[0], OpCode::scf_yield, results(op));
        if (op.regions.size() > 1 && !op.regions[1].empty()) {
          takes(op.regions[1], none);
          yields(op.regions[1], OpCode::scf_yield, results(op));
        } else if (op.result_count != 0) {
          check(op).fail("an else branch, for its results");
        }
        break;
      case OpCode::scf_while: {
        takes(op.regions[0], types(op.operands));
        takes(op.regions[1], results(op));
        const Op& condition = terminator(op, op.regions[0], OpCode::scf_condition);
        if (!list_equal(types(condition.operands.subspan(1)), results(op)))
          check(condition).fail("operands of the loop's result types");
        yields(op.regions[1], OpCode::scf_yield, types(op.operands));
        break;
      }
      case OpCode::scf_index_switch:
        if (op.regions.size() != op.ints(AttrName::cases).size() + 1) check(op).fail("one region more than cases");
        [[fallthrough]];
      case OpCode::scf_execute_region:
        for (const Region& region : op.regions) {
          takes(region, none);
          yields(region, OpCode::scf_yield, results(op));
        }
        break;
      case OpCode::tpu_region:
      case OpCode::tpu_trace:
        takes(op.regions[0], none);
        yields(op.regions[0], OpCode::tpu_yield, results(op));
        break;
      case OpCode::func_call: {
        const auto at = by_name_.find(op.string_or(AttrName::callee, ""));
        if (at == by_name_.end()) check(op).fail("the callee to be a function of the module");
        const Function* callee = &module_.functions[at->second];
        if (!list_equal(callee->type->inputs, types(op.operands)) || !list_equal(callee->type->results, results(op)))
          check(op).fail("operands and results of the callee's type");
        break;
      }
      case OpCode::builtin_module:
      case OpCode::func_func:
        check(op).fail("no module or function inside a function");
      default:
        break;
    }
  }

  // A function reached from itself by calls never ends: walk the calls depth first, refusing one to a function on the
  // way.
  void refuse_recursion() const {
    const size_t n = module_.functions.size();
    std::vector<std::vector<size_t>> calls(n);
    for (size_t i = 0; i < n; ++i)
      walk(module_.functions[i].body, [&](const Op& op) {
        if (op.code == OpCode::func_call) calls[i].push_back(by_name_.at(op.string_or(AttrName::callee, "")));
      });
    enum class State : uint8_t { unseen, on_the_way, done };
    std::vector<State> state(n, State::unseen);
    for (size_t start = 0; start < n; ++start) {
      std::vector<std::pair<size_t, size_t>> way{{start, 0}};  // function, next call to follow
      while (state[start] != State::done) {
        auto& [at, next] = way.back();
        state[at] = State::on_the_way;
        if (next == calls[at].size()) {
          state[at] = State::done;
          way.pop_back();
          continue;
        }
        const size_t callee = calls[at][next++];
        if (state[callee] == State::on_the_way) fail(module_.functions[callee], "no recursion");
        if (state[callee] == State::unseen) way.emplace_back(callee, 0);
      }
    }
  }

  const Module& module_;
  std::string_view name_;
  const Function* function_ = nullptr;
  std::unordered_map<std::string_view, size_t> by_name_;
  std::vector<bool> defined_;
};

}  // namespace

void verify(const Module& module, std::string_view name) { Verifier(module, name).run(); }

}  // namespace tilecheck::mosaic
