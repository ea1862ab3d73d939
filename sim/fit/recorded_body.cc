#include "sim/fit/recorded_body.h"

#include <map>
#include <span>

#include "sim/fit/recorded_flow.h"
#include "sim/fit/recorded_numbers.h"
#include "sim/fit/simplify.h"

namespace tilecheck::fit {
namespace {

class Emitter {
 public:
  Emitter(const KernelSpec& spec, const RecordingRun& run, const Recorder& recorder)
      : spec_(spec), recorder_(recorder), blocks_(recorder.blocks()), flow_(blocks_) {
    body_.grid = spec.grid;
    const size_t prefetch = spec.prefetch.size(), windows = spec.in.size() + spec.out.size();
    for (size_t i = 0; i < run.refs().size(); ++i) {
      const bool is_window = i >= prefetch && i < prefetch + windows;
      const RefRoot root = i < prefetch ? RefRoot::prefetch : is_window ? RefRoot::window : RefRoot::scratch;
      const size_t first = i < prefetch ? 0 : is_window ? prefetch : prefetch + windows;
      add_root(*run.refs()[i].buffer, root, static_cast<int32_t>(i - first));
    }
    if (const Buffer* barrier = run.barrier()) add_root(*barrier, RefRoot::other, kNone);
  }

  Body run() {
    for (int axis = 0; axis < spec_.grid.rank(); ++axis) {
      Op op;
      op.kind = OpKind::grid_index;
      op.axes = {axis};
      coordinates_.push_back(result(op, {DType::i32, {}}));
      body_.top.ops.push_back(std::move(op));
    }
    coordinates_.push_back(kNone);  // data: a new scalar at each use
    emit(0, body_.top);
    note();
    remove_dead(body_);
    return std::move(body_);
  }

 private:
  // ---- Values.
  ValueId new_value(const TileType& type) {
    body_.values.push_back(type);
    return static_cast<ValueId>(body_.values.size() - 1);
  }
  ValueId result(Op& op, const TileType& type) {
    op.out.push_back(new_value(type));
    return op.out[0];
  }
  ValueId constant(const TileType& type, double number, Block& to) {
    Op op;
    op.kind = OpKind::constant;
    op.is_splat = true;
    op.number = number;
    const ValueId v = result(op, type);
    to.ops.push_back(std::move(op));
    return v;
  }
  ValueId integer(int64_t number, Block& to) { return constant({DType::i32, {}}, static_cast<double>(number), to); }
  ValueId opaque(const TileType& type, const char* name, Block& to) {
    Op op;
    op.kind = OpKind::opaque;
    op.name = name;
    const ValueId v = result(op, type);
    to.ops.push_back(std::move(op));
    return v;
  }
  ValueId arithmetic(Fn fn, ValueId a, ValueId b, Block& to) {
    Op op;
    op.kind = OpKind::elementwise;
    op.fn = fn;
    op.in = {a, b};
    const ValueId v = result(op, {DType::i32, {}});
    to.ops.push_back(std::move(op));
    return v;
  }
  ValueId coordinate(size_t c, Block& to) {
    return coordinates_[c] == kNone ? opaque({DType::i32, {}}, "data", to) : coordinates_[c];
  }
  ValueId value(const Operand& operand, Block& to) {
    if (!operand.key.known()) return constant(operand.type, operand.number, to);
    return value(operand.key, operand.type, to);
  }
  ValueId value(ValueKey key, const TileType& type, Block& to) {
    if (const auto it = values_.find(key); it != values_.end()) {
      const TileType& made = type_of(body_, it->second);
      if (made.dtype == type.dtype && made.shape == type.shape) return it->second;
    }
    return opaque(type, "a value of another way through the body", to);
  }

