// Index maps of payloads, written out.
#include <optional>
#include <vector>

#include "sim/mosaic/op_table.h"
#include "sim/mosaic/transform.h"

namespace tilecheck::mosaic {
namespace {

using Kind = IndexExpr::Kind;

// a divided by a constant above 0, rounded down.
int floor_div(IndexExpr& out, int a, int64_t by) {
  const int divisor = out.constant(by), zero = out.constant(0);
  const int below = out.add(Kind::sub, out.constant(by - 1), a);
  return out.select(out.add(Kind::lt, a, zero), out.add(Kind::sub, zero, out.add(Kind::div, below, divisor)),
                    out.add(Kind::div, a, divisor));
}

class FunctionWriter {
 public:
  FunctionWriter(const Function& f, int grid_rank) : f_(f), of_(f.value_types.size(), -1) {
    const Block& block = f.body.block();
    for (uint32_t i = 0; i < block.arg_count; ++i)
      if (static_cast<int>(i) < grid_rank) of_[block.first_arg + i] = out_.axis(static_cast<int>(i));
  }

  // False where an operation is of another kind.
  bool write() {
    for (const Op& op : f_.body.block().ops) {
      if (op.code == OpCode::func_return) {
        for (ValueId v : op.operands) {
          if (of_[v] < 0) return false;
          out_.results.push_back(of_[v]);
        }
        return true;
      }
      if (op.result_count == 1) of_[op.result()] = node_of(op);
    }
    return false;
  }
  IndexExpr take() { return std::move(out_); }

 private:
  // -1: not written out, which only matters where a result follows from it.
  int node_of(const Op& op) {
    const DType dtype = f_.type_of(op.result()).dtype;
    const bool is_bool = dtype == DType::b1;
    if (!is_bool && dtype != DType::i32 && f_.type_of(op.result()).kind != TypeKind::index) return -1;
    std::array<int, 3> in{-1, -1, -1};
    if (op.operands.size() > in.size() || !op.regions.empty()) return -1;
    for (size_t i = 0; i < op.operands.size(); ++i) {
      in[i] = of_[op.operands[i]];
      if (in[i] < 0) return -1;
    }
    const auto number = [&](Kind kind) { return is_bool ? -1 : out_.add(kind, in[0], in[1], true); };
    const auto without = [&](int of) { return out_.add(Kind::eq, of, out_.constant(0)); };
    switch (op.code) {
      case OpCode::arith_constant: {
        const Attr* a = op.find(AttrName::value);
        return a && a->kind == AttrKind::integer ? out_.constant(a->integer) : -1;
      }
      case OpCode::arith_index_cast:
        return in[0];
      case OpCode::arith_addi:
        return number(Kind::add);
      case OpCode::arith_subi:
        return number(Kind::sub);
      case OpCode::arith_muli:
        return number(Kind::mul);
      case OpCode::arith_divsi:
        return number(Kind::div);
      case OpCode::arith_remsi:
        return number(Kind::rem);
      case OpCode::arith_minsi:
        return number(Kind::min);
      case OpCode::arith_maxsi:
        return number(Kind::max);
      case OpCode::arith_andi:
        return is_bool ? out_.add(Kind::both, in[0], in[1]) : -1;
      case OpCode::arith_ori:
        return is_bool ? out_.add(Kind::either, in[0], in[1]) : -1;
      case OpCode::arith_xori:
        return is_bool ? without(out_.add(Kind::eq, in[0], in[1])) : -1;
      case OpCode::arith_extui:
        return f_.type_of(op.operands[0]).dtype == DType::b1 ? in[0] : -1;
      case OpCode::arith_select:
        return out_.select(in[0], in[1], in[2]);
      case OpCode::arith_cmpi: {
        const int64_t predicate = op.int_or(AttrName::predicate, -1);
        // Here true is 1, which it is not where it is compared as a signed number.
        if (predicate > 1 && f_.type_of(op.operands[0]).dtype == DType::b1) return -1;
        switch (predicate) {
          case 0:
            return out_.add(Kind::eq, in[0], in[1]);
          case 1:
            return without(out_.add(Kind::eq, in[0], in[1]));
          case 2:
            return out_.add(Kind::lt, in[0], in[1]);
          case 3:
            return out_.add(Kind::le, in[0], in[1]);
          case 4:
            return out_.add(Kind::lt, in[1], in[0]);
          case 5:
            return out_.add(Kind::le, in[1], in[0]);
          default:
            return -1;
        }
      }
      default:
        return -1;
    }
  }

  const Function& f_;
  IndexExpr out_;
  std::vector<int> of_;  // each value's node; -1: none
};

int write(IndexExpr& out, const AffineExpr& e, const std::vector<int>& of, const std::vector<AffineExpr::Kind>& kinds) {
  if (e.kind == AffineExpr::Kind::dim) return out.axis(static_cast<int>(e.value));
  if (e.kind == AffineExpr::Kind::constant) return out.constant(e.value);
  if (e.kind == AffineExpr::Kind::symbol) return -1;
  const int left = of[e.left], right = of[e.right];
  if (left < 0 || right < 0) return -1;
  if (e.kind == AffineExpr::Kind::add) return out.add(Kind::add, left, right);
  if (e.kind == AffineExpr::Kind::mul) return out.add(Kind::mul, left, right);
  const int64_t by = out.nodes[static_cast<size_t>(right)].value;
  if (kinds[e.right] != AffineExpr::Kind::constant || by <= 0) return -1;
  const int zero = out.constant(0);
  if (e.kind == AffineExpr::Kind::ceildiv)
    return out.add(Kind::sub, zero, floor_div(out, out.add(Kind::sub, zero, left), by));
  const int quotient = floor_div(out, left, by);
  if (e.kind == AffineExpr::Kind::floordiv) return quotient;
  return out.add(Kind::sub, left, out.add(Kind::mul, quotient, right));
}

}  // namespace

std::shared_ptr<const IndexExpr> expression_of(const Function& transform, int grid_rank) {
  FunctionWriter writer(transform, grid_rank);
  return writer.write() ? std::make_shared<const IndexExpr>(writer.take()) : nullptr;
}

std::shared_ptr<const IndexExpr> expression_of(const AffineMap& map) {
  IndexExpr out;
  std::vector<int> of;
  std::vector<AffineExpr::Kind> kinds;
  for (const AffineExpr& e : map.nodes) {
    of.push_back(write(out, e, of, kinds));
    kinds.push_back(e.kind);
  }
  for (uint32_t result : map.results) {
    if (of[result] < 0) return nullptr;
    out.results.push_back(of[result]);
  }
  return std::make_shared<const IndexExpr>(std::move(out));
}

}  // namespace tilecheck::mosaic
