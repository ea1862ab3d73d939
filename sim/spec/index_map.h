// Index maps: from grid coordinates (and scalar-prefetch values) to block indices, knowing what they depend on.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/spec/index_expr.h"
#include "sim/types/shape.h"

namespace tilecheck {

// What a value was computed from: bit i for grid axis i, and whether scalar prefetch was read.
struct Dependence {
  uint32_t grid_axes = 0;
  bool prefetch = false;
  friend bool operator==(const Dependence&, const Dependence&) = default;
};

// What an index map took that its indices need not show.
struct TakenValues {
  uint32_t axes = 0;            // of all plain values
  bool prefetch = false;        // scalar prefetch was read
  bool plain_prefetch = false;  // and a plain value came from it
};

// An integer in an index map. It carries its dependences through arithmetic with the foldings that the TPU compiler
// makes (i * 0, i - i, i % 1 depend on nothing; min(i, 0) and i / 8 on i), from which the pipeline's buffer count
// follows.
class Index {
 public:
  Index() = default;
  Index(int64_t value) : value_(value) {}  // NOLINT(google-explicit-constructor)
  static Index grid(int axis, int64_t value) {
    Index i(value);
    i.dependence_.grid_axes = 1u << axis;
    i.identity_ = axis + 1;
    return i;
  }
  static Index from_prefetch(int64_t value, Dependence of_address) {
    Index i(value);
    i.dependence_ = of_address;
    i.dependence_.prefetch = true;
    return i;
  }
  // The plain value, for branches and casts in a map. What it goes into cannot be seen: all indices may then depend on
  // the axes that this one depends on, so prefer arithmetic, min, max and select.
  int64_t value() const {
    taken_.axes |= dependence_.grid_axes;
    taken_.plain_prefetch |= dependence_.prefetch;
    return value_;
  }
  explicit operator int64_t() const { return value(); }
  const Dependence& dependence() const { return dependence_; }

  friend Index operator+(Index a, Index b) { return join(Kind::add, a.value_ + b.value_, a, b); }
  friend Index operator-(Index a, Index b) {
    if (a.identity_ != 0 && a.identity_ == b.identity_) return Index(0);
    return join(Kind::sub, a.value_ - b.value_, a, b);
  }
  friend Index operator*(Index a, Index b) {
    if (a.is_constant(0) || b.is_constant(0)) return Index(0);
    return join(Kind::mul, a.value_ * b.value_, a, b);
  }
  friend Index operator/(Index a, Index b) { return join(Kind::div, b.value_ == 0 ? -1 : a.value_ / b.value_, a, b); }
  friend Index operator%(Index a, Index b) {
    if (b.is_constant(1)) return Index(0);
    return join(Kind::rem, b.value_ == 0 ? a.value_ : a.value_ % b.value_, a, b);
  }
  friend Index min(Index a, Index b) { return join(Kind::min, std::min(a.value_, b.value_), a, b); }
  friend Index max(Index a, Index b) { return join(Kind::max, std::max(a.value_, b.value_), a, b); }
  // 1 where a < b, else 0: what select() asks.
  friend Index less(Index a, Index b) { return join(Kind::lt, a.value_ < b.value_ ? 1 : 0, a, b); }
  friend Index select(Index condition, Index a, Index b) {
    Index r = chosen(condition.value_ != 0, condition, a, b);
    if (trace_) r.node_ = trace_->select(condition.traced(), a.traced(), b.traced());
    return r;
  }
  // Of a condition that the map has judged by itself, which depends on what `condition` does.
  friend Index select(bool condition_value, Index condition, Index a, Index b) {
    Index r = chosen(condition_value, condition, a, b);
    if (trace_) r.node_ = (condition_value ? a : b).traced();
    return r;
  }

 private:
  friend class IndexMap;
  friend class PrefetchRefs;
  static inline thread_local TakenValues taken_;
  static inline thread_local IndexExpr* trace_ = nullptr;  // written out here meanwhile

  using Kind = IndexExpr::Kind;
  static Index join(Kind kind, int64_t value, const Index& a, const Index& b) {
    Index r(value);
    r.dependence_.grid_axes = a.dependence_.grid_axes | b.dependence_.grid_axes;
    r.dependence_.prefetch = a.dependence_.prefetch || b.dependence_.prefetch;
    if (trace_) [[unlikely]]
      r.node_ = trace_->add(kind, a.traced(), b.traced());
    return r;
  }
  static Index chosen(bool first, const Index& condition, const Index& a, const Index& b) {
    Index r(first ? a.value_ : b.value_);
    for (const Index* from : {&condition, &a, &b}) {
      r.dependence_.grid_axes |= from->dependence_.grid_axes;
      r.dependence_.prefetch |= from->dependence_.prefetch;
    }
    return r;
  }
  // The node of this value in the expression that is being written out.
  int traced() const { return node_ >= 0 ? node_ : trace_->constant(value_); }
  bool is_constant(int64_t v) const { return value_ == v && dependence_ == Dependence{}; }
  int64_t value_ = 0;
  Dependence dependence_;
  int identity_ = 0;  // which grid variable this is, unchanged; 0: none
  int node_ = -1;     // in the expression that is being written out; -1: a constant
};

// Block indices, one per array dimension.
struct Indices {
  std::array<Index, kMaxRank> values{};
  int rank = 0;
  Indices() = default;
  Indices(std::initializer_list<Index> list) {
    for (const Index& i : list) values[static_cast<size_t>(rank++)] = i;
  }
};

// Reads scalar-prefetch operands while index maps run.
class PrefetchReader {
 public:
  virtual ~PrefetchReader() = default;
  // Element at `index` of prefetch operand `operand`. Out of range or undefined: the reader makes the finding and
  // returns 0.
  virtual int64_t read(int operand, const Dims& index) const = 0;
};

// What a map sees of scalar prefetch: prefetch(0, i) reads element i of operand 0.
class PrefetchRefs {
 public:
  explicit PrefetchRefs(const PrefetchReader* reader) : reader_(reader) {}
  template <typename... I>
  Index operator()(int operand, I... index) const {
    const std::array<Index, sizeof...(I)> indices{Index(index)...};
    Dims dims;
    Dependence dependence;
    for (const Index& i : indices) {
      dims.push_back(i.value_);
      dependence.grid_axes |= i.dependence().grid_axes;
      dependence.prefetch |= i.dependence().prefetch;
    }
    return Index::from_prefetch(read(operand, dims), dependence);
  }
  // The plain value.
  int64_t at(int operand, const Dims& index) const {
    Index::taken_.plain_prefetch = true;
    return read(operand, index);
  }

