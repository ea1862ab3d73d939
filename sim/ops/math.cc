// Transcendental functions of f32. exp has a kernel of its own in f32; the others are computed in f64 lanes, to about
// 1e-10, and rounded once. Polynomials are Chebyshev fits made with mpmath.chebyfit in 40 digits; the comment beside
// each says of what, where, and how far off it is.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sim/ops/math.cc"
#include <algorithm>
#include <cmath>
#include <cstring>

#include "sim/ops/simd.h"
#include "sim/ops/strips.h"

HWY_BEFORE_NAMESPACE();
namespace tilecheck {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<double>;
using U = hn::RebindToUnsigned<D>;
using V = hn::Vec<D>;
using F = hn::Rebind<float, D>;  // as many floats as there are doubles in a vector
constexpr D d;
constexpr U u;
constexpr F f;

HWY_INLINE V constant(double value) { return hn::Set(d, value); }

// c[0] + c[1] x + ... + c[n-1] x^(n-1)
template <size_t kFrom = 0, size_t kCount>
HWY_INLINE V polynomial(V x, const double (&c)[kCount]) {
  if constexpr (kFrom + 1 == kCount)
    return constant(c[kFrom]);
  else
    return hn::MulAdd(polynomial<kFrom + 1>(x, c), x, constant(c[kFrom]));
}

constexpr double kLn2 = 0x1.62e42fefa39efp-1;
constexpr double kLog2E = 0x1.71547652b82fep+0;
constexpr double kHalfPi = 0x1.921fb54442d18p+0, kHalfPiRest = 0x1.1a62633145c07p-54;
constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
// (e^r - 1 - r) / r^2 on |r| <= ln(2) / 2; 5e-13
constexpr double kExp[] = {0x1.fffffffffe069p-2,  0x1.5555555554f97p-3,  0x1.55555565c559fp-5,  0x1.111111170ad56p-7,
                           0x1.6c166be75a859p-10, 0x1.a019c3721fb3ep-13, 0x1.a136b06babd51p-16, 0x1.72ad3ae3ed777p-19};
// (atanh(s) / s - 1) / s^2 in s^2, |s| <= (sqrt(2) - 1) / (sqrt(2) + 1); 3e-14
constexpr double kAtanh[] = {0x1.55555555553b7p-2, 0x1.9999999b878d7p-3, 0x1.249246299fc8ep-3,
                             0x1.c71fcdfe2f300p-4, 0x1.7382a9fa2e7aep-4, 0x1.546d249f36cb2p-4};
// (sin(r) / r - 1) / r^2 and (cos(r) - 1 + r^2 / 2) / r^4 in r^2, |r| <= pi / 4; 3e-14, 2e-15
constexpr double kSin[] = {-0x1.5555555555161p-3, 0x1.1111110fd1496p-7, -0x1.a019fd95094bep-13, 0x1.71d9a549ac8fbp-19,
                           -0x1.aa262ee715b00p-26};
constexpr double kCos[] = {0x1.5555555555434p-5, -0x1.6c16c16b5fdb7p-10, 0x1.a019ff501e5c1p-16, -0x1.27e25ca05d2bep-22,
                           0x1.1c808728603bbp-29};
// (atan(t) / t - 1) / t^2 in t^2, |t| <= tan(pi / 8); 7e-13
constexpr double kAtan[] = {-0x1.5555555552609p-2, 0x1.999999885a487p-3, -0x1.249240d8e7ec3p-3, 0x1.c719630506900p-4,
                            -0x1.7415ac468f7fcp-4, 0x1.377dbe22276f9p-4, -0x1.edbe74336fe81p-5, 0x1.0df56d70218a7p-5};
// erf(x) / x in x^2, |x| <= 1; 2e-14
constexpr double kErf[] = {0x1.20dd750429b19p+0,  -0x1.812746b0271ecp-2,  0x1.ce2f2197bc2efp-4,  -0x1.b82ce15c3b7f8p-6,
                           0x1.565ba0406c001p-8,  -0x1.c0286cad68e02p-11, 0x1.f941bed7e7847p-14, -0x1.f0705a1dde9aap-17,
                           0x1.9ae0986f9de4fp-20, -0x1.c1a515de8637ap-24};
// erfc(x) exp(x^2) (1 + 2 x) in (x - 3.75) / (x + 3.75), 0 <= x <= 10.2; 3e-10
constexpr double kErfc[] = {0x1.3ccda0b4f179dp+0,  -0x1.1f3676b869315p-3, 0x1.d5f427bca5c52p-9,  0x1.51018a6838c62p-4,
                            -0x1.bdaaf52445347p-4, 0x1.7a10f58344b52p-4,  -0x1.e0a4641734851p-5, 0x1.d1371482f6028p-6,
                            -0x1.43053731ef3f0p-7, 0x1.a2e031c1ac6c4p-10, 0x1.0b60927fcd029p-11};
// cbrt(m), 1 <= m <= 8; 0.02
constexpr double kCbrt[] = {0x1.6ef7d7cd66d8cp-1, 0x1.50ba80e69b747p-2, -0x1.16bdce74d65dbp-5, 0x1.aaa35d014643bp-10};

// 2^n for integral -1022 <= n <= 1023.
HWY_INLINE V power_of_two(V n) {
  return hn::BitCast(d, hn::ShiftLeft<52>(hn::BitCast(u, hn::Add(n, constant(0x1p52 + 1023)))));
}

// NaN stays NaN: min and max return their second operand then.
HWY_INLINE V clamp(V x, double low, double high) { return hn::Max(constant(low), hn::Min(constant(high), x)); }

// e^r - 1 for |r| <= ln(2) / 2.
HWY_INLINE V small_expm1(V r) { return hn::MulAdd(hn::Mul(r, r), polynomial(r, kExp), r); }

HWY_INLINE V exp_of(V x) {
  x = clamp(x, -700, 700);
  const V n = hn::Round(hn::Mul(x, constant(kLog2E)));
  const V scale = power_of_two(n);
  return hn::MulAdd(scale, small_expm1(hn::NegMulAdd(n, constant(kLn2), x)), scale);
}

HWY_INLINE V exp2_of(V x) {
  x = clamp(x, -1000, 1000);
  const V n = hn::Round(x);
  const V scale = power_of_two(n);
  return hn::MulAdd(scale, small_expm1(hn::Mul(hn::Sub(x, n), constant(kLn2))), scale);
}

HWY_INLINE V expm1_of(V x) {
  const V in_range = clamp(x, -700, 700);
  const V n = hn::Round(hn::Mul(in_range, constant(kLog2E)));
  const V scale = power_of_two(n);
  const V small = small_expm1(hn::NegMulAdd(n, constant(kLn2), in_range));
  return hn::CopySign(hn::MulAdd(scale, small, hn::Sub(scale, constant(1))), x);
}

// x = 2^exponent m with m in [sqrt(1/2), sqrt(2)), x positive and normal: log(m).
HWY_INLINE V log_of_mantissa(V x, V& exponent) {
  const auto bits = hn::BitCast(u, x);
  exponent = hn::Sub(hn::BitCast(d, hn::Or(hn::ShiftRight<52>(bits), hn::Set(u, 0x4330000000000000ull))),
                     constant(0x1p52 + 1023));
  V m = hn::BitCast(d, hn::Or(hn::And(bits, hn::Set(u, 0x000fffffffffffffull)), hn::Set(u, 0x3ff0000000000000ull)));
  const auto large = hn::Gt(m, constant(0x1.6a09e667f3bcdp+0));
  m = hn::IfThenElse(large, hn::Mul(m, constant(0.5)), m);
  exponent = hn::IfThenElse(large, hn::Add(exponent, constant(1)), exponent);
  const V s = hn::Div(hn::Sub(m, constant(1)), hn::Add(m, constant(1)));
  const V z = hn::Mul(s, s);
  return hn::Mul(hn::Add(s, s), hn::MulAdd(z, polynomial(z, kAtanh), constant(1)));
}

// What a logarithm is outside (0, inf).
HWY_INLINE V log_edges(V x, V result) {
  result = hn::IfThenElse(hn::Eq(x, constant(0)), constant(-HUGE_VAL), result);
  result = hn::IfThenElse(hn::Eq(x, constant(HUGE_VAL)), x, result);
  result = hn::IfThenElse(hn::Lt(x, constant(0)), constant(__builtin_nan("")), result);
  return hn::IfThenElse(hn::IsNaN(x), x, result);
}

HWY_INLINE V log_of(V x) {
  V exponent;
  const V mantissa = log_of_mantissa(x, exponent);
  return log_edges(x, hn::MulAdd(exponent, constant(kLn2), mantissa));
}

HWY_INLINE V log2_of(V x) {
  V exponent;
  const V mantissa = log_of_mantissa(x, exponent);
  return log_edges(x, hn::MulAdd(mantissa, constant(kLog2E), exponent));
}

HWY_INLINE V log1p_of(V x) {
  const V sum = hn::Add(constant(1), x);
  V exponent;
  const V mantissa = log_of_mantissa(sum, exponent);
  // What 1 + x lost, where it matters.
  const V lost = hn::IfThenElseZero(hn::Lt(hn::Abs(x), constant(0.5)), hn::Sub(x, hn::Sub(sum, constant(1))));
  const V log = hn::Add(hn::MulAdd(exponent, constant(kLn2), mantissa), lost);
  return hn::CopySign(log_edges(sum, log), x);
}

HWY_INLINE V tanh_of(V x) {
  const V e = expm1_of(hn::Min(constant(40), hn::Add(hn::Abs(x), hn::Abs(x))));
  return hn::CopySign(hn::Div(e, hn::Add(e, constant(2))), x);
}

HWY_INLINE V logistic_of(V x) { return hn::Div(constant(1), hn::Add(constant(1), exp_of(hn::Neg(x)))); }

HWY_INLINE V sinh_of(V x) {
  const V e = expm1_of(hn::Abs(x));
  return hn::CopySign(hn::Mul(constant(0.5), hn::Add(e, hn::Div(e, hn::Add(e, constant(1))))), x);
}

HWY_INLINE V cosh_of(V x) {
  const V e = exp_of(hn::Abs(x));
  return hn::Mul(constant(0.5), hn::Add(e, hn::Div(constant(1), e)));
}

// Beyond this the two-part pi / 2 is not long enough: libm does the reduction, lane by lane, so that neighbours do not
// matter.
constexpr double kReducible = 0x1p40;

template <class Scalar>
HWY_INLINE V large_by_libm(V x, V result, Scalar scalar) {
  if (HWY_LIKELY(hn::AllTrue(d, hn::Lt(hn::Abs(x), constant(kReducible))))) return result;
  alignas(64) double from[8], to[8];
  hn::Store(x, d, from);
  hn::Store(result, d, to);
  for (size_t i = 0; i < hn::Lanes(d); ++i)
    if (!(std::fabs(from[i]) < kReducible)) to[i] = scalar(from[i]);
  return hn::Load(d, to);
}

// The quarter turns in x, in the low bits, and sine and cosine of the rest.
struct Turned {
  hn::Vec<U> quarter;
  V sine, cosine;
};
HWY_INLINE Turned turned(V x) {
  const V n = hn::Round(hn::Mul(x, constant(kTwoOverPi)));
  const V r = hn::NegMulAdd(n, constant(kHalfPiRest), hn::NegMulAdd(n, constant(kHalfPi), x));
  const V z = hn::Mul(r, r);
  return {hn::BitCast(u, hn::Add(n, constant(0x1.8p52))), hn::Mul(r, hn::MulAdd(z, polynomial(z, kSin), constant(1))),
          hn::MulAdd(hn::Mul(z, z), polynomial(z, kCos), hn::NegMulAdd(z, constant(0.5), constant(1)))};
}

HWY_INLINE auto has_bit(hn::Vec<U> bits, uint64_t bit) {
  return hn::MaskFromVec(hn::BitCast(d, hn::VecFromMask(u, hn::Ne(hn::And(bits, hn::Set(u, bit)), hn::Zero(u)))));
}

HWY_INLINE V sine_at(const Turned& t) {
  const V value = hn::IfThenElse(has_bit(t.quarter, 1), t.cosine, t.sine);
  return hn::IfThenElse(has_bit(t.quarter, 2), hn::Neg(value), value);
}

HWY_INLINE V keep_zero(V x, V result) { return hn::IfThenElse(hn::Eq(x, constant(0)), x, result); }

HWY_INLINE V sin_of(V x) {
  return large_by_libm(x, keep_zero(x, sine_at(turned(x))), [](double v) { return std::sin(v); });
}

HWY_INLINE V cos_of(V x) {
  Turned t = turned(x);
  t.quarter = hn::Add(t.quarter, hn::Set(u, 1));
  return large_by_libm(x, sine_at(t), [](double v) { return std::cos(v); });
}

HWY_INLINE V tan_of(V x) {
  const Turned t = turned(x);
  const auto odd = has_bit(t.quarter, 1);
  const V value = hn::Div(hn::IfThenElse(odd, hn::Neg(t.cosine), t.sine), hn::IfThenElse(odd, t.sine, t.cosine));
  return large_by_libm(x, keep_zero(x, value), [](double v) { return std::tan(v); });
}

HWY_INLINE V atan2_of(V y, V x) {
  const V ax = hn::Abs(x), ay = hn::Abs(y);
  const V large = hn::Max(ax, ay), small = hn::Min(ax, ay);
  V t = hn::Div(small, large);
  t = hn::IfThenElse(hn::Eq(large, constant(0)), constant(0), t);
  t = hn::IfThenElse(hn::Eq(small, constant(HUGE_VAL)), constant(1), t);
  // atan(t) = pi / 4 + atan((t - 1) / (t + 1))
  const auto upper = hn::Gt(t, constant(0x1.a827999fcef32p-2));
  const V s = hn::IfThenElse(upper, hn::Div(hn::Sub(t, constant(1)), hn::Add(t, constant(1))), t);
  const V z = hn::Mul(s, s);
  V angle = hn::Mul(s, hn::MulAdd(z, polynomial(z, kAtan), constant(1)));
  angle = hn::IfThenElse(upper, hn::Add(angle, constant(kHalfPi / 2)), angle);
  angle = hn::IfThenElse(hn::Gt(ay, ax), hn::Sub(constant(kHalfPi), angle), angle);
  const auto left = hn::MaskFromVec(hn::BitCast(d, hn::BroadcastSignBit(hn::BitCast(hn::RebindToSigned<D>(), x))));
  angle = hn::IfThenElse(left, hn::Sub(constant(2 * kHalfPi), angle), angle);
  angle = hn::IfThenElse(hn::Or(hn::IsNaN(x), hn::IsNaN(y)), hn::Add(x, y), angle);
  return hn::CopySign(angle, y);
}

HWY_INLINE V atan_of(V x) { return atan2_of(x, constant(1)); }
// The cosine of an angle with this sine, and the other way round; NaN outside [-1, 1].
HWY_INLINE V other_side(V x) { return hn::Sqrt(hn::Mul(hn::Sub(constant(1), x), hn::Add(constant(1), x))); }
HWY_INLINE V asin_of(V x) { return atan2_of(x, other_side(x)); }
HWY_INLINE V acos_of(V x) { return atan2_of(other_side(x), x); }

// erfc(x) for x >= 0; 0 from where f32 has nothing left.
HWY_INLINE V upper_erfc(V x) {
  const V in_range = hn::Min(constant(10.2), x);
  const V q = hn::Div(hn::Sub(in_range, constant(3.75)), hn::Add(in_range, constant(3.75)));
  const V scaled = hn::Div(polynomial(q, kErfc), hn::MulAdd(in_range, constant(2), constant(1)));
  return hn::Mul(scaled, exp_of(hn::Neg(hn::Mul(in_range, in_range))));
}

HWY_INLINE V erf_of(V x) {
  const V ax = hn::Abs(x);
  const V small = hn::Mul(x, polynomial(hn::Mul(x, x), kErf));
  const V large = hn::CopySign(hn::Sub(constant(1), upper_erfc(ax)), x);
  return hn::IfThenElse(hn::Lt(ax, constant(1)), small, large);
}

HWY_INLINE V erfc_of(V x) {
  const V ax = hn::Abs(x);
  const V small = hn::NegMulAdd(x, polynomial(hn::Mul(x, x), kErf), constant(1));
  const V upper = upper_erfc(ax);
  const V large = hn::IfThenElse(hn::Lt(x, constant(0)), hn::Sub(constant(2), upper), upper);
  return hn::IfThenElse(hn::Lt(ax, constant(1)), small, large);
}

HWY_INLINE V cbrt_of(V x) {
  const V ax = hn::Abs(x);
  const auto bits = hn::BitCast(u, ax);
  const V exponent = hn::Sub(hn::BitCast(d, hn::Or(hn::ShiftRight<52>(bits), hn::Set(u, 0x4330000000000000ull))),
                             constant(0x1p52 + 1023));
  const V third = hn::Floor(hn::Mul(hn::Add(exponent, constant(0.5)), constant(0x1.5555555555555p-2)));
  const V rest = hn::NegMulAdd(third, constant(3), exponent);  // 0, 1 or 2
  const V mantissa =
      hn::BitCast(d, hn::Or(hn::And(bits, hn::Set(u, 0x000fffffffffffffull)), hn::Set(u, 0x3ff0000000000000ull)));
  const V m = hn::Mul(mantissa, power_of_two(rest));
  V y = polynomial(m, kCbrt);
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {  // Halley: the error is cubed
    const V cube = hn::Mul(y, hn::Mul(y, y));
    y = hn::Mul(y, hn::Div(hn::MulAdd(m, constant(2), cube), hn::MulAdd(cube, constant(2), m)));
  }
  y = hn::Mul(y, power_of_two(third));
  const auto as_is = hn::Or(hn::Eq(x, constant(0)), hn::Not(hn::Lt(ax, constant(HUGE_VAL))));
  return hn::IfThenElse(as_is, x, hn::CopySign(y, x));
}

HWY_INLINE V pow_of(V x, V y) {
  const V ax = hn::Abs(x);
  V t = hn::Mul(y, log2_of(ax));
  t = hn::IfThenElse(hn::And(hn::Eq(ax, constant(1)), hn::Eq(y, y)), constant(0), t);
  V power = exp2_of(t);
  const auto whole = hn::Or(hn::Eq(y, hn::Round(y)), hn::Eq(hn::Abs(y), constant(HUGE_VAL)));
  const V half = hn::Mul(y, constant(0.5));
  const auto odd = hn::And(whole, hn::Ne(half, hn::Floor(half)));
  const auto negative = hn::MaskFromVec(hn::BitCast(d, hn::BroadcastSignBit(hn::BitCast(hn::RebindToSigned<D>(), x))));
  power = hn::IfThenElse(hn::And(negative, odd), hn::Neg(power), power);
  const auto no_root = hn::And(hn::And(hn::Lt(x, constant(0)), hn::Ne(x, constant(-HUGE_VAL))), hn::Not(whole));
  power = hn::IfThenElse(no_root, constant(__builtin_nan("")), power);
  return hn::IfThenElse(hn::Or(hn::Eq(y, constant(0)), hn::Eq(x, constant(1))), constant(1), power);
}

// ---- e^x in f32 lanes

using F32 = hn::ScalableTag<float>;
constexpr F32 f32;

HWY_INLINE hn::Vec<F32> exp_f32(hn::Vec<F32> x) {
  // Beyond, the result is 0 or infinity.
  const auto in_range = hn::Max(hn::Set(f32, -104.0f), hn::Min(hn::Set(f32, 89.0f), x));
  const auto n = hn::Round(hn::Mul(in_range, hn::Set(f32, 0x1.715476p+0f)));
  // ln(2) in two parts: n times the first is exact.
  auto r = hn::NegMulAdd(n, hn::Set(f32, 0x1.62ep-1f), in_range);
  r = hn::NegMulAdd(n, hn::Set(f32, 0x1.0bfbe8p-15f), r);
  // (e^r - 1 - r) / r^2 on |r| <= ln(2) / 2; 7e-8
  auto q = hn::Set(f32, 0x1.6d10fcp-10f);
  q = hn::MulAdd(q, r, hn::Set(f32, 0x1.120b62p-7f));
  q = hn::MulAdd(q, r, hn::Set(f32, 0x1.55551ap-5f));
  q = hn::MulAdd(q, r, hn::Set(f32, 0x1.5554dep-3f));
  q = hn::MulAdd(q, r, hn::Set(f32, 0.5f));
  const auto p = hn::Add(hn::MulAdd(hn::Mul(r, r), q, r), hn::Set(f32, 1.0f));
  // p 2^n, rounded once where it is subnormal.
#if HWY_TARGET == HWY_AVX3
  const hn::Vec<F32> result{_mm512_scalef_ps(p.raw, n.raw)};
#else
  const hn::RebindToSigned<F32> i32;
  const auto whole = hn::ConvertTo(i32, n);
  const auto half = hn::ShiftRight<1>(whole);  // two steps, the first of them exact
  const auto scale = [&](decltype(whole) e)
                         HWY_ATTR { return hn::BitCast(f32, hn::ShiftLeft<23>(hn::Add(e, hn::Set(i32, 127)))); };
  const auto result = hn::Mul(hn::Mul(p, scale(half)), scale(hn::Sub(whole, half)));
#endif
  return hn::IfThenElse(hn::IsNaN(x), x, result);
}

void exp_strip(const StripArgs& args) {
  const float* in = static_cast<const float*>(args.operands[0]);
  float* out = static_cast<float*>(args.out);
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(f32));
  int64_t i = 0;
  if (args.splat_mask & 1) {
    const float value = hn::GetLane(exp_f32(hn::Set(f32, in[0])));
    std::fill_n(out, args.n, value);
    return;
  }
  for (; i + lanes <= args.n; i += lanes) hn::StoreU(exp_f32(hn::LoadU(f32, in + i)), f32, out + i);
  if (i == args.n) return;
  alignas(64) float rest[16] = {};
  std::copy_n(in + i, args.n - i, rest);
  hn::StoreU(exp_f32(hn::LoadU(f32, rest)), f32, rest);
  std::copy_n(rest, args.n - i, out + i);
}

