// Comparisons and select.
#include <algorithm>
#include <cmath>

#include "sim/ops/strips.h"

namespace tilecheck {
namespace {

// MLIR's order of cmpf predicates: bit 0 equal, bit 1 greater, bit 2 less, bit 3 unordered.
template <class T>
void compare_float(const StripArgs& args) {
  const auto with = [&](auto f) { map_binary<T, uint8_t>(args, f); };
  switch (args.call->predicate) {
    case Predicate::false_:
      return with([](T, T) { return uint8_t{0}; });
    case Predicate::oeq:
      return with([](T a, T b) { return static_cast<uint8_t>(a == b); });
    case Predicate::ogt:
      return with([](T a, T b) { return static_cast<uint8_t>(a > b); });
    case Predicate::oge:
      return with([](T a, T b) { return static_cast<uint8_t>(a >= b); });
    case Predicate::olt:
      return with([](T a, T b) { return static_cast<uint8_t>(a < b); });
    case Predicate::ole:
      return with([](T a, T b) { return static_cast<uint8_t>(a <= b); });
    case Predicate::ord:
      return with([](T a, T b) { return static_cast<uint8_t>(a == a && b == b); });
    case Predicate::ueq:
      return with([](T a, T b) { return static_cast<uint8_t>(!(a < b) & !(a > b)); });
    case Predicate::ugt:
      return with([](T a, T b) { return static_cast<uint8_t>(!(a <= b)); });
    case Predicate::uge:
      return with([](T a, T b) { return static_cast<uint8_t>(!(a < b)); });
    case Predicate::ult:
      return with([](T a, T b) { return static_cast<uint8_t>(!(a >= b)); });
    case Predicate::ule:
      return with([](T a, T b) { return static_cast<uint8_t>(!(a > b)); });
    case Predicate::one:  // executed as une: JAX lowers x != y to it (machine rule 24)
    case Predicate::une:
      return with([](T a, T b) { return static_cast<uint8_t>(!(a == b)); });
    case Predicate::uno:
      return with([](T a, T b) { return static_cast<uint8_t>(a != a || b != b); });
    default:
      return with([](T, T) { return uint8_t{1}; });
  }
}

void compare_narrow(const StripArgs& args, DType dtype) {
  const WidenFn widen = widen_fn(dtype);
  const int bytes = storage_bytes(dtype);
  alignas(64) float operands[2][kChunk];
  const void* pointers[2] = {operands[0], operands[1]};
  for (int k = 0; k < 2; ++k)
    if (args.splat_mask >> k & 1) widen(args.operands[k], operands[k], 1);
  for (int64_t at = 0; at < args.n; at += kChunk) {
    const int64_t n = std::min(kChunk, args.n - at);
    for (int k = 0; k < 2; ++k)
      if (!(args.splat_mask >> k & 1))
        widen(static_cast<const std::byte*>(args.operands[k]) + at * bytes, operands[k], n);
    compare_float<float>({pointers, args.splat_mask, static_cast<uint8_t*>(args.out) + at, n, args.call});
  }
}

template <DType kType>
void compare_narrow_thunk(const StripArgs& args) {
  compare_narrow(args, kType);
}

template <class S>
void compare_int(const StripArgs& args) {
  using U = std::make_unsigned_t<S>;
  const auto as_signed = [&](auto f) {
    map_binary<S, uint8_t>(args, [f](S a, S b) { return static_cast<uint8_t>(f(a, b)); });
  };
  const auto as_unsigned = [&](auto f) {
    map_binary<U, uint8_t>(args, [f](U a, U b) { return static_cast<uint8_t>(f(a, b)); });
  };
  switch (args.call->predicate) {
    case Predicate::eq:
      return as_unsigned([](auto a, auto b) { return a == b; });
    case Predicate::ne:
      return as_unsigned([](auto a, auto b) { return a != b; });
    case Predicate::slt:
      return as_signed([](auto a, auto b) { return a < b; });
    case Predicate::sle:
      return as_signed([](auto a, auto b) { return a <= b; });
    case Predicate::sgt:
      return as_signed([](auto a, auto b) { return a > b; });
    case Predicate::sge:
      return as_signed([](auto a, auto b) { return a >= b; });
    case Predicate::iult:
      return as_unsigned([](auto a, auto b) { return a < b; });
    case Predicate::iule:
      return as_unsigned([](auto a, auto b) { return a <= b; });
    case Predicate::iugt:
      return as_unsigned([](auto a, auto b) { return a > b; });
    default:
      return as_unsigned([](auto a, auto b) { return a >= b; });
  }
}

// Types below a byte: moved to the top of their byte, where they compare as bytes do.
template <DType kType>
void compare_small(const StripArgs& args) {
  constexpr int kShift = 8 - IntTraits<kType>::kBits;
  alignas(64) uint8_t operands[2][kChunk];
  const void* pointers[2] = {operands[0], operands[1]};
  for (int64_t at = 0; at < args.n; at += kChunk) {
    const int64_t n = std::min(kChunk, args.n - at);
    for (int k = 0; k < 2; ++k) {
      const bool one = args.splat_mask >> k & 1;
      const uint8_t* from = static_cast<const uint8_t*>(args.operands[k]) + (one ? 0 : at);
      for (int64_t i = 0; i < (one ? 1 : n); ++i) operands[k][i] = static_cast<uint8_t>(from[i] << kShift);
    }
    compare_int<int8_t>({pointers, args.splat_mask, static_cast<uint8_t*>(args.out) + at, n, args.call});
  }
}

template <class T>
void select(const StripArgs& args) {
  const uint8_t* condition = static_cast<const uint8_t*>(args.operands[0]);
  const T* a = static_cast<const T*>(args.operands[1]);
  const T* b = static_cast<const T*>(args.operands[2]);
  T* out = static_cast<T*>(args.out);
  const int64_t n = args.n;
  if (n <= 0) return;
  const bool splat_a = args.splat_mask & 2, splat_b = args.splat_mask & 4;
  if (args.splat_mask & 1) {
    const T* side = condition[0] ? a : b;
    if (condition[0] ? splat_a : splat_b)
      std::fill_n(out, n, *side);
    else if (side != out)
      std::copy_n(side, n, out);
    return;
  }
  const T x = a[0], y = b[0];
  if (splat_a && splat_b) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) out[i] = condition[i] ? x : y;
  } else if (splat_a) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) out[i] = condition[i] ? x : b[i];
  } else if (splat_b) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) out[i] = condition[i] ? a[i] : y;
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      const T u = a[i], v = b[i];
      out[i] = condition[i] ? u : v;
    }
  }
}

}  // namespace

StripFn compare_strip(OpId op, DType repr) {
  if (op == OpId::cmpi)
    return visit_dtype(Integers{}, repr, []<DType kType>() -> StripFn {
      if constexpr (IntTraits<kType>::kBits < 8)
        return &compare_small<kType>;
      else
        return &compare_int<typename IntTraits<kType>::Signed>;
    });
  if (repr == DType::f32) return &compare_float<float>;
  if (repr == DType::f64) return &compare_float<double>;
  return visit_dtype(NarrowFloats{}, repr, []<DType kType>() -> StripFn { return &compare_narrow_thunk<kType>; });
}

StripFn select_strip(DType repr) {
  switch (storage_bytes(repr)) {
    case 1:
      return &select<uint8_t>;
    case 2:
      return &select<uint16_t>;
    case 4:
      return &select<uint32_t>;
    default:
      return &select<uint64_t>;
  }
}

}  // namespace tilecheck
