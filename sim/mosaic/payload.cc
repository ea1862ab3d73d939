#include "sim/mosaic/payload.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "sim/fit/body.h"
#include "sim/mosaic/transform.h"
#include "sim/types/error.h"

namespace tilecheck::mosaic {
namespace {

// A core's values while the kernel runs.
struct CoreValues {
  std::vector<uint64_t> scalars;
  std::vector<uint8_t> undefined;
  std::vector<Tile> tiles;
  std::vector<Ref> refs;
};

Activation frame_of(CoreValues& v, Core& core) {
  Activation f;
  f.core = &core;
  f.scalars = v.scalars;
  f.undefined = v.undefined;
  f.tiles = v.tiles;
  f.refs = v.refs;
  f.numerics = core.ops().numerics;
  return f;
}

std::shared_ptr<CoreValues> start_core(const Program& program, Core& core) {
  auto values = std::make_shared<CoreValues>();
  values->scalars.resize(program.scalars);
  values->undefined.resize(program.scalars);
  values->tiles.resize(program.tiles);
  values->refs.resize(program.refs);
  Activation frame = frame_of(*values, core);
  // Constants are no work of the kernel's, and each thread makes its own.
  Counters& counters = core.counters();
  const int64_t operations = counters.operations, flops = counters.flops, transcendentals = counters.transcendentals;
  run_block(frame, program.hoisted);
  counters.operations = operations;
  counters.flops = flops;
  counters.transcendentals = transcendentals;
  return values;
}

}  // namespace

std::shared_ptr<const Payload> Payload::make(KernelModule kernel) {
  return std::shared_ptr<const Payload>(new Payload(std::move(kernel)));
}

Payload::Payload(KernelModule kernel) : kernel_(std::move(kernel)) {
  try {
    program_ = compile(kernel_.module, *kernel_.main);
  } catch (const Incomplete& e) {
    not_modelled_ = e.what();  // the spec, need and time of the kernel can be told all the same
  }
  for (const WindowParams& w : kernel_.windows) {
    if (w.transform) require_scalar_operations(kernel_.module, *w.transform);
    transforms_.push_back(w.transform ? std::shared_ptr<const Program>(compile(kernel_.module, *w.transform))
                                      : nullptr);
  }
}

Window Payload::window(int i, const Dims& grid) const {
  const WindowParams& p = kernel_.windows[static_cast<size_t>(i)];
  const Type& type = kernel_.arg_type(kernel_.window_arg(i));
  Window w;
  w.name = kernel_.window_name(i);
  w.dtype = type.dtype;
  w.array = kernel_.window_array(i).shape;
  w.space = is_semaphore(type.dtype) ? Space::semaphore : type.space;
  w.at = kernel_.loc(kernel_.main->loc);
  w.resident = p.stays;
  if (!p.windowed) {
    w.trivial = true;
    return w;
  }
  for (int d = 0; d < p.block.rank(); ++d) {
    BlockDim dim(p.block[d]);
    if (p.element)
      dim = BlockDim::element(p.block[d], p.element->pad_lo[static_cast<size_t>(d)],
                              p.element->pad_hi[static_cast<size_t>(d)]);
    w.block.push_back(dim);
  }
  w.buffers = p.buffers;
  w.revisit = p.revisit;
  if (p.transform) {
    w.index = index_map(shared_from_this(), transforms_[static_cast<size_t>(i)], *p.transform, grid);
    w.at = kernel_.loc(p.transform->loc);
  } else if (p.transform_map) {
    w.index = index_map(shared_from_this(), *p.transform_map);
  }
  return w;
}

KernelSpec Payload::spec(std::span<const int64_t> bounds) const {
  KernelSpec s;
  s.name = kernel_.name;
  size_t next = 0;
  for (int64_t g : kernel_.grid) {
    if (g != kDynamic) {
      s.grid.push_back(g);
    } else {
      s.grid.push_back(next < bounds.size() ? std::max<int64_t>(bounds[next], 0) : fit::kDynamicGrid);
      ++next;
    }
  }
  s.semantics = kernel_.semantics;
  for (int i = 0; i < kernel_.prefetch_count; ++i) {
    const Type& type = kernel_.arg_type(kernel_.prefetch_arg(i));
    s.prefetch.push_back({"prefetch" + std::to_string(i), type.dtype, kernel_.prefetch_array(i).shape});
  }
  for (int i = 0; i < kernel_.input_count; ++i) s.in.push_back(window(i, s.grid));
  for (int i = 0; i < kernel_.output_count; ++i) s.out.push_back(window(kernel_.input_count + i, s.grid));
  for (int i = 0; i < kernel_.scratch_count; ++i) {
    const Type& type = kernel_.arg_type(kernel_.scratch_arg(i));
    s.scratch.push_back({"scratch" + std::to_string(i), type.dtype, type.shape,
                         is_semaphore(type.dtype) ? Space::semaphore : type.space});
  }
  const int first_input = kernel_.dynamic_bounds + kernel_.prefetch_count;
  for (const Alias& a : kernel_.call.aliases) {
    if (a.input < first_input)
      throw InputError(kernel_.source, "result " + std::to_string(a.output) + " aliases operand " +
                                           std::to_string(a.input) + ", which is no input array");
    s.aliases.push_back({a.input - first_input, a.output});
  }
  s.vmem_limit_bytes = kernel_.vmem_limit_bytes;
  const BackendConfig& c = kernel_.config;
  s.internal_scratch_bytes = c.internal_scratch_bytes;
  s.cost = c.cost_estimate;
  s.collective_id = c.collective_id;
  s.has_communication = c.has_communication;
  s.skip_device_barrier = c.skip_device_barrier;
  s.disable_bounds_checks = c.disable_bounds_checks;
  s.disable_semaphore_checks = c.disable_semaphore_checks;
  s.at = kernel_.loc(kernel_.main->loc);
  return s;
}

Body Payload::body() const {
  if (!program_) throw Incomplete(not_modelled_);
  return [self = shared_from_this()](Core& core, std::span<const Ref> refs) {
    const Program& program = *self->program_;
    std::shared_ptr<void>& state = core.body_state();
    if (!state) {
      state = start_core(program, core);
      core.counters().unused_loads_removed = self->kernel_.removed.loads;
      core.counters().unused_load_bytes = self->kernel_.removed.load_bytes;
    }
    CoreValues& values = *static_cast<CoreValues*>(state.get());
    Activation frame = frame_of(values, core);
    const int grid_rank = self->kernel_.grid.rank();
    const std::vector<Slot>& args = program.body.args;
    for (int i = 0; i < grid_rank; ++i) {
      values.scalars[args[static_cast<size_t>(i)].index] = static_cast<uint64_t>(core.program_id(i));
      values.undefined[args[static_cast<size_t>(i)].index] = 0;
    }
    for (size_t i = 0; i < refs.size(); ++i) values.refs[args[static_cast<size_t>(grid_rank) + i].index] = refs[i];
    run_scoped_block(frame, program.body);
  };
}

std::vector<int64_t> Payload::bounds(std::span<const HostArray> operands) const {
  std::vector<int64_t> list;
  for (int i = 0; i < kernel_.dynamic_bounds; ++i) {
    const HostArray& a = operands[static_cast<size_t>(i)];
    if (a.size() != 1)
      throw InputError(kernel_.source + ", operand " + std::to_string(i), "a grid bound is one integer");
    list.push_back(static_cast<int64_t>(a.at(0)));
  }
  return list;
}

DeviceArgs Payload::arguments(std::span<const HostArray> operands) const {
  const size_t expected = kernel_.call.operands.size();
  if (operands.size() != expected)
    throw InputError(kernel_.source,
                     "the call has " + std::to_string(expected) + " operands, got " + std::to_string(operands.size()));
  DeviceArgs args;
  size_t at = static_cast<size_t>(kernel_.dynamic_bounds);
  for (int i = 0; i < kernel_.prefetch_count; ++i)
    args.prefetch.push_back(retyped(operands[at++], kernel_.arg_type(kernel_.prefetch_arg(i)).dtype));
  for (int i = 0; i < kernel_.input_count; ++i)
    args.in.push_back(retyped(operands[at++], kernel_.arg_type(kernel_.window_arg(i)).dtype));
  return args;
}

HostArray Payload::declared_result(int i, const HostArray& result) const {
  return retyped(result, kernel_.output_array(i).dtype);
}

HostArray retyped(const HostArray& array, DType to) {
  const DType from = array.dtype();
  if (from == to) return array;
  if (is_semaphore(from) || is_semaphore(to)) return array.convert(to);  // counts: integers outside of kernels
  const bool same_bytes = storage_bytes(from) == storage_bytes(to) && bits(from) == bits(to) && bits(from) >= 8;
  if (same_bytes)
    return HostArray::view(to, array.shape(), const_cast<std::byte*>(array.data()), std::make_shared<HostArray>(array));
  if (bits(from) == bits(to)) {  // 2 and 4 bits: kept sign- or zero-extended in a byte
    HostArray out(to, array.shape());
    const int n = bits(from);
    const uint8_t mask = static_cast<uint8_t>((1u << n) - 1u);
    for (int64_t i = 0; i < array.size(); ++i) {
      uint8_t v = static_cast<uint8_t>(array.as<uint8_t>()[i] & mask);
      if (is_signed_int(to) && (v >> (n - 1) & 1u)) v = static_cast<uint8_t>(v | ~mask);
      out.as<uint8_t>()[i] = v;
    }
    return out;
  }
  if (from == DType::b1 || to == DType::b1) return array.convert(to);
  return array;  // launch says what does not fit
}

}  // namespace tilecheck::mosaic
