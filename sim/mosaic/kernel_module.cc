#include "sim/mosaic/kernel_module.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "sim/mosaic/bytecode_reader.h"
#include "sim/types/error.h"

namespace tilecheck::mosaic {
namespace {

constexpr int64_t kVmemColor = 1, kSmemColor = 4;  // JAX 0.10.2, tpu_custom_call.MemorySpace
constexpr size_t kMaxName = 40;                    // of an argument; longer ones get a number

class Opener {
 public:
  Opener(KernelModule& kernel, const OpenOptions& options) : k_(kernel), options_(options) {}

  void run(bool has_signature) {
    k_.main = &main_function(k_.module, k_.source);
    if (k_.name.empty()) k_.name = k_.main->name;
    read_grid();
    count_arguments(has_signature);
    name_arguments();
    read_windows();
    read_colors();
    check_signature();
    for (const Alias& a : k_.call.aliases) {
      const int operands = static_cast<int>(k_.call.operands.size());
      if (a.input < 0 || a.input >= operands || a.output < 0 || a.output >= k_.output_count)
        fail_given("an alias of operand " + std::to_string(a.input) + " and result " + std::to_string(a.output) +
                   " that exist");
    }
  }

 private:
  [[noreturn]] void fail(const std::string& expected) const { fail_in(*k_.main, expected); }
  // What was given with the payload, which no byte of it shows.
  [[noreturn]] void fail_given(const std::string& expected) const {
    throw InputError(k_.source, "kernel " + k_.name + ": expected " + expected);
  }
  [[noreturn]] void fail_in(const Function& f, const std::string& expected) const {
    throw InputError(k_.source, place(f) + ": expected " + expected);
  }
  [[noreturn]] void incomplete(const std::string& what) const { throw Incomplete(place(*k_.main) + ": " + what); }
  std::string place(const Function& f) const { return "at byte " + std::to_string(f.offset) + ": kernel " + k_.name; }

  int count(AttrName id) const {
    const Attr* attr = k_.main->find(id);
    if (!attr) return 0;
    if (attr->kind != AttrKind::integer || attr->integer < 0 || attr->integer > 1 << 16)
      fail("a small number as `" + std::string(mosaic::name(id)) + "`");
    return static_cast<int>(attr->integer);
  }

  void read_grid() {
    if (const Attr* bounds = k_.main->find(AttrName::iteration_bounds)) {
      if (bounds->kind != AttrKind::dense_array || bounds->integers.size() > kMaxRank)
        fail("at most " + std::to_string(kMaxRank) + " integers as iteration_bounds");
      for (int64_t n : bounds->integers) {
        if (n < 0 && n != kDynamic) fail("grid bounds of at least 0, found " + std::to_string(n));
        k_.grid.push_back(n);
        k_.dynamic_bounds += n == kDynamic;
      }
    }
    const Attr* semantics = k_.main->find(AttrName::dimension_semantics);
    if (!semantics) return;
    if (semantics->kind != AttrKind::array) fail("a list as dimension_semantics");
    for (const Attr* s : semantics->elements) {
      if (s->body == "parallel")
        k_.semantics.push_back(Semantics::parallel);
      else if (s->body == "arbitrary")
        k_.semantics.push_back(Semantics::arbitrary);
      else if (s->body == "core_parallel")
        k_.semantics.push_back(Semantics::core_parallel);
      else if (s->body == "subcore_parallel")
        k_.semantics.push_back(Semantics::subcore_parallel);
      else
        fail("known dimension semantics, found " + to_string(*s));
    }
    if (!k_.semantics.empty() && k_.semantics.size() != static_cast<size_t>(k_.grid.rank()))
      fail("dimension semantics for each of the " + std::to_string(k_.grid.rank()) + " grid dimensions, found " +
           std::to_string(k_.semantics.size()));
  }

