// Comparison of a result with what it should be.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/types/host_array.h"

namespace tilecheck {

// What is allowed at element i: naive_factor * (largest error of the naive computation) + atol + rtol * |expected[i]|.
// Values far above the rest (16 times the median) may be wrong in proportion: the error allowed there grows with the
// value, and the naive computation's error there counts in proportion, so that one of them does not excuse the others.
struct CompareRule {
  double atol = 0;
  double rtol = 0;
  // With a naive computation: how many times as wrong as it a result may be. 2 for results, 3 for gradients.
  double naive_factor = 0;
  // Instead of all that: the same bits where the types agree (any NaN equals any other), else the same value.
  bool bit_equal = false;
  // An expected NaN is met only by a NaN. With this, such elements are not compared at all.
  bool skip_expected_nan = false;

  bool operator==(const CompareRule&) const = default;
};

// The floor that goes with a naive computation, or stands alone for elementwise kernels: a few roundings of the
// result's own type. rtol = 4 u, where u = half the distance from 1 to the next number; atol = u * mean |expected|,
// where values count as 16 times the median at most. Integers and bool: bit_equal.
CompareRule default_rule(DType dtype, const HostArray& expected);

// The half-distance u above: 2^-8 for bf16, 2^-24 for f32. 0 for integers.
double unit_roundoff(DType dtype);

struct Comparison {
  int64_t elements = 0;           // of the result
  int64_t compared_elements = 0;  // less the masked ones and skipped NaNs
  int64_t wrong = 0;              // elements beyond what is allowed
  bool nothing_compared = false;  // no element, only zeros or nothing finite on both sides: never a pass
  double max_abs_error = 0;       // infinite when NaN or infinity stands on one side only
  double max_rel_error = 0;       // over elements whose expected value is not zero
  double max_ulp = 0;             // steps between the result and the expected value rounded to the result's type
  double of_allowed = 0;          // the largest error over what is allowed there; above 1: wrong
  Dims worst;                     // index of that element
  double worst_value = 0, worst_expected = 0;
  double naive_error = 0;    // the naive computation's largest error, in proportion where values are large
  double zero_share = 0;     // exact zeros among the result's elements
  int64_t non_finite = 0;    // NaN and infinite elements of the result
  std::vector<int64_t> ulp;  // histogram of the compared elements: 0, <=1, <=2, <=4, ... ulp
  std::string rule;          // "2x naive (3.1e-03) + atol 1e-06 + rtol 1e-05", "bit-equal"

  bool pass() const { return wrong == 0 && !nothing_compared; }
};

// Of equal shapes, else an InputError. expected may have another type: an f64 reference for a bf16 result.
// NaN and infinities as numpy.allclose with equal_nan: they must stand at the same places, infinities with the same
// sign; an expected value that the result's type cannot hold becomes what rounding makes of it, or wraps (integers).
// naive: the same computation in the result's own types, used when rule.naive_factor > 0. valid: elements where it is 0
// are not compared.
Comparison compare(const HostArray& result, const HostArray& expected, const CompareRule& rule,
                   const HostArray* naive = nullptr, const HostArray* valid = nullptr);

// "pass  max error 3.9e-03 = 0.81 of allowed (2x naive ...); worst o[0,5,1311,77]"
std::string to_text(const Comparison& comparison, const std::string& name);
// "0: 95.1%  <=1: 4.8%  <=2: 0.1%", "" when nothing was compared.
std::string ulp_text(const Comparison& comparison);

}  // namespace tilecheck
