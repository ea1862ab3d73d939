#include "sim/mosaic/body_text.h"

#include <algorithm>
#include <utility>

#include "sim/mosaic/body_words.h"

namespace tilecheck::mosaic {
namespace {

class Printer {
 public:
  Printer(const Module* module, const Function& function) : module_(module), function_(function) {
    names_.resize(function.value_types.size());
    bools_.resize(function.value_types.size());
  }

  BodyText body(const std::vector<std::string>& arg_names) {
    BodyText out;
    const Block& entry = function_.body.block();
    for (uint32_t i = 0; i < entry.arg_count; ++i) names_[entry.first_arg + i] = arg_names[i];
    out.args = arg_names;
    lines_ = &out.lines;
    block(entry, 0);
    return out;
  }

  // The expressions that a function returns; empty if it holds more than scalar arithmetic.
  std::vector<std::string> returned(const std::vector<std::string>& arg_names) {
    const Block& entry = function_.body.block();
    for (uint32_t i = 0; i < entry.arg_count; ++i) names_[entry.first_arg + i] = arg_names[i];
    for (const Op& op : entry.ops) {
      if (op.code == OpCode::func_return) {
        std::vector<std::string> out;
        for (ValueId id : op.operands) out.push_back(names_[id]);
        return out;
      }
      if (op.result_count == 0) continue;
      if (inlined(op)) continue;
      std::string text = op.regions.empty() ? expression(op) : std::string("...");
      if (text.size() > kMaxInline) text = "...";
      const bool compound = text.find(' ') != std::string::npos && !infix_or_compare(op).empty();
      for (uint32_t i = 0; i < op.result_count; ++i) names_[op.result(i)] = compound ? "(" + text + ")" : text;
    }
    return {};
  }

 private:
  const std::string& name(ValueId id) const { return names_[id]; }
  const Type& type(ValueId id) const { return function_.type_of(id); }

  std::string list(std::span<const ValueId> ids) const {
    std::string out;
    for (ValueId id : ids) out.append(out.empty() ? "" : ", ").append(name(id));
    return out;
  }
  std::string access(ValueId ref, std::span<const ValueId> indices) const {
    return indices.empty() ? name(ref) : name(ref) + "[" + list(indices) + "]";
  }

  // Gives the results of operations that need no line their names: constants, casts, views.
  bool inlined(const Op& op) {
    if (op.result_count != 1 || !op.regions.empty()) return false;
    std::string text;
    switch (op.code) {
      case OpCode::arith_constant: {
        const Attr* value = op.find(AttrName::value);
        text = value ? constant_text(*value) : std::string("?");
        break;
      }
      case OpCode::arith_index_cast:
      case OpCode::arith_index_castui:
      case OpCode::tpu_assume_multiple:
        if (op.operands.size() != 1) return false;
        text = name(op.operands[0]);
        break;
      case OpCode::vector_broadcast:
        if (op.operands.size() != 1 || !type(op.operands[0]).is_scalar()) return false;
        text = name(op.operands[0]);
        break;
      case OpCode::arith_extui:
        // A bool as an integer, which Pallas compares with 0 again.
        if (type(op.operands[0]).dtype != DType::b1 || !type(op.operands[0]).is_scalar()) return false;
        bools_[op.result()] = true;
        text = name(op.operands[0]);
        break;
      case OpCode::arith_cmpi:
        if (op.int_or(AttrName::predicate, -1) != 1 || !bools_[op.operands[0]] || name(op.operands[1]) != "0")
          return false;
        text = name(op.operands[0]);
        break;
      case OpCode::tpu_memref_slice:
        text = slice_text(op);
        break;
      case OpCode::tpu_memref_squeeze:
        if (op.operands.size() != 1) return false;
        text = squeeze_text(op);
        break;
      case OpCode::tpu_memref_reshape:
      case OpCode::tpu_memref_bitcast:
        text = name(op.operands[0]) + (op.code == OpCode::tpu_memref_reshape ? ".reshape(" : ".bitcast(") +
               short_type(type(op.result())) + ")";
        break;
      default:
        return false;
    }
    if (text.size() > kMaxInline) return false;
    names_[op.result()] = std::move(text);
    return true;
  }