// ---- strips through f64 lanes

template <V (*kFunction)(V)>
void unary_strip(const StripArgs& args) {
  const float* in = static_cast<const float*>(args.operands[0]);
  float* out = static_cast<float*>(args.out);
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto piece = [&](const float* from, float* to) HWY_ATTR {
    hn::StoreU(hn::DemoteTo(f, kFunction(hn::PromoteTo(d, hn::LoadU(f, from)))), f, to);
  };
  alignas(64) float rest[8] = {};
  if (args.splat_mask & 1) {
    rest[0] = in[0];
    piece(rest, rest);
    std::fill_n(out, args.n, rest[0]);
    return;
  }
  int64_t i = 0;
  for (; i + lanes <= args.n; i += lanes) piece(in + i, out + i);
  if (i == args.n) return;
  std::copy_n(in + i, args.n - i, rest);
  piece(rest, rest);
  std::copy_n(rest, args.n - i, out + i);
}

template <V (*kFunction)(V, V)>
void binary_strip(const StripArgs& args) {
  const float* a = static_cast<const float*>(args.operands[0]);
  const float* b = static_cast<const float*>(args.operands[1]);
  float* out = static_cast<float*>(args.out);
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  alignas(64) float left[8], right[8];
  if (args.n > 0 && (args.splat_mask & 1)) std::fill_n(left, 8, a[0]);
  if (args.n > 0 && (args.splat_mask & 2)) std::fill_n(right, 8, b[0]);
  for (int64_t i = 0; i < args.n; i += lanes) {
    const int64_t n = std::min(lanes, args.n - i);
    if (!(args.splat_mask & 1)) std::copy_n(a + i, n, left);
    if (!(args.splat_mask & 2)) std::copy_n(b + i, n, right);
    const V result = kFunction(hn::PromoteTo(d, hn::LoadU(f, left)), hn::PromoteTo(d, hn::LoadU(f, right)));
    alignas(64) float to[8];
    hn::StoreU(hn::DemoteTo(f, result), f, to);
    std::copy_n(to, n, out + i);
  }
}

