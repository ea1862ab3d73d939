// Tiles from lists of values and back, for the tests of the operations.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "sim/ops/elements.h"
#include "sim/ops/ops.h"
#include "sim/types/error.h"

namespace tilecheck {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInf = std::numeric_limits<double>::infinity();

inline std::ostream& operator<<(std::ostream& out, DType dtype) { return out << name(dtype); }

class OpsTest : public ::testing::Test {
 protected:
  TilePool pool;
  OpContext context{.pool = &pool};

  // A dense tile; values are rounded into the type.
  Tile tile(DType dtype, const Shape& shape, const std::vector<double>& values) {
    Tile result = Tile::dense(context, dtype, shape);
    EXPECT_EQ(static_cast<size_t>(result.size()), values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      const uint64_t element = encode_element(result.repr(), values[i]);
      std::memcpy(result.writable_bytes() + i * static_cast<size_t>(storage_bytes(result.repr())), &element,
                  static_cast<size_t>(storage_bytes(result.repr())));
    }
    return result;
  }
  Tile tile(DType dtype, const std::vector<double>& values) {
    return tile(dtype, {static_cast<int64_t>(values.size())}, values);
  }
  Tile random_tile(DType dtype, const Shape& shape, uint64_t seed, double low = -2, double high = 2) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> distribution(low, high);
    std::vector<double> values(static_cast<size_t>(element_count(shape)));
    for (double& v : values) v = distribution(random);
    return tile(dtype, shape, values);
  }
  // The same tile with these shadow bytes.
  Tile shadowed(Tile tile, const std::vector<int>& shadow) {
    uint8_t* bytes = tile.make_shadow();
    EXPECT_EQ(static_cast<size_t>(tile.size()), shadow.size());
    for (size_t i = 0; i < shadow.size(); ++i) bytes[i] = static_cast<uint8_t>(shadow[i]);
    return tile;
  }
  Tile run(const OpCall& call, std::vector<Tile> operands) { return apply(context, call, operands); }
};

inline std::vector<double> values_of(const Tile& tile) {
  std::vector<double> values;
  for (int64_t i = 0; i < tile.size(); ++i) values.push_back(tile.at(i));
  return values;
}
// The elements' stored bytes, for comparisons bit by bit.
inline std::vector<uint64_t> bits_of(const Tile& tile) {
  std::vector<uint64_t> all;
  for (int64_t i = 0; i < tile.size(); ++i) {
    uint64_t element = 0;
    all.push_back(load_bits(tile.repr(), tile.strip(i, 1, &element)));
  }
  return all;
}
inline std::vector<int> shadow_of(const Tile& tile) {
  if (tile.all_defined()) return std::vector<int>(static_cast<size_t>(tile.size()), 0);
  return {tile.undefined(), tile.undefined() + tile.size()};
}

// Equal, with NaN equal to NaN and -0 unequal to 0.
MATCHER_P(SameValues, expected, "") {
  const std::vector<double> wanted = expected;
  if (arg.size() != wanted.size()) return false;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const double a = arg[i], b = wanted[i];
    if (std::isnan(a) && std::isnan(b)) continue;
    if (a != b || std::signbit(a) != std::signbit(b)) {
      *result_listener << "element " << i << " is " << a << ", expected " << b;
      return false;
    }
  }
  return true;
}

inline std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace tilecheck