  std::string slice_text(const Op& op) const {
    const Type& to = type(op.result());
    if (op.operands.empty() || op.ints(AttrName::operand_segment_sizes).size() != 3)
      return name(op.operands[0]) + "[...]";
    const std::span<const ValueId> starts = op.segment(segment::kSliceStart), sizes = op.segment(segment::kSliceSizes);
    std::string out = name(op.operands[0]) + "[";
    size_t dynamic = 0;
    for (size_t i = 0; i < starts.size(); ++i) {
      const int64_t size = to.shape[static_cast<int>(i)];
      const std::string length = size != kDynamic         ? std::to_string(size)
                                 : dynamic < sizes.size() ? name(sizes[dynamic++])
                                                          : "?";
      out.append(i ? ", " : "").append(name(starts[i])).append(":+").append(length);
    }
    return out + "]";
  }

  // "x[3:+1, 0:+128]" without its first dimension reads "x[3, 0:+128]".
  std::string squeeze_text(const Op& op) const {
    const Type &from = type(op.operands[0]), &to = type(op.result());
    std::string text = name(op.operands[0]);
    const size_t open = text.rfind('[');
    if (open == std::string::npos || !text.ends_with(']')) return text + ".squeeze()";
    std::vector<std::string> parts;
    size_t at = open + 1;
    for (int depth = 0, i = static_cast<int>(at); i < static_cast<int>(text.size()); ++i) {
      const char c = text[static_cast<size_t>(i)];
      if (c == '(') ++depth;
      if (c == ')') --depth;
      if ((c == ',' && depth == 0) || i + 1 == static_cast<int>(text.size())) {
        parts.push_back(text.substr(at, static_cast<size_t>(i) - at));
        at = static_cast<size_t>(i) + 2;
      }
    }
    if (parts.size() != static_cast<size_t>(from.shape.rank())) return text + ".squeeze()";
    const int drop = from.shape.rank() - to.shape.rank();
    int dropped = 0;
    for (size_t d = 0; d < parts.size(); ++d) {
      if (dropped == drop || from.shape[static_cast<int>(d)] != 1) continue;
      ++dropped;
      if (parts[d].ends_with(":+1")) parts[d].resize(parts[d].size() - 3);
    }
    text.resize(open + 1);
    for (size_t d = 0; d < parts.size(); ++d) text.append(d ? ", " : "").append(parts[d]);
    return text + "]";
  }

  static std::string infix_or_compare(const Op& op) {
    if (op.code == OpCode::arith_cmpi) return std::string(integer_predicate(op.int_or(AttrName::predicate, -1)));
    if (op.code == OpCode::arith_cmpf) return std::string(float_predicate(op.int_or(AttrName::predicate, -1)));
    return std::string(infix(op.code));
  }

  // What an operation computes, without its result.
  std::string expression(const Op& op) const {
    const std::span<const ValueId> in = op.operands;
    const std::string sign = infix_or_compare(op);
    if (!sign.empty() && in.size() == 2) return name(in[0]) + " " + sign + " " + name(in[1]) + attrs_of(op);
    switch (op.code) {
      case OpCode::arith_select:
        return "select(" + list(in) + ")";
      case OpCode::vector_load:
      case OpCode::memref_load:
      case OpCode::tpu_strided_load:
        return (op.code == OpCode::memref_load && !module_ ? "" : "load ") + access(in[0], in.subspan(1)) +
               attrs_of(op);
      case OpCode::tpu_vector_store:
        if (op.ints(AttrName::operand_segment_sizes).size() == 4 && !op.segment(segment::kStoreValue).empty() &&
            !op.segment(segment::kStoreBase).empty()) {
          std::string out = "store " + access(op.segment(segment::kStoreBase)[0], op.segment(segment::kStoreIndices)) +
                            (op.bool_or(AttrName::add, false) ? " += " : " = ") +
                            name(op.segment(segment::kStoreValue)[0]);
          if (!op.segment(segment::kStoreMask).empty()) out += " where " + name(op.segment(segment::kStoreMask)[0]);
          return out + attrs_of(op);
        }
        break;
      case OpCode::memref_store:
      case OpCode::tpu_strided_store:
        return "store " + access(in[1], in.subspan(2)) + " = " + name(in[0]) + attrs_of(op);
      case OpCode::tpu_matmul:
        if (in.size() == 3) return "matmul " + name(in[0]) + ", " + name(in[1]) + " + " + name(in[2]) + attrs_of(op);
        break;
      case OpCode::tpu_enqueue_dma:
        return dma_text(op);
      case OpCode::tpu_wait_dma2:
        if (in.size() >= 3) return "wait dma " + name(in[2]) + " on " + name(in[0]) + attrs_of(op);
        break;
      case OpCode::tpu_trace_start:
        return "trace_start " + std::string(op.string_or(AttrName::message, ""));
      default:
        break;
    }
    return without_dialect(op.name) + (in.empty() ? "" : " ") + list(in) + attrs_of(op);
  }