  // ---- Numbers that the body knows.
  Offset offset(const std::vector<Seen>& seen, size_t which, Block& to) {
    const std::optional<Affine> f = affine(seen, which);
    if (!f) {
      const ValueId any = opaque({DType::i32, {}}, "a number of the body's own", to);
      return {arithmetic(Fn::mul, any, integer(common_divisor(seen, which), to), to), 0};
    }
    if (f->is_constant()) return {kNone, f->base};
    ValueId sum = kNone;
    for (size_t c = 0; c < f->slopes.size(); ++c) {
      if (f->slopes[c] == 0) continue;
      ValueId term = coordinate(c, to);
      if (f->slopes[c] != 1) term = arithmetic(Fn::mul, term, integer(f->slopes[c], to), to);
      sum = sum == kNone ? term : arithmetic(Fn::add, sum, term, to);
    }
    if (f->base != 0) sum = arithmetic(Fn::add, sum, integer(f->base, to), to);
    return {sum, 0};
  }
  ValueId known_number(const Site& site, size_t which, DType dtype, Block& to) {
    std::vector<size_t> usable;
    for (size_t c = 0; c < coordinates_.size(); ++c)
      if (coordinates_[c] != kNone) usable.push_back(c);
    NumberTable table = tabulate(site.seen, which, usable);
    if (table.coordinates.empty()) return constant({dtype, {}}, static_cast<double>(table.lookup.numbers[0]), to);
    Op op;
    op.kind = OpKind::lookup;
    op.lookup = static_cast<int32_t>(body_.lookups.size());
    for (size_t c : table.coordinates) op.in.push_back(coordinates_[c]);
    body_.lookups.push_back(std::move(table.lookup));
    const ValueId v = result(op, {dtype, {}});
    to.ops.push_back(std::move(op));
    return v;
  }

  // ---- Refs.
  RefId add_root(const Buffer& buffer, RefRoot root, int32_t index) {
    RefInfo info;
    info.root = root;
    info.root_index = index;
    info.dtype = buffer.dtype;
    info.shape = buffer.shape;
    info.space = buffer.space;
    body_.refs.push_back(std::move(info));
    return roots_[&buffer] = static_cast<RefId>(body_.refs.size() - 1);
  }
  RefId root_of_buffer(const Buffer& buffer) {
    const auto it = roots_.find(&buffer);
    return it != roots_.end() ? it->second : add_root(buffer, RefRoot::alloc, kNone);
  }
  RefId add_view(RefId base, DType dtype, const Shape& shape) {
    RefInfo info;
    info.root = RefRoot::view;
    info.base = base;
    info.dtype = dtype;
    info.shape = shape;
    info.space = body_.refs[static_cast<size_t>(base)].space;
    body_.refs.push_back(std::move(info));
    return static_cast<RefId>(body_.refs.size() - 1);
  }
  // The Ref in whose dimensions the box of `ref` counts: the buffer, or a reshape or bitcast of it.
  RefId whole_of(const Ref& ref) {
    const RefId root = root_of_buffer(*ref.buffer);
    if (ref.pack == 1 && ref.base == ref.buffer->shape && ref.dtype == ref.buffer->dtype) return root;
    return add_view(root, ref.dtype, ref.base);
  }
  static bool is_whole(const Ref& ref) {
    for (int d = 0; d < ref.box.rank; ++d)
      if (ref.box[d].lo != 0 || ref.box[d].n != ref.base[d] || ref.box[d].step != 1) return false;
    return true;
  }
  static size_t first_number(const RecordedOp& r, size_t which) {
    size_t n = 0;
    for (size_t i = 0; i < which; ++i) n += static_cast<size_t>(r.refs[i].box.rank);
    return n;
  }
  std::vector<Offset> starts(const RecordedOp& r, size_t which, Block& to) {
    std::vector<Offset> list;
    const size_t first = first_number(r, which);
    for (int d = 0; d < r.refs[which].box.rank; ++d) list.push_back(offset(r.seen, first + static_cast<size_t>(d), to));
    return list;
  }
  static Dims extent_of(const Ref& ref) {
    Dims extent;
    for (int d = 0; d < ref.box.rank; ++d) extent.push_back(ref.box[d].n);
    return extent;
  }
  // As an operand of a copy, or a semaphore: the slice, then what is left of its dimensions.
  RefId view(const RecordedOp& r, size_t which, Block& to) {
    const Ref& ref = r.refs[which];
    RefId id = whole_of(ref);
    if (!is_whole(ref) || ref.buffer->shape.rank() != ref.rank()) {
      std::vector<Offset> begins = starts(r, which, to);
      const Dims extent = extent_of(ref);
      id = add_view(id, ref.dtype, extent);
      body_.refs.back().starts = std::move(begins);
      body_.refs.back().extent = extent;
    }
    const Shape shown = ref.shape();
    return shown == body_.refs[static_cast<size_t>(id)].shape ? id : add_view(id, ref.dtype, shown);
  }
  // ref, starts, extent and strides of a load or store.
  void place(const RecordedOp& r, Op& op, Block& to) {
    const Ref& ref = r.refs[0];
    op.ref = whole_of(ref);
    op.starts = starts(r, 0, to);
    op.extent = extent_of(ref);
    for (int d = 0; d < ref.box.rank; ++d)
      if (ref.box[d].step != 1 && ref.box[d].n > 1) op.strides = Dims::filled(ref.box.rank, 1);
    for (int d = 0; d < op.strides.rank(); ++d)
      if (ref.box[d].n > 1) op.strides[d] = ref.box[d].step;
  }
  ValueId reshape(ValueId from, const TileType& type, Loc at, Block& to) {
    Op op;
    op.kind = OpKind::reshape;
    op.name = "shape_cast";
    op.at = at;
    op.in = {from};
    const ValueId v = result(op, type);
    to.ops.push_back(std::move(op));
    return v;
  }