  void count_arguments(bool has_signature) {
    k_.prefetch_count = count(AttrName::scalar_prefetch);
    k_.scratch_count = count(AttrName::scratch_operands);
    const int windows = static_cast<int>(k_.main->arg_count()) - k_.grid.rank() - k_.prefetch_count - k_.scratch_count;
    if (windows < 0)
      fail("arguments for " + std::to_string(k_.grid.rank()) + " grid dimensions, " +
           std::to_string(k_.prefetch_count) + " scalar-prefetch operands and " + std::to_string(k_.scratch_count) +
           " scratch operands, found " + std::to_string(k_.main->arg_count()));
    for (int i = 0; i < k_.grid.rank(); ++i)
      if (k_.main->type_of(static_cast<ValueId>(i)).dtype != DType::i32 ||
          !k_.main->type_of(static_cast<ValueId>(i)).is_scalar())
        fail("grid ids of type i32");
    for (ValueId i = static_cast<ValueId>(k_.grid.rank()); i < k_.main->arg_count(); ++i)
      if (!k_.main->type_of(i).is_memref()) fail("memrefs after the grid ids, found " + to_string(k_.main->type_of(i)));
    if (!k_.main->type->results.empty()) fail("a main function without results");
    if (!has_signature) guess_signature(windows);
    k_.output_count = static_cast<int>(k_.call.results.size());
    k_.input_count = static_cast<int>(k_.call.operands.size()) - k_.dynamic_bounds - k_.prefetch_count;
    if (k_.input_count < 0 || k_.input_count + k_.output_count != windows)
      fail("a call with " + std::to_string(k_.dynamic_bounds) + " grid bounds, " + std::to_string(k_.prefetch_count) +
           " scalar-prefetch operands and " + std::to_string(windows) + " inputs and results in all, found " +
           std::to_string(k_.call.operands.size()) + " operands and " + std::to_string(k_.call.results.size()) +
           " results");
  }

  // A bare body says nothing of its arrays. Results are given; operands too, or they are the whole arrays that the body
  // takes where no block hides them.
  void guess_signature(int windows) {
    if (options_.results.empty() && windows > 0)
      throw InputError(
          k_.source,
          "kernel " + k_.name +
              ": this payload carries no result types; give each with --result I=TYPE, as --result 0=f32[1024]");
    k_.call.results = options_.results;
    k_.call.aliases = options_.aliases;
    const auto given = [&](int i) {
      return static_cast<size_t>(i) < options_.operands.size() ? options_.operands[static_cast<size_t>(i)]
                                                               : std::optional<ArrayType>();
    };
    for (int i = 0; i < k_.dynamic_bounds; ++i)
      k_.call.operands.push_back(given(i).value_or(ArrayType{DType::i32, {}}));
    const int inputs = windows - static_cast<int>(k_.call.results.size());
    if (inputs < 0)
      fail_given("at most " + std::to_string(windows) + " results, found " + std::to_string(k_.call.results.size()));
    const Attr* params = k_.main->find(AttrName::window_params);
    if (options_.operands.size() > static_cast<size_t>(k_.dynamic_bounds + k_.prefetch_count + inputs))
      fail_given(std::to_string(k_.dynamic_bounds + k_.prefetch_count + inputs) + " operands, found operand " +
                 std::to_string(options_.operands.size() - 1));
    for (int i = 0; i < k_.prefetch_count + inputs; ++i) {
      if (const auto type = given(k_.dynamic_bounds + i)) {
        k_.call.operands.push_back(*type);
        continue;
      }
      const Type& type = k_.main->type_of(static_cast<ValueId>(k_.grid.rank() + i));
      const auto w = static_cast<size_t>(i - k_.prefetch_count);
      const bool blocked = i >= k_.prefetch_count && params && params->kind == AttrKind::array &&
                           w < params->elements.size() && !params->elements[w]->entries.empty();
      if (blocked || !type.is_static() || is_semaphore(type.dtype))
        throw InputError(k_.source, "kernel " + k_.name + ": this payload carries no operand types and operand " +
                                        std::to_string(k_.dynamic_bounds + i) +
                                        " reaches it in blocks; give its type with --operand " +
                                        std::to_string(k_.dynamic_bounds + i) + "=TYPE[SHAPE], or its file with --in " +
                                        std::to_string(k_.dynamic_bounds + i) + "=FILE");
      k_.call.operands.push_back({type.dtype, type.shape});
    }
  }