  std::string attrs_of(const Op& op) const { return module_ ? attrs_text(op) : std::string(); }

  std::string dma_text(const Op& op) const {
    if (op.ints(AttrName::operand_segment_sizes).size() != 7) return "enqueue_dma " + list(op.operands);
    const auto first = [&](int i) { return op.segment(i).empty() ? std::string() : name(op.segment(i)[0]); };
    std::string out = "start dma " + first(segment::kDmaSource) + " -> " + first(segment::kDmaTarget) + " on " +
                      first(segment::kDmaTargetSemaphore);
    if (const std::string s = first(segment::kDmaSourceSemaphore); !s.empty()) out += " (send " + s + ")";
    if (const std::string d = first(segment::kDmaDevice); !d.empty()) out += " to device " + d;
    if (const std::string c = first(segment::kDmaCore); !c.empty()) out += " core " + c;
    return out + attrs_text(op);
  }

  void line(int indent, std::string text, LocId loc) { lines_->push_back({indent, std::move(text), loc}); }

  std::string results(const Op& op) {
    std::string out;
    for (uint32_t i = 0; i < op.result_count; ++i) {
      names_[op.result(i)] = std::string(type(op.result(i)).is_memref() ? "r" : "v").append(std::to_string(next_++));
      out.append(i ? ", " : "").append(names_[op.result(i)]);
    }
    return out;
  }
  std::string result_types(const Op& op) const {
    std::string out;
    for (uint32_t i = 0; i < op.result_count; ++i) out.append(i ? ", " : "").append(short_type(type(op.result(i))));
    return out;
  }

  void block(const Block& b, int indent) {
    for (const Op& op : b.ops) {
      if (op.regions.empty()) {
        if (inlined(op)) continue;
        operation(op, indent);
      } else {
        structured(op, indent);
      }
    }
  }

  void operation(const Op& op, int indent) {
    const bool ends = op.code == OpCode::scf_yield || op.code == OpCode::tpu_yield || op.code == OpCode::func_return;
    if (ends && op.operands.empty()) return;
    std::string text = expression(op);
    if (op.result_count > 0) {
      const std::string names = results(op);
      text = names + " = " + text + " : " + result_types(op);
    }
    line(indent, std::move(text), op.loc);
  }

  void name_args(const Block& b, const char* prefix) {
    for (uint32_t i = 0; i < b.arg_count; ++i)
      names_[b.first_arg + i] = std::string(prefix).append(std::to_string(next_++));
  }

