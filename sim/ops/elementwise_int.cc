// Integer and boolean operations. Nothing traps (machine rule 25); signedness is the operation's, not the type's.
#include <array>
#include <bit>
#include <type_traits>

#include "sim/ops/strips.h"

namespace tilecheck {
namespace {

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 UInt128;

// Holds a product. Not wider than need be: gcc 12 vectorises a 16-bit high product in 64 bits wrongly.
template <class U>
using WideOf = std::conditional_t<sizeof(U) == 4, uint64_t, uint32_t>;

// a / b rounded to zero; -1 for b = 0, and a for the one quotient that does not fit. Up to 32 bits in f64, which
// vectors can divide: the quotient is exact enough, since it differs from a whole number by at least 1 / b.
template <class T>
T divide(T a, T b) {
  if constexpr (std::is_signed_v<T> && sizeof(T) == 4) {
    const T safe = b == 0 || b == -1 ? 1 : b;
    const T quotient = static_cast<T>(static_cast<double>(a) / static_cast<double>(safe));
    return b == 0 ? -1 : b == -1 ? static_cast<T>(0 - static_cast<uint32_t>(a)) : quotient;
  }
  if (b == 0) return static_cast<T>(-1);
  if constexpr (std::is_signed_v<T>)
    if (b == -1) return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(a));
  return static_cast<T>(a / b);
}

template <class T>
T remainder(T a, T b) {
  if constexpr (std::is_signed_v<T> && sizeof(T) == 4) {
    const T product = static_cast<T>(static_cast<uint32_t>(divide(a, b)) * static_cast<uint32_t>(b));
    return b == 0 ? a : static_cast<T>(static_cast<uint32_t>(a) - static_cast<uint32_t>(product));
  }
  if (b == 0) return a;
  if constexpr (std::is_signed_v<T>)
    if (b == -1) return 0;
  return static_cast<T>(a % b);
}

template <OpId kOp, class Traits>
struct Binary {
  using S = typename Traits::Signed;
  using U = typename Traits::Unsigned;
  static constexpr int kBits = Traits::kBits;
  static constexpr bool kUnsigned = kOp == OpId::divui || kOp == OpId::remui || kOp == OpId::maxui ||
                                    kOp == OpId::minui || kOp == OpId::shrui || kOp == OpId::mului_high;
  static S apply(S stored_a, S stored_b) {
    if constexpr (kUnsigned)
      return Traits::write(
          static_cast<S>(of_unsigned(Traits::read_unsigned(stored_a), Traits::read_unsigned(stored_b))));
    else
      return Traits::write(of_signed(Traits::read_signed(stored_a), Traits::read_signed(stored_b)));
  }
  static U of_unsigned(U a, U b) {
    if constexpr (kOp == OpId::divui) return divide(a, b);
    if constexpr (kOp == OpId::remui) return remainder(a, b);
    if constexpr (kOp == OpId::maxui) return a > b ? a : b;
    if constexpr (kOp == OpId::minui) return a < b ? a : b;
    if constexpr (kOp == OpId::shrui)
      return b < static_cast<U>(kBits) ? static_cast<U>(a >> (b & (8 * sizeof(U) - 1))) : U{0};
    if constexpr (kOp == OpId::mului_high) {
      if constexpr (sizeof(U) == 8)
        return static_cast<U>(static_cast<UInt128>(a) * b >> 64);
      else
        return static_cast<U>(WideOf<U>{a} * b >> kBits);
    }
  }
  static S of_signed(S a, S b) {
    const U ua = static_cast<U>(a), ub = static_cast<U>(b);
    if constexpr (kOp == OpId::addi) return static_cast<S>(ua + ub);
    if constexpr (kOp == OpId::subi) return static_cast<S>(ua - ub);
    if constexpr (kOp == OpId::muli) return static_cast<S>(static_cast<std::common_type_t<U, unsigned>>(ua) * ub);
    if constexpr (kOp == OpId::divsi) return divide(a, b);
    if constexpr (kOp == OpId::remsi) return remainder(a, b);
    if constexpr (kOp == OpId::floordivsi || kOp == OpId::ceildivsi) {
      const S quotient = divide(a, b);
      if (b == 0 || remainder(a, b) == 0) return quotient;
      const bool negative = (a < 0) != (b < 0);
      if constexpr (kOp == OpId::floordivsi)
        return static_cast<S>(quotient - (negative ? 1 : 0));
      else
        return static_cast<S>(quotient + (negative ? 0 : 1));
    }
    if constexpr (kOp == OpId::maxsi) return a > b ? a : b;
    if constexpr (kOp == OpId::minsi) return a < b ? a : b;
    if constexpr (kOp == OpId::andi) return static_cast<S>(ua & ub);
    if constexpr (kOp == OpId::ori) return static_cast<S>(ua | ub);
    if constexpr (kOp == OpId::xori) return static_cast<S>(ua ^ ub);
    // Shift amounts are unsigned numbers of kBits bits: a negative one is out of range.
    const U amount = Traits::read_unsigned(b);
    const int shift = static_cast<int>(amount & (8 * sizeof(U) - 1));
    const bool in_range = amount < static_cast<U>(kBits);
    if constexpr (kOp == OpId::shli) return in_range ? static_cast<S>(static_cast<U>(ua << shift)) : S{0};
    if constexpr (kOp == OpId::shrsi) return in_range ? static_cast<S>(a >> shift) : static_cast<S>(a < 0 ? -1 : 0);
    if constexpr (kOp == OpId::mulsi_high) {
      if constexpr (sizeof(S) == 8)
        return static_cast<S>(static_cast<Int128>(a) * b >> 64);
      else
        return static_cast<S>(static_cast<std::make_signed_t<WideOf<U>>>(a) * b >> kBits);
    }
  }
};

template <OpId kOp, class Traits>
typename Traits::Signed unary(typename Traits::Signed stored) {
  using S = typename Traits::Signed;
  using U = typename Traits::Unsigned;
  constexpr int kSpare = static_cast<int>(8 * sizeof(U)) - Traits::kBits;
  const U bits = Traits::read_unsigned(stored);
  if constexpr (kOp == OpId::absi) {
    const S value = Traits::read_signed(stored);
    return Traits::write(value < 0 ? static_cast<S>(0 - static_cast<U>(value)) : value);
  }
  if constexpr (kOp == OpId::ctlz) return Traits::write(static_cast<S>(std::countl_zero(bits) - kSpare));
  if constexpr (kOp == OpId::ctpop) return Traits::write(static_cast<S>(std::popcount(bits)));
  if constexpr (kOp == OpId::cttz)
    return Traits::write(static_cast<S>(bits == 0 ? Traits::kBits : std::countr_zero(bits)));
}

constexpr bool is_unary(OpId op) {
  return op == OpId::absi || op == OpId::ctlz || op == OpId::ctpop || op == OpId::cttz;
}

template <OpId kOp, class Traits>
void strip(const StripArgs& args) {
  using S = typename Traits::Signed;
  if constexpr (is_unary(kOp))
    map_unary<S, S>(args, [](S x) { return unary<kOp, Traits>(x); });
  else
    map_binary<S, S>(args, [](S a, S b) { return Binary<kOp, Traits>::apply(a, b); });
}

// Types below a byte: one loop for all, an element function each.
using ElementFn = int8_t (*)(int8_t a, int8_t b);

void small_strip(const StripArgs& args, ElementFn fn, bool two) {
  const int8_t* a = static_cast<const int8_t*>(args.operands[0]);
  const int8_t* b = static_cast<const int8_t*>(args.operands[two ? 1 : 0]);
  int8_t* out = static_cast<int8_t*>(args.out);
  const int64_t a_step = args.splat_mask & 1 ? 0 : 1, b_step = args.splat_mask & (two ? 2 : 1) ? 0 : 1;
  for (int64_t i = 0; i < args.n; ++i) out[i] = fn(a[i * a_step], b[i * b_step]);
}

template <OpId kOp, class Traits>
int8_t small_element(int8_t a, int8_t b) {
  if constexpr (is_unary(kOp))
    return unary<kOp, Traits>(a);
  else
    return Binary<kOp, Traits>::apply(a, b);
}

template <OpId kOp, class Traits>
void small_thunk(const StripArgs& args) {
  small_strip(args, &small_element<kOp, Traits>, !is_unary(kOp));
}

constexpr size_t kFirst = static_cast<size_t>(OpId::addi);
constexpr size_t kCount = static_cast<size_t>(OpId::mului_high) + 1 - kFirst;

template <class Traits, size_t... kOps>
constexpr std::array<StripFn, kCount> table(std::index_sequence<kOps...>) {
  if constexpr (Traits::kBits >= 8)
    return {&strip<static_cast<OpId>(kOps + kFirst), Traits>...};
  else
    return {&small_thunk<static_cast<OpId>(kOps + kFirst), Traits>...};
}
template <DType kType>
constexpr std::array<StripFn, kCount> kTable = table<IntTraits<kType>>(std::make_index_sequence<kCount>());

}  // namespace

StripFn int_strip(OpId op, DType repr) {
  const size_t i = static_cast<size_t>(op) - kFirst;
  if (i >= kCount) return nullptr;
  using Tables =
      DTypeList<DType::i64, DType::i32, DType::i16, DType::i8, DType::i4, DType::i2, DType::u4, DType::u2, DType::b1>;
  return visit_dtype(Tables{}, signless(repr), [i]<DType kType>() { return kTable<kType>[i]; });
}

}  // namespace tilecheck