 private:
  int64_t read(int operand, const Dims& index) const {
    Index::taken_.prefetch = true;
    return reader_ ? reader_->read(operand, index) : 0;
  }
  const PrefetchReader* reader_;
};

// A callable from grid coordinates to block indices. From C++: any callable over (Index...), with a trailing
// `const PrefetchRefs&` if it reads scalar prefetch:   IndexMap([](Index i, Index j) { return Indices{i, j}; })
class IndexMap {
 public:
  using Function = std::function<Indices(std::span<const Index>, const PrefetchRefs&)>;

  IndexMap() = default;
  explicit IndexMap(Function function) : function_(std::move(function)) {}
  // A map whose dependences are known by other means (a payload's transform function), those of each index. expr: the
  // map written out, where it can be.
  IndexMap(Function function, std::vector<Dependence> dependences, std::shared_ptr<const IndexExpr> expr = nullptr)
      : function_(std::move(function)), known_(std::move(dependences)), expr_(std::move(expr)) {}
  template <typename F>
  requires(!std::is_same_v<std::decay_t<F>, IndexMap> && !std::is_convertible_v<F, Function>)
      IndexMap(F map) {  // NOLINT(google-explicit-constructor)
    function_ = [map = std::move(map)](std::span<const Index> grid, const PrefetchRefs& prefetch) {
      return call(map, grid, prefetch);
    };
  }

  explicit operator bool() const { return static_cast<bool>(function_); }
  Indices operator()(std::span<const Index> grid, const PrefetchRefs& prefetch) const {
    return function_(grid, prefetch);
  }
  // Evaluated once at the grid's origin unless known.
  Dependence dependence(int grid_rank) const;
  // The axes without which no index changes: those of the dependence, or all where the map's way through its own
  // branches may depend on the coordinates.
  uint32_t moving_axes(int grid_rank) const;
  // The map written out; null where that does not say all: it reads scalar prefetch, or judges coordinates by itself.
  std::shared_ptr<const IndexExpr> expression(int grid_rank) const;
  // Of each index, the axes that its value is a function of, at all points of the grid (which must be concrete and not
  // empty). A map that branches is evaluated wherever that may take it another way; none when that is at more points
  // than `max_evaluations`, or the map does not always return as many indices.
  std::optional<std::vector<uint32_t>> index_axes(const Dims& grid, const PrefetchReader* prefetch,
                                                  int64_t max_evaluations) const;

 private:
  template <typename F>
  static Indices call(const F& map, std::span<const Index> g, const PrefetchRefs& p) {
    if constexpr (std::is_invocable_v<F>)
      return map();
    else if constexpr (std::is_invocable_v<F, const PrefetchRefs&>)
      return map(p);
    else
      return call_n(map, g, p, std::make_index_sequence<1>{});
  }
  template <typename F, size_t... N>
  static Indices call_n(const F& map, std::span<const Index> g, const PrefetchRefs& p, std::index_sequence<N...>) {
    if constexpr (std::is_invocable_v<F, decltype(g[N])..., const PrefetchRefs&>)
      return map(g[N]..., p);
    else if constexpr (std::is_invocable_v<F, decltype(g[N])...>)
      return map(g[N]...);
    else {
      static_assert(sizeof...(N) < kMaxRank,
                    "an index map takes (Index...) and an optional trailing const PrefetchRefs&");
      return call_n(map, g, p, std::make_index_sequence<sizeof...(N) + 1>{});
    }
  }
  // The map at a point, and what it took there.
  Indices observe(std::span<const Index> point, const PrefetchRefs& prefetch, TakenValues& taken) const {
    Index::taken_ = {};
    Indices indices = function_(point, prefetch);
    taken = Index::taken_;
    return indices;
  }
  Indices observe_origin(int grid_rank, TakenValues& taken) const;

  Function function_;
  std::optional<std::vector<Dependence>> known_;
  std::shared_ptr<const IndexExpr> expr_;
};

}  // namespace tilecheck