  void name_arguments() {
    const Block& entry = k_.main->body.block();
    const int grid = k_.grid.rank();
    std::unordered_set<std::string> taken;
    for (int i = 0; i < static_cast<int>(entry.arg_count); ++i) {
      int at = i - grid;
      std::string name;
      if (i < grid)
        name = "i" + std::to_string(i);
      else if (at < k_.prefetch_count)
        name = "prefetch" + std::to_string(at);
      else if ((at -= k_.prefetch_count) < k_.input_count)
        name = "in" + std::to_string(at);
      else if ((at -= k_.input_count) < k_.output_count)
        name = "out" + std::to_string(at);
      else
        name = "scratch" + std::to_string(at - k_.output_count);
      const std::string_view source =
          i < grid ? std::string_view() : argument_name(k_.module, entry, static_cast<uint32_t>(i));
      if (!source.empty() && source.size() <= kMaxName && !taken.contains(std::string(source))) name = source;
      taken.insert(name);
      k_.arg_names.push_back(std::move(name));
    }
  }

  void read_windows() {
    const auto n = static_cast<size_t>(k_.input_count + k_.output_count);
    k_.windows.resize(n);
    const Attr* params = k_.main->find(AttrName::window_params);
    if (!params) {
      if (k_.has_grid() && n > 0) fail("window_params beside a grid");
      return;
    }
    if (params->kind != AttrKind::array || params->elements.size() != n)
      fail("window_params for each of the " + std::to_string(n) + " inputs and outputs, found " +
           std::to_string(params->elements.size()));
    for (size_t i = 0; i < n; ++i) read_window(static_cast<int>(i), *params->elements[i]);
  }

  // Arrays that the program keeps in a core's own memory from one kernel to the next.
  void read_colors() {
    const auto mark = [&](int window, int64_t color) {
      if (window < 0 || window >= static_cast<int>(k_.windows.size()) || (color != kVmemColor && color != kSmemColor))
        return;
      WindowParams& w = k_.windows[static_cast<size_t>(window)];
      const Space space = k_.arg_type(k_.window_arg(window)).space;
      w.stays = !w.windowed && (space == Space::vmem || space == Space::smem);
    };
    for (const SpaceColor& c : k_.config.input_spaces) mark(c.index - k_.dynamic_bounds - k_.prefetch_count, c.color);
    for (const SpaceColor& c : k_.config.output_spaces) mark(k_.input_count + c.index, c.color);
  }

