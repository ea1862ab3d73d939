// The MLIR bytecode container as a Mosaic payload uses it: numbers shared by reader and writer.
// Source: MLIR's bytecode format description, checked against payloads of MLIR 18 to 24.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tilecheck::mosaic::bytecode {

inline constexpr std::array<uint8_t, 4> kMagic{0x4d, 0x4c, 0xef, 0x52};  // "MLïR"
inline constexpr int kNewestVersion = 6;

// Larger payloads are refused. Reading one takes at most kMaxMemoryFactor times its size, plus 1 MiB.
inline constexpr size_t kMaxPayloadBytes = size_t{16} << 20;
inline constexpr size_t kMaxMemoryFactor = 128;
inline constexpr int kMaxRegionDepth = 256;  // regions within regions
inline constexpr int kMaxAttrDepth = 64;     // attributes and types within each other
// Attributes share their parts, so a few bytes can spell out to a text without end. Counted are attributes, types,
// numbers of arrays, and 16 characters of text as one.
inline constexpr uint64_t kMaxAttrParts = 1 << 14;

enum Section : uint8_t {
  kStrings,
  kDialects,
  kAttrTypeData,
  kAttrTypeOffsets,
  kIr,
  kResources,
  kResourceOffsets,
  kDialectVersions,
  kProperties,
  kSectionCount
};

// From which container version on something is there.
inline constexpr int kSinceDialectVersions = 1;
inline constexpr int kSinceLazyRegions = 2;
inline constexpr int kSinceUseLists = 3;
inline constexpr int kSinceElidedArgLocs = 4;
inline constexpr int kSinceProperties = 5;

enum OpMask : uint8_t {
  kHasAttrs = 1,
  kHasResults = 2,
  kHasOperands = 4,
  kHasSuccessors = 8,
  kHasRegions = 16,
  kHasUseLists = 32,
  kHasProperties = 64
};

// The builtin dialect's own encodings.
enum AttrCode : uint64_t {
  kArray = 0,
  kDict = 1,
  kString = 2,
  kStringWithType = 3,
  kFlatSymbol = 4,
  kSymbol = 5,
  kType = 6,
  kUnit = 7,
  kInteger = 8,
  kFloat = 9,
  kCallSiteLoc = 10,
  kFileLineColLoc = 11,
  kFusedLoc = 12,
  kFusedLocWithMetadata = 13,
  kNameLoc = 14,
  kUnknownLoc = 15,
  kDenseResource = 16,
  kDenseArray = 17,
  kDenseElements = 18,
  kDenseStrings = 19,
  kSparseElements = 20,
  kDistinct = 21,
  kFileLineColRange = 22,
  kAffineMap = 23,
};
enum TypeCode : uint64_t {
  kIntegerType = 0,
  kIndexType = 1,
  kFunctionType = 2,
  kBf16 = 3,
  kF16 = 4,
  kF32 = 5,
  kF64 = 6,
  kF80 = 7,
  kF128 = 8,
  kComplex = 9,
  kMemref = 10,
  kMemrefWithSpace = 11,
  kNone = 12,
  kTensor = 13,
  kTensorWithEncoding = 14,
  kTuple = 15,
  kVector = 19,
  kScalableVector = 20,
  kTf32 = 21,
  kF8E5M2 = 22,
  kF8E4M3 = 23,
  kF8E4M3FN = 24,
  kF8E5M2FNUZ = 25,
  kF8E4M3FNUZ = 26,
  kF8E4M3B11FNUZ = 27,
  kF8E3M4 = 28,
  kF4E2M1FN = 29,
  kF6E2M3FN = 30,
  kF6E3M2FN = 31,
  kF8E8M0FNU = 32,
};

}  // namespace tilecheck::mosaic::bytecode
