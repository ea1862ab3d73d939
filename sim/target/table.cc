// The figures of each chip generation.
//
// Sources: "libtpu 0.0.42.1" figures were measured by compiling ahead of time (limits: the largest need that compiles,
// and the compiler's own messages); "JAX tpu_info" is jax/_src/pallas/mosaic/tpu_info.py of JAX 0.10.2, divided by the
// cores of a chip where it gives a chip's figure.
#include "sim/target/target.h"

namespace tilecheck {
namespace {

constexpr int64_t kKiB = 1024;
constexpr int64_t kMiB = 1024 * kKiB;

constexpr FigureInfo kFigures[] = {
    {"generation", Unit::count, 2, 8, "generation number; rules that changed with one ask for it"},
    {"cores", Unit::count, 1, 64, "TensorCores of a chip"},
    {"vmem_bytes", Unit::bytes, 64 * kKiB, int64_t{1} << 40, "largest single VMEM allocation"},
    {"vmem_usable_bytes", Unit::bytes, 64 * kKiB, int64_t{1} << 40, "largest need that compiles under any limit"},
    {"vmem_default_limit_bytes", Unit::bytes, 64 * kKiB, int64_t{1} << 40, "limit of a kernel that sets none"},
    {"smem_bytes", Unit::bytes, kKiB, int64_t{1} << 32, "scalar memory"},
    {"smem_reserved_bytes", Unit::bytes, 0, int64_t{1} << 32, "scalar memory kept by the compiler"},
    {"semaphore_memory_bytes", Unit::bytes, 64, int64_t{1} << 32, "semaphore memory (sflag)"},
    {"semaphore_bytes", Unit::bytes, 1, 4096, "one semaphore"},
    {"semaphore_reserved_bytes", Unit::bytes, 0, int64_t{1} << 32, "semaphore memory kept by the compiler"},
    {"lanes", Unit::count, 8, 4096, "lanes of a vector register"},
    {"sublanes", Unit::count, 1, 256, "sublanes of a vector register"},
    {"vector_registers", Unit::count, 8, 65536, "vector registers"},
    {"spill_free_registers", Unit::count, 0, 65536, "registers' worth of values live across a barrier without a spill"},
    {"mxu_size", Unit::count, 8, 65536, "rows and columns of one matrix unit"},
    {"mxus", Unit::count, 1, 1024, "matrix units of a core"},
    {"clock_hz", Unit::hertz, 1'000'000, 100'000'000'000, "core clock"},
    {"hbm_bytes", Unit::bytes, kMiB, int64_t{1} << 50, "HBM of a core"},
    {"hbm_bytes_per_second", Unit::bytes_per_second, 1'000'000, int64_t{1} << 60, "HBM bandwidth of a core"},
    {"matmul_bf16_per_second", Unit::operations_per_second, 1'000'000, int64_t{1} << 62,
     "bf16 (and default f32) matmul"},
    {"matmul_int8_per_second", Unit::operations_per_second, 0, int64_t{1} << 62, "int8 matmul; 0: none"},
    {"matmul_fp8_per_second", Unit::operations_per_second, 0, int64_t{1} << 62, "fp8 matmul; 0: none"},
    {"matmul_int4_per_second", Unit::operations_per_second, 0, int64_t{1} << 62, "int4 matmul; 0: none"},
};
static_assert(std::size(kFigures) == kFigureCount);

constexpr const char* kJax = "JAX 0.10.2 tpu_info";
constexpr const char* kMeasured = "libtpu 0.0.42.1, measured";
constexpr const char* kMessage = "libtpu 0.0.42.1, its messages";
constexpr const char* kRoofline = "libtpu 0.0.42.1, its cost model";
constexpr const char* kClock = "libtpu 0.0.42.1: its matmul rate over its operations per cycle";
constexpr const char* kAsV3 = "not measured; as v3";
constexpr const char* kAsV4 = "not measured; as v4";
constexpr const char* kAsV5e = "not measured; as v5e";
constexpr const char* kPublished = "Jouppi et al., CACM 63(7), 2020";

using F = Figure;

std::vector<Target> make_targets() {
  using enum DType;
  std::vector<Target> t;
  const std::vector<DType> only_f32 = {f32}, f32_bf16 = {f32, bf16};
  const std::vector<DType> since_v5 = {f32, bf16, i8, u8, f8e4m3fn, f8e5m2, f8e4m3b11fnuz, i4, u4};
  t.push_back({"v2",
               {"TPU v2"},
               {{
                   F{2, kJax, ""},
                   F{2, kJax, ""},
                   F{16 * kMiB, kMeasured, ""},
                   F{16 * kMiB, kMeasured, ""},
                   F{16 * kMiB, kMeasured, ""},
                   F{16 * kKiB, kMessage, ""},
                   F{144, kAsV4, ""},
                   F{1024, kMessage, ""},
                   F{4, kAsV4, ""},
                   F{896, kMeasured, ""},
                   F{128, kJax, ""},
                   F{8, kJax, ""},
                   F{64, kAsV4, ""},
                   F{16, kAsV3, ""},
                   F{128, kJax, ""},
                   F{1, kJax, ""},
                   F{700'000'000, kPublished, ""},
                   F{8'000'000'000, kJax, ""},
                   F{358'000'000'000, kJax, ""},
                   F{23'000'000'000'000, kJax, ""},
                   F{0, kJax, ""},
                   F{0, kJax, ""},
                   F{0, kJax, ""},
               }},
               only_f32,
               only_f32,
               "libtpu 0.0.42.1 rejects a bf16 right-hand side; JAX 0.10.2 tpu_info"});
  t.push_back({"v3",
               {"TPU v3"},
               {{
                   F{3, kJax, ""},
                   F{2, kJax, ""},
                   F{16 * kMiB, kMeasured, ""},
                   F{16 * kMiB, kMeasured, ""},
                   F{16 * kMiB, kMeasured, ""},
                   F{16 * kKiB, kMessage, ""},
                   F{144, kAsV4, ""},
                   F{1024, kMessage, ""},
                   F{4, kAsV4, ""},
                   F{896, kMeasured, ""},
                   F{128, kJax, ""},
                   F{8, kJax, ""},
                   F{64, kAsV4, ""},
                   F{16, kMeasured, ""},
                   F{128, kJax, ""},
                   F{2, kJax, ""},
                   F{940'000'000, kPublished, "JAX's matmul rate over 65536 operations a cycle gives 1.07 GHz"},
                   F{17'200'000'000, kJax, ""},
                   F{412'500'000'000, kJax, ""},
                   F{70'000'000'000'000, kJax, "Jouppi et al.: 61.5e12 (123e12 a chip)"},
                   F{0, kJax, ""},
                   F{0, kJax, ""},
                   F{0, kJax, ""},
               }},
               only_f32,
               only_f32,
               "libtpu 0.0.42.1 rejects a bf16 right-hand side; JAX 0.10.2 tpu_info"});
  t.push_back({"v4",
               {"TPU v4"},
               {{
                   F{4, kJax, ""},
                   F{2, kJax, ""},
                   F{16 * kMiB, kMeasured, ""},
                   F{16 * kMiB, kMeasured, ""},
                   F{16 * kMiB, kMeasured, ""},
                   F{kMiB, kMessage, ""},
                   F{144, kMeasured, ""},
                   F{2048, kMessage, ""},
                   F{4, kMessage, ""},
                   F{320, kMeasured, ""},
                   F{128, kJax, ""},
                   F{8, kJax, ""},
                   F{64, kMeasured, ""},
                   F{17, kMeasured, ""},
                   F{128, kJax, ""},
                   F{4, kJax, ""},
                   F{1'045'000'000, kClock, "Jouppi et al., ISCA 2023: 1.05 GHz"},
                   F{17'200'000'000, kJax, ""},
                   F{491'000'000'000, kRoofline, "JAX tpu_info: 615e9"},
                   F{137'000'000'000'000, kRoofline, ""},
                   F{0, kJax, ""},
                   F{0, kJax, ""},
                   F{0, kJax, ""},
               }},
               f32_bf16,
               f32_bf16,
               "libtpu 0.0.42.1 rejects i8, fp8 and i4; JAX tpu_info also lists an i8 right-hand side"});
  t.push_back({"v5e",
               {"TPU v5 lite", "TPU v5e"},
               {{
                   F{5, kJax, ""},
                   F{1, kJax, ""},
                   F{128 * kMiB, kMeasured, ""},
                   F{128 * kMiB, kMeasured, ""},
                   F{16 * kMiB, kMeasured, ""},
                   F{kMiB, kMessage, ""},
                   F{1920, kMeasured, ""},
                   F{2048, kMessage, ""},
                   F{4, kMessage, ""},
                   F{288, kMeasured, ""},
                   F{128, kJax, ""},
                   F{8, kJax, ""},
                   F{64, kMeasured, ""},
                   F{52, kMeasured, ""},
                   F{128, kJax, ""},
                   F{4, kJax, ""},
                   F{1'503'000'000, kClock, ""},
                   F{17'200'000'000, kJax, ""},
                   F{737'700'000'000, kRoofline, "JAX tpu_info: 820e9"},
                   F{197'000'000'000'000, kRoofline, ""},
                   F{394'000'000'000'000, kJax, ""},
                   F{0, kJax, ""},
                   F{788'000'000'000'000, kJax, ""},
               }},
               since_v5,
               {f32, bf16, i8, u8, f8e5m2, f8e4m3b11fnuz, i4, u4},
               "libtpu 0.0.42.1 accepts i8, fp8 and i4; JAX 0.10.2 tpu_info for what needs no conversion"});
  t.push_back({"v5p",
               {"TPU v5", "TPU v5p"},
               {{
                   F{5, kJax, ""},
                   F{2, kJax, ""},
                   F{64 * kMiB, kMessage, ""},
                   F{64 * kMiB - 64 * kKiB, kMeasured, "JAX tpu_info and libtpu's allocation message: 67108864"},
                   F{16 * kMiB, kMeasured, ""},
                   F{kMiB, kMessage, ""},
                   F{1920, kAsV5e, ""},
                   F{2048, kMessage, ""},
                   F{4, kMessage, ""},
                   F{312, kMeasured, ""},
                   F{128, kJax, ""},
                   F{8, kJax, ""},
                   F{64, kMeasured, ""},
                   F{52, kMeasured, ""},
                   F{128, kJax, ""},
                   F{4, kJax, ""},
                   F{1'503'000'000, kClock, "JAX's matmul rate over 131072 operations a cycle gives 1.75 GHz"},
                   F{51'500'000'000, kJax, ""},
                   F{1'175'000'000'000, kRoofline, "JAX tpu_info: 1230e9"},
                   F{197'000'000'000'000, kRoofline, "JAX tpu_info: 229.5e12"},
                   F{394'000'000'000'000, "libtpu 0.0.42.1: twice its bf16 rate, measured", "JAX tpu_info: 459e12"},
                   F{0, kJax, ""},
                   F{920'000'000'000'000, kJax, ""},
               }},
               since_v5,
               {f32, bf16, i8, u8, f8e5m2, f8e4m3b11fnuz, i4, u4},
               "as v5e; JAX 0.10.2 tpu_info for what needs no conversion"});
  t.push_back({"v6e",
               {"TPU v6 lite", "TPU v6e"},
               {{
                   F{6, kJax, ""},
                   F{1, kJax, ""},
                   F{128 * kMiB, kMessage, ""},
                   F{128 * kMiB - 64 * kKiB, kMeasured, "JAX tpu_info and libtpu's allocation message: 134217728"},
                   F{32 * kMiB, kMeasured, ""},
                   F{kMiB, kMessage, ""},
                   F{1920, kMeasured, ""},
                   F{2048, kMessage, ""},
                   F{4, kMessage, ""},
                   F{296, kMeasured, ""},
                   F{128, kJax, ""},
                   F{8, kJax, ""},
                   F{64, kMeasured, ""},
                   F{52, kMeasured, ""},
                   F{256, kJax, ""},
                   F{2, kJax, "libtpu's 524288 operations a cycle are those of four"},
                   F{1'751'000'000, kClock, ""},
                   F{34'400'000'000, kJax, ""},
                   F{1'638'000'000'000, kRoofline, "JAX tpu_info: 1640e9"},
                   F{918'000'000'000'000, kRoofline, "JAX tpu_info: 920e12"},
                   F{1'840'000'000'000'000, kJax, ""},
                   F{920'000'000'000'000, kJax, ""},
                   F{3'680'000'000'000'000, kJax, "libtpu 0.0.42.1 has no figure"},
               }},
               since_v5,
               {f32, bf16, i8, u8, f8e5m2, f8e4m3b11fnuz, i4, u4},
               "libtpu 0.0.42.1 accepts i8, fp8 and i4; JAX 0.10.2 tpu_info for what needs no conversion"});
  t.push_back({"v7x",
               {"TPU7x", "TPU7", "tpu7x", "7x"},
               {{
                   F{7, kJax, ""},
                   F{2, kJax, ""},
                   F{64 * kMiB, kMeasured, ""},
                   F{64 * kMiB, kMeasured, ""},
                   F{32 * kMiB, kMeasured, ""},
                   F{kMiB, kMessage, ""},
                   F{1936, kMeasured, ""},
                   F{16384, kMessage, ""},
                   F{4, kMessage, ""},
                   F{4384, kMeasured, "3900 semaphores do not compile, 3000 do"},
                   F{128, kJax, ""},
                   F{8, kJax, ""},
                   F{64, kMeasured, ""},
                   F{52, kMeasured, ""},
                   F{256, kJax, ""},
                   F{2, kJax, "libtpu's 524288 operations a cycle are those of four"},
                   F{1'900'000'000, kClock, "JAX's matmul rate over 524288 operations a cycle gives 2.20 GHz"},
                   F{103'000'000'000, kJax, ""},
                   F{3'686'000'000'000, kRoofline, "JAX tpu_info: 3700e9"},
                   F{996'000'000'000'000, kRoofline, "JAX tpu_info: 1155e12"},
                   F{0, kJax, "libtpu 0.0.42.1 unpacks to bf16: bf16's rate"},
                   F{2'300'000'000'000'000, kJax, ""},
                   F{0, kJax, ""},
               }},
               {f32, bf16, i8, u8, f8e4m3fn, f8e5m2, f8e4m3b11fnuz, i4, u4},
               {f32, bf16, f8e5m2, f8e4m3fn},
               "libtpu 0.0.42.1 accepts i8, fp8 and i4; JAX 0.10.2 tpu_info for what needs no conversion"});
  return t;
}

}  // namespace

const FigureInfo& info(FigureId id) { return kFigures[static_cast<size_t>(id)]; }

std::span<const Target> targets() {
  static const std::vector<Target> table = make_targets();
  return table;
}

}  // namespace tilecheck