  void read_window(int i, const Attr& dict) {
    WindowParams& w = k_.windows[static_cast<size_t>(i)];
    const std::string what = "window_params of " + k_.window_name(i);
    if (dict.kind != AttrKind::dict) fail("a dictionary in " + what);
    if (dict.entries.empty()) return;
    const Type& type = k_.arg_type(k_.window_arg(i));
    const Attr* bounds = dict.find(AttrName::window_bounds);
    if (!bounds && type.space == Space::smem) {  // a core_map's
      w.stays = true;
      return;
    }
    w.windowed = true;
    if (!bounds || bounds->kind != AttrKind::dense_array || bounds->integers.size() > kMaxRank)
      fail("window_bounds in " + what);
    w.block = Dims(bounds->integers);
    if (!(w.block == type.shape)) fail("window_bounds equal to the argument's shape in " + what);
    for (int64_t d : w.block)
      if (d <= 0) fail("positive window_bounds in " + what);
    const Attr* transform = dict.find(AttrName::transform_indices);
    if (transform && transform->kind == AttrKind::affine_map) {
      w.transform_map = transform->map;
      if (w.transform_map->dims != k_.grid.rank() || w.transform_map->symbols != 0 ||
          w.transform_map->results.size() != static_cast<size_t>(w.block.rank()))
        fail("an affine map from the grid to the block in " + what);
    } else if (transform && transform->kind == AttrKind::symbol) {
      w.transform = k_.module.find_function(transform->text);
      if (!w.transform) fail("transform function @" + std::string(transform->text) + " in the module");
      check_transform(*w.transform, w.block.rank());
    } else {
      fail("transform_indices in " + what);
    }
    if (const Attr* mode = dict.find(AttrName::pipeline_mode)) {
      if (mode->body == "synchronous")
        w.buffers = 1;
      else if (mode->body == "double_buffered")
        w.buffers = 2;
      else
        incomplete(to_string(*mode));
    }
    if (const Attr* mode = dict.find(AttrName::revisit_mode)) {
      if (mode->body == "any")
        w.revisit = Revisit::any;
      else if (mode->body != "immediate")
        incomplete(to_string(*mode));
    }
    if (const Attr* kind = dict.find(AttrName::window_kind)) {
      w.element = element_window(*kind);
      const auto rank = static_cast<size_t>(w.block.rank());
      if (!w.element) incomplete(to_string(*kind));
      if (w.element->pad_lo.size() != rank || w.element->pad_hi.size() != rank)
        fail("padding for each dimension in " + what);
      for (size_t d = 0; d < rank; ++d)
        if (w.element->pad_lo[d] < 0 || w.element->pad_hi[d] < 0 || w.element->pad_lo[d] > INT32_MAX ||
            w.element->pad_hi[d] > INT32_MAX)
          fail("padding of at least 0 in " + what);
    }
    for (const NamedAttr& entry : dict.entries) switch (entry.id) {
        case AttrName::window_bounds:
        case AttrName::transform_indices:
        case AttrName::pipeline_mode:
        case AttrName::revisit_mode:
        case AttrName::window_kind:
          break;
        default:
          incomplete("`" + std::string(entry.name) + "` in " + what);
      }
  }

  // (i32 per grid dimension, scalar-prefetch memrefs) -> i32 per block dimension
  void check_transform(const Function& f, int rank) const {
    const std::span<const Type* const> in = f.type->inputs;
    bool ok = in.size() == static_cast<size_t>(k_.grid.rank() + k_.prefetch_count) &&
              f.type->results.size() == static_cast<size_t>(rank);
    for (size_t i = 0; ok && i < in.size(); ++i) ok = *in[i] == k_.main->type_of(static_cast<ValueId>(i));
    for (const Type* t : f.type->results) ok = ok && t->is_scalar() && t->dtype == DType::i32;
    if (!ok)
      fail_in(f, "transform function @" + std::string(f.name) + " from the grid ids and scalar prefetch to " +
                     std::to_string(rank) + " block indices, found " + to_string(*f.type));
  }

  // Arrays keep signs that the kernel's signless types do not. JAX hands kernels bools as i32; who calls one by its
  // payload alone may leave that to us.
  static bool same_element(DType array, DType ref) {
    if (array == ref || (array == DType::b1 && ref == DType::i32)) return true;
    const auto integer = [](DType d) { return is_int(d); };
    if (integer(array) && integer(ref)) return bits(array) == bits(ref);
    // Semaphores travel between calls as integers.
    return is_semaphore(ref) && integer(array);
  }