  // ---- Operations.
  std::vector<ValueId> inputs(const RecordedOp& r, ValueKey self, Block& to) {
    std::vector<ValueId> in;
    for (size_t k = 0; k < r.in.size(); ++k) {
      const auto* carried = flow_.carried(self.block, self.op, k);
      if (carried) {
        const auto args = carry_values_.find(carried->first);
        in.push_back(args != carry_values_.end() ? args->second[static_cast<size_t>(carried->second)]
                                                 : opaque(r.in[k].type, "a value of another iteration", to));
      } else {
        in.push_back(value(r.in[k], to));
      }
    }
    return in;
  }

  void emit(int32_t block, Block& to) {
    const std::vector<RecordedOp>& ops = blocks_[static_cast<size_t>(block)].ops;
    for (size_t i = 0; i < ops.size(); ++i) emit_op(ops[i], {block, static_cast<int32_t>(i)}, to);
  }

  void emit_op(const RecordedOp& r, ValueKey self, Block& to) {
    Op op = r.op;
    switch (op.kind) {
      case OpKind::branch:
        return branch(r, std::move(op), self, to);
      case OpKind::loop:
        return loop(r, std::move(op), to);
      case OpKind::scope:
        return scope(r, std::move(op), to);
      case OpKind::alloc:
        op.ref = root_of_buffer(*r.refs[0].buffer);
        break;
      case OpKind::load: {
        op.in = inputs(r, self, to);
        place(r, op, to);
        // A payload loads all dimensions and drops those that are not shown.
        const TileType& shown = r.out[0];
        const TileType loaded{shown.dtype, shown.shape.rank() == 0 ? Shape{} : op.extent};
        const Loc at = op.at;
        ValueId v = result(op, loaded);
        to.ops.push_back(std::move(op));
        if (!(loaded.shape == shown.shape)) v = reshape(v, shown, at, to);
        values_[self] = v;
        return;
      }
      case OpKind::store: {
        op.in = inputs(r, self, to);
        place(r, op, to);
        const TileType given = r.in[0].type;
        if (given.shape.rank() > 0 && !(given.shape == op.extent))
          op.in[0] = reshape(op.in[0], {given.dtype, op.extent}, op.at, to);
        break;
      }
      case OpKind::dma_start:
      case OpKind::dma_wait:
        op.ref = view(r, 0, to);
        op.ref2 = view(r, 1, to);
        op.sem = view(r, 2, to);
        break;
      case OpKind::sem_signal:
      case OpKind::sem_wait:
      case OpKind::sem_read:
        op.in = inputs(r, self, to);
        op.sem = view(r, 0, to);
        break;
      default:
        op.in = inputs(r, self, to);
        break;
    }
    if (!r.out.empty()) values_[self] = result(op, r.out[0]);
    to.ops.push_back(std::move(op));
  }