  void structured(const Op& op, int indent) {
    std::string head = without_dialect(op.name);
    const auto in = op.operands;
    const auto carried = [&](const Block& b, uint32_t from, std::span<const ValueId> init) {
      std::string out;
      for (uint32_t i = from; i < b.arg_count; ++i)
        out.append(out.empty() ? " (" : ", ")
            .append(names_[b.first_arg + i])
            .append(" = ")
            .append(i - from < init.size() ? name(init[i - from]) : "?");
      return out.empty() ? out : out + ")";
    };
    switch (op.code) {
      case OpCode::scf_for: {
        const Block& b = op.regions[0].block();
        name_args(b, "k");
        head = "for " + names_[b.first_arg] + " in " + name(in[0]) + ".." + name(in[1]);
        if (name(in[2]) != "1") head += " step " + name(in[2]);
        head += carried(b, 1, in.subspan(3)) + attrs_text(op);
        break;
      }
      case OpCode::scf_if:
        head = "if " + name(in[0]);
        break;
      case OpCode::scf_while:
        name_args(op.regions[0].block(), "w");
        head = "while" + carried(op.regions[0].block(), 0, in);
        break;
      default:
        head += (in.empty() ? "" : " ") + list(in) + attrs_text(op);
    }
    const size_t head_line = lines_->size();
    line(indent, head, op.loc);
    for (size_t i = 0; i < op.regions.size(); ++i) {
      const Region& region = op.regions[i];
      if (region.empty()) continue;
      if (i > 0) {
        const bool is_while = op.code == OpCode::scf_while;
        if (is_while) name_args(region.block(), "w");
        const size_t at = lines_->size();
        line(indent, is_while ? "do" + carried(region.block(), 0, {}) : "else", op.loc);
        block(region.block(), indent + 1);
        // An else that does nothing is no line.
        if (!is_while && lines_->size() == at + 1) lines_->pop_back();
        continue;
      }
      block(region.block(), indent + 1);
    }
    if (op.result_count == 0) return;
    const std::string names = results(op);
    (*lines_)[head_line].text = names + " = " + (*lines_)[head_line].text + " : " + result_types(op);
  }

  const Module* module_;  // null: an index map
  const Function& function_;
  std::vector<std::string> names_;
  std::vector<bool> bools_;  // bools widened to an integer, named as the bool
  std::vector<BodyLine>* lines_ = nullptr;
  int next_ = 0;
};

std::string map_text(const std::vector<std::string>& args, const std::vector<std::string>& results) {
  std::string out = "(";
  for (size_t i = 0; i < args.size(); ++i) out.append(i ? ", " : "").append(args[i]);
  out += ") -> (";
  for (size_t i = 0; i < results.size(); ++i) {
    std::string text = results[i];
    if (text.size() > 2 && text.front() == '(' && text.back() == ')' && text.find('(', 1) == std::string::npos)
      text = text.substr(1, text.size() - 2);
    out.append(i ? ", " : "").append(text);
  }
  return out + ")";
}

}  // namespace

std::string short_type(const Type& type) {
  switch (type.kind) {
    case TypeKind::vector:
    case TypeKind::memref: {
      std::string out(tilecheck::name(type.dtype));
      out += dims_text(type.shape);
      if (type.is_memref() && type.space != Space::semaphore) out.append(" ").append(tilecheck::name(type.space));
      return out;
    }
    case TypeKind::scalar:
      return std::string(tilecheck::name(type.dtype));
    default:
      return to_string(type);
  }
}

BodyText body_text(const Module& module, const Function& function, const std::vector<std::string>& arg_names) {
  return Printer(&module, function).body(arg_names);
}

std::string index_map_text(const Function& transform, const std::vector<std::string>& arg_names) {
  // Grid ids alone are named on the left: prefetch Refs show where they are read.
  std::vector<std::string> ids;
  for (uint32_t i = 0; i < transform.arg_count(); ++i)
    if (!transform.value_types[i]->is_memref()) ids.push_back(arg_names[i]);
  const std::vector<std::string> results = Printer(nullptr, transform).returned(arg_names);
  return map_text(ids, results);
}

std::string index_map_text(const AffineMap& map, const std::vector<std::string>& arg_names) {
  Attr attr;
  attr.kind = AttrKind::affine_map;
  attr.map = &map;
  std::string text = to_string(attr);
  text = text.substr(11, text.size() - 12);
  // d0 -> the argument's name
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    size_t digits = i + 1;
    while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
    const bool is_dim = text[i] == 'd' && digits > i + 1;
    const size_t number =
        is_dim ? static_cast<size_t>(std::stoul(text.substr(i + 1, std::min<size_t>(digits - i - 1, 6)))) : 0;
    if (is_dim && number < arg_names.size()) {
      out += arg_names[number];
      i = digits - 1;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace tilecheck::mosaic
