// A module in MLIR's generic form.
#include "sim/mosaic/bytecode_reader.h"
#include "sim/mosaic/inspect.h"

namespace tilecheck::mosaic {
namespace {

class RawPrinter {
 public:
  RawPrinter(const Module& module, bool locations) : module_(module), locations_(locations) {}

  std::string run() {
    out_ = "\"builtin.module\"() ({\n";
    for (const Function& f : module_.functions) {
      function_ = &f;
      out_ += "  \"func.func\"() <{";
      attributes(f.attrs);
      out_ += "}> (";
      region(f.body, 1);
      out_ += ") : () -> ()";
      location(f.loc);
    }
    out_ += "}) {";
    attributes(module_.attrs);
    out_ += "} : () -> ()";
    location(module_.loc);
    return std::move(out_);
  }

 private:
  void indent(int depth) { out_.append(static_cast<size_t>(2 * depth), ' '); }

  void attributes(std::span<const NamedAttr> attrs) {
    const char* separator = "";
    for (const NamedAttr& a : attrs) {
      out_.append(separator).append(a.name);
      if (a.value->kind != AttrKind::unit) out_.append(" = ").append(to_string(*a.value));
      separator = ", ";
    }
  }

  void location(LocId loc) {
    if (locations_) {
      const std::vector<Frame> all = frames(module_, loc);
      if (!all.empty()) {
        out_ += " loc(";
        for (size_t i = 0; i < all.size(); ++i) out_.append(i ? " < " : "").append(to_string(all[i]));
        out_ += ")";
      }
    }
    out_ += "\n";
  }

  void value(ValueId id) { out_.append("%").append(std::to_string(id)); }

  void region(const Region& r, int depth) {
    out_ += "{\n";
    for (const Block& b : r.blocks) {
      if (b.arg_count > 0 || r.blocks.size() > 1) {
        indent(depth);
        out_ += "^(";
        for (uint32_t i = 0; i < b.arg_count; ++i) {
          if (i) out_ += ", ";
          value(b.first_arg + i);
          out_.append(": ").append(to_string(function_->type_of(b.first_arg + i)));
        }
        out_ += "):\n";
      }
      for (const Op& op : b.ops) operation(op, depth + 1);
    }
    indent(depth);
    out_ += "}";
  }

  void operation(const Op& op, int depth) {
    indent(depth);
    for (uint32_t i = 0; i < op.result_count; ++i) {
      if (i) out_ += ", ";
      value(op.result(i));
    }
    if (op.result_count) out_ += " = ";
    out_.append("\"").append(op.name).append("\"(");
    for (size_t i = 0; i < op.operands.size(); ++i) {
      if (i) out_ += ", ";
      value(op.operands[i]);
    }
    out_ += ")";
    if (!op.regions.empty()) {
      out_ += " (";
      for (size_t i = 0; i < op.regions.size(); ++i) {
        if (i) out_ += ", ";
        region(op.regions[i], depth);
      }
      out_ += ")";
    }
    if (!op.attrs.empty()) {
      out_ += " {";
      attributes(op.attrs);
      out_ += "}";
    }
    out_ += " : (";
    for (size_t i = 0; i < op.operands.size(); ++i)
      out_.append(i ? ", " : "").append(to_string(function_->type_of(op.operands[i])));
    out_ += ") -> (";
    for (uint32_t i = 0; i < op.result_count; ++i)
      out_.append(i ? ", " : "").append(to_string(function_->type_of(op.result(i))));
    out_ += ")";
    location(op.loc);
  }

  const Module& module_;
  bool locations_;
  const Function* function_ = nullptr;
  std::string out_;
};

}  // namespace

std::string raw_text(const KernelCall& call, bool locations) {
  const Module module = read_bytecode(call.config.body, call.source);
  return RawPrinter(module, locations).run();
}

}  // namespace tilecheck::mosaic
