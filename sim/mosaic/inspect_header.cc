#include "sim/mosaic/inspect_header.h"

#include "sim/mosaic/body_text.h"

namespace tilecheck::mosaic {
namespace {

std::string semantics_text(const KernelModule& k, int axis) {
  return k.semantics.empty() ? "arbitrary" : std::string(name(k.semantics[static_cast<size_t>(axis)]));
}

class Header {
 public:
  Header(const KernelModule& kernel, const std::vector<std::string>& names) : k_(kernel), names_(names) {}

  HeaderText run() {
    payload();
    grid();
    operands();
    results();
    scratch();
    options();
    return std::move(out_);
  }

 private:
  // A row; the first cell is shown once for rows of one kind.
  void row(const std::string& what, std::vector<std::string> cells) {
    cells.insert(cells.begin(), what == last_ ? std::string() : what);
    last_ = what;
    out_.rows.push_back(std::move(cells));
  }

  void payload() {
    int64_t ops = 0, loads = 0;
    for (const Function& f : k_.module.functions)
      if (&f == k_.main)
        walk(f.body, [&](const Op& op) {
          ++ops;
          loads += is_load(op.code);
        });
    std::string text = k_.module.ir_version > 0 ? "Mosaic IR version " + std::to_string(k_.module.ir_version)
                                                : std::string("before Mosaic's stable IR");
    text.append(", ").append(k_.module.producer).append(", ").append(std::to_string(ops)).append(" operations");
    if (k_.removed.loads > 0)
      text += "; " + std::to_string(k_.removed.loads) + " of " + std::to_string(loads + k_.removed.loads) +
              " loads unused (" + std::to_string(k_.removed.load_bytes) + " B), left out";
    row("payload", {text});
  }

  void grid() {
    if (!k_.has_grid()) return row("grid", {"none: one step"});
    std::string extents, semantics;
    int bound = 0;
    for (int i = 0; i < k_.grid.rank(); ++i) {
      const bool dynamic = k_.grid[i] == kDynamic;
      extents.append(i ? ", " : "").append(dynamic ? "operand " + std::to_string(bound++) : std::to_string(k_.grid[i]));
      semantics.append(i ? ", " : "").append(semantics_text(k_, i));
    }
    row("grid", {"(" + extents + ")", semantics});
  }

  std::string window(int i) const {
    const WindowParams& w = k_.windows[static_cast<size_t>(i)];
    const Type& type = k_.arg_type(k_.window_arg(i));
    if (!w.windowed) return "whole array, " + std::string(name(type.space));
    std::string out = "block " + to_string(w.block) + " " + std::string(name(type.space));
    return out;
  }
  std::string window_map(int i) const {
    const WindowParams& w = k_.windows[static_cast<size_t>(i)];
    if (!w.windowed) return "";
    std::string out =
        w.transform ? index_map_text(*w.transform, map_args()) : index_map_text(*w.transform_map, map_args());
    if (w.element) {
      out += "  in elements";
      for (const auto* pad : {&w.element->pad_lo, &w.element->pad_hi})
        for (int64_t p : *pad)
          if (p != 0)
            return out + ", padded " + pads(w.element->pad_lo) + " before, " + pads(w.element->pad_hi) + " after" +
                   mode(w);
    }
    return out + mode(w);
  }
  static std::string pads(const std::vector<int64_t>& values) {
    std::string out = "(";
    for (size_t i = 0; i < values.size(); ++i) out.append(i ? ", " : "").append(std::to_string(values[i]));
    return out + ")";
  }
  static std::string mode(const WindowParams& w) {
    std::string out;
    if (w.buffers > 0) out += "  Buffered(" + std::to_string(w.buffers) + ")";
    if (w.revisit == Revisit::any) out += "  revisit any";
    return out;
  }
  std::vector<std::string> map_args() const {
    return {names_.begin(), names_.begin() + k_.grid.rank() + k_.prefetch_count};
  }