  void check_signature() const {
    for (int i = 0; i < k_.dynamic_bounds; ++i) {
      const ArrayType& type = k_.call.operands[static_cast<size_t>(i)];
      if (element_count(type.shape) != 1 || type.dtype != DType::i32)
        fail("grid bound " + std::to_string(i) + " as one i32, found " + to_string(type));
    }
    for (int i = 0; i < k_.prefetch_count; ++i)
      whole("prefetch" + std::to_string(i), k_.prefetch_array(i), k_.arg_type(k_.prefetch_arg(i)));
    for (int i = 0; i < k_.input_count + k_.output_count; ++i) {
      const ArrayType& array = k_.window_array(i);
      const Type& type = k_.arg_type(k_.window_arg(i));
      if (!k_.windows[static_cast<size_t>(i)].windowed) {
        whole(k_.window_name(i), array, type);
      } else if (array.shape.rank() != type.shape.rank() || !same_element(array.dtype, type.dtype)) {
        fail(k_.window_name(i) + ", " + to_string(array) + ", of the block's rank and type, " + to_string(type));
      }
    }
    for (int i = 0; i < k_.scratch_count; ++i)
      if (!k_.arg_type(k_.scratch_arg(i)).is_static()) fail("scratch of static shape");
  }

  void whole(const std::string& what, const ArrayType& array, const Type& type) const {
    bool ok = same_element(array.dtype, type.dtype) && array.shape.rank() == type.shape.rank();
    for (int d = 0; ok && d < array.shape.rank(); ++d)
      ok = type.shape[d] == array.shape[d] || type.shape[d] == kDynamic;
    if (!ok) fail(what + ", " + to_string(array) + ", of the argument's type, " + to_string(type));
  }

  KernelModule& k_;
  const OpenOptions& options_;
};

}  // namespace

std::vector<KernelCall> read_kernel_calls(std::string_view bytes, std::string_view name) {
  std::vector<KernelCall> out;
  if (is_bytecode(bytes)) {
    KernelCall call;
    call.source = name;
    call.call.target = "tpu_custom_call";
    call.config.body.assign(bytes.begin(), bytes.end());
    call.has_signature = false;
    out.push_back(std::move(call));
    return out;
  }
  const size_t first = bytes.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && bytes[first] == '{') {
    KernelCall call;
    call.source = name;
    call.call.target = "tpu_custom_call";
    call.config = parse_backend_config(bytes, name);
    call.has_signature = false;
    out.push_back(std::move(call));
    return out;
  }
  for (CustomCall& found : tpu_calls(scan_stablehlo(bytes, name), name)) {
    KernelCall call;
    call.source = std::string(name) + " line " + std::to_string(found.line);
    call.config = parse_backend_config(found.backend_config, call.source);
    found.backend_config.clear();
    call.call = std::move(found);
    out.push_back(std::move(call));
  }
  return out;
}

const Function& main_function(const Module& module, std::string_view name) {
  const Function* found = nullptr;
  for (const Function& f : module.functions) {
    if (!f.find(AttrName::scalar_prefetch)) continue;
    if (found)
      throw InputError(std::string(name), "at byte " + std::to_string(f.offset) +
                                              ": expected one kernel function, found " + std::string(found->name) +
                                              " and " + std::string(f.name));
    found = &f;
  }
  if (!found && module.functions.size() == 1) found = &module.functions.front();
  if (!found)
    throw InputError(std::string(name), "at byte " + std::to_string(module.offset) +
                                            ": expected a kernel function with a `scalar_prefetch` attribute");
  return *found;
}

KernelModule open_kernel(const KernelCall& call, const OpenOptions& options) {
  KernelModule kernel;
  kernel.source = call.source;
  kernel.name = call.call.kernel_name;
  kernel.call = call.call;
  kernel.config = call.config;
  kernel.module = load_module(call.config.body, call.source, options);
  kernel.vmem_limit_bytes = options.vmem_limit_bytes ? options.vmem_limit_bytes : call.config.vmem_limit_bytes;
  Opener(kernel, options).run(call.has_signature);
  kernel.removed = remove_dead_code(kernel.module);
  return kernel;
}

}  // namespace tilecheck::mosaic