  void branch(const RecordedOp& r, Op op, ValueKey self, Block& to) {
    const auto is_recorded = [&](size_t side) {
      return side < r.blocks.size() && blocks_[static_cast<size_t>(r.blocks[side])].is_recorded;
    };
    if (!is_recorded(0) && !is_recorded(1)) return;
    op.in = r.site == kNone
                ? inputs(r, self, to)
                : std::vector<ValueId>{known_number(recorder_.sites()[static_cast<size_t>(r.site)], 0, DType::b1, to)};
    op.blocks.resize(is_recorded(1) ? 2 : 1);
    std::vector<std::vector<ValueKey>> leaving(2);
    for (size_t side = 0; side < op.blocks.size(); ++side)
      if (is_recorded(side)) {
        emit(r.blocks[side], op.blocks[side]);
        leaving[side] = flow_.leaving(r.blocks[side]);
      }
    if (!leaving[0].empty() || !leaving[1].empty()) op.blocks.resize(2);
    for (size_t side = 0; side < 2; ++side)
      for (ValueKey key : leaving[side]) {
        const TileType type = made(key);
        op.blocks[side].yields.push_back(value(key, type, op.blocks[side]));
        op.blocks[1 - side].yields.push_back(constant(type, 0, op.blocks[1 - side]));
        values_[key] = new_value(type);
        op.out.push_back(values_[key]);
      }
    to.ops.push_back(std::move(op));
  }

  void scope(const RecordedOp& r, Op op, Block& to) {
    op.blocks.resize(1);
    emit(r.blocks[0], op.blocks[0]);
    for (ValueKey key : flow_.leaving(r.blocks[0])) {
      const TileType type = made(key);
      op.blocks[0].yields.push_back(value(key, type, op.blocks[0]));
      values_[key] = new_value(type);
      op.out.push_back(values_[key]);
    }
    to.ops.push_back(std::move(op));
  }

  void loop(const RecordedOp& r, Op op, Block& to) {
    const int32_t id = r.blocks[0];
    if (!blocks_[static_cast<size_t>(id)].is_recorded) return;
    const Site& site = recorder_.sites()[static_cast<size_t>(r.site)];
    op.in = {known_number(site, 0, DType::i32, to), known_number(site, 1, DType::i32, to), integer(1, to)};
    op.blocks.resize(1);
    Block& inner = op.blocks[0];
    inner.args = {new_value({DType::i32, {}})};
    const std::vector<Carry>& carries = flow_.carries(id);
    std::vector<ValueId>& arguments = carry_values_[id];
    for (const Carry& carry : carries) {
      op.in.push_back(value(carry.first, to));
      arguments.push_back(new_value(carry.type));
      inner.args.push_back(arguments.back());
      op.out.push_back(new_value(carry.type));
    }
    coordinates_.push_back(inner.args[0]);
    emit(id, inner);
    coordinates_.pop_back();
    for (const Carry& carry : carries) inner.yields.push_back(value(carry.result, carry.type, inner));
    for (size_t i = 0; i < carries.size(); ++i) values_[carries[i].result] = op.out[i];
    to.ops.push_back(std::move(op));
  }

  TileType made(ValueKey key) const {
    return blocks_[static_cast<size_t>(key.block)].ops[static_cast<size_t>(key.op)].out[0];
  }

  void note() {
    for (const RecordedBlock& block : blocks_)
      if (block.differs) {
        body_.notes.emplace_back(
            "steps or iterations differ by more than core.when and core.loop say: the longest is counted for all");
        break;
      }
    for (const Loc& at : recorder_.data_places())
      body_.notes.push_back("the body steers by data at " + to_string(at) + ": a value of 1 or 2, or true, is assumed");
  }

  const KernelSpec& spec_;
  const Recorder& recorder_;
  const std::vector<RecordedBlock>& blocks_;
  RecordedFlow flow_;
  Body body_;
  std::map<const Buffer*, RefId> roots_;
  std::map<ValueKey, ValueId> values_;
  std::map<int32_t, std::vector<ValueId>> carry_values_;  // by loop body
  std::vector<ValueId> coordinates_;                      // what Seen::at counts
};

}  // namespace

Body recorded_body(const KernelSpec& spec, const RecordingRun& run, const Recorder& recorder) {
  return Emitter(spec, run, recorder).run();
}

}  // namespace tilecheck::fit