StripFn math_strip_of(OpId op) {
  switch (op) {
    case OpId::exp:
      return &exp_strip;
    case OpId::exp2:
      return &unary_strip<exp2_of>;
    case OpId::log:
      return &unary_strip<log_of>;
    case OpId::log2:
      return &unary_strip<log2_of>;
    case OpId::log1p:
      return &unary_strip<log1p_of>;
    case OpId::expm1:
      return &unary_strip<expm1_of>;
    case OpId::cbrt:
      return &unary_strip<cbrt_of>;
    case OpId::tanh:
      return &unary_strip<tanh_of>;
    case OpId::sin:
      return &unary_strip<sin_of>;
    case OpId::cos:
      return &unary_strip<cos_of>;
    case OpId::tan:
      return &unary_strip<tan_of>;
    case OpId::asin:
      return &unary_strip<asin_of>;
    case OpId::acos:
      return &unary_strip<acos_of>;
    case OpId::atan:
      return &unary_strip<atan_of>;
    case OpId::sinh:
      return &unary_strip<sinh_of>;
    case OpId::cosh:
      return &unary_strip<cosh_of>;
    case OpId::erf:
      return &unary_strip<erf_of>;
    case OpId::erfc:
      return &unary_strip<erfc_of>;
    case OpId::logistic:
      return &unary_strip<logistic_of>;
    case OpId::powf:
      return &binary_strip<pow_of>;
    case OpId::atan2:
      return &binary_strip<atan2_of>;
    default:
      return nullptr;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tilecheck
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tilecheck {

HWY_EXPORT(math_strip_of);

StripFn math_strip(OpId op) { return HWY_DYNAMIC_DISPATCH(math_strip_of)(op); }

}  // namespace tilecheck
#endif