  void operands() {
    for (int i = 0; i < k_.dynamic_bounds; ++i) row("operands", {std::to_string(i), "grid bound", "i32[]"});
    int at = k_.dynamic_bounds;
    for (int i = 0; i < k_.prefetch_count; ++i)
      row("operands", {std::to_string(at++), name_of(k_.prefetch_arg(i)), to_string(k_.prefetch_array(i)),
                       "scalar prefetch, SMEM"});
    for (int i = 0; i < k_.input_count; ++i)
      row("operands",
          {std::to_string(at++), name_of(k_.window_arg(i)), to_string(k_.input_array(i)), window(i), window_map(i)});
  }
  void results() {
    for (int i = 0; i < k_.output_count; ++i) {
      const int w = k_.input_count + i;
      std::string alias;
      for (const Alias& a : k_.call.aliases)
        if (a.output == i) alias = "  is operand " + std::to_string(a.input);
      row("results", {std::to_string(i), name_of(k_.window_arg(w)), to_string(k_.output_array(i)), window(w),
                      window_map(w) + alias});
    }
  }
  void scratch() {
    for (int i = 0; i < k_.scratch_count; ++i) {
      const Type& type = k_.arg_type(k_.scratch_arg(i));
      row("scratch", {std::to_string(i), name_of(k_.scratch_arg(i)), short_type(type)});
    }
  }

  void options() {
    const BackendConfig& c = k_.config;
    if (c.cost_estimate)
      row("cost estimate",
          {std::to_string(c.cost_estimate->flops) + " flops, " + std::to_string(c.cost_estimate->transcendentals) +
           " transcendentals, " + std::to_string(c.cost_estimate->bytes_accessed) + " bytes accessed" +
           (c.cost_estimate->remote_bytes ? ", " + std::to_string(c.cost_estimate->remote_bytes) + " to other devices"
                                          : "")});
    const auto option = [&](bool is_set, const std::string& text) {
      if (is_set) row("options", {text});
    };
    option(k_.vmem_limit_bytes.has_value(), "vmem_limit_bytes " + std::to_string(k_.vmem_limit_bytes.value_or(0)));
    option(c.collective_id.has_value(), "collective_id " + std::to_string(c.collective_id.value_or(0)));
    option(c.has_communication, "communicates with other devices");
    option(c.internal_scratch_bytes.has_value(),
           "internal_scratch_in_bytes " + std::to_string(c.internal_scratch_bytes.value_or(0)));
    option(!c.shape_invariant_numerics, "shape_invariant_numerics off");
    if (!c.allow_input_fusion.empty()) {
      std::string fused;
      for (size_t i = 0; i < c.allow_input_fusion.size(); ++i)
        if (c.allow_input_fusion[i]) fused += (fused.empty() ? "" : ", ") + std::to_string(i);
      option(!fused.empty(), "allow_input_fusion of operands " + fused);
    }
    option(c.disable_bounds_checks, "disable_bounds_checks");
    option(c.disable_semaphore_checks, "disable_semaphore_checks");
    option(c.skip_device_barrier, "skip_device_barrier");
    option(k_.call.has_side_effect, "has_side_effect");
    for (const SpaceColor& s : c.input_spaces)
      option(true, "operand " + std::to_string(s.index) + " placed in memory space " + std::to_string(s.color));
    for (const SpaceColor& s : c.output_spaces)
      option(true, "result " + std::to_string(s.index) + " placed in memory space " + std::to_string(s.color));
    for (const auto& [flag, value] : c.flags) option(true, "flag " + flag + " " + value);
    for (const std::string& key : c.unknown_keys) option(true, "unknown: " + key);
  }

  const std::string& name_of(ValueId arg) const { return names_[arg - k_.main->body.block().first_arg]; }

  const KernelModule& k_;
  const std::vector<std::string>& names_;
  HeaderText out_;
  std::string last_;
};

}  // namespace

HeaderText header_text(const KernelModule& kernel, const std::vector<std::string>& arg_names) {
  return Header(kernel, arg_names).run();
}

}  // namespace tilecheck::mosaic
