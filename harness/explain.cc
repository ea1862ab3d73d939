#include "harness/explain.h"

#include <array>
#include <utility>

namespace tilecheck {
namespace {

// In Pallas, which most readers know; the C++ API has the same words.
constexpr std::pair<Kind, std::string_view> kExamples[] = {
    {Kind::vmem_overflow,
     R"(pl.BlockSpec((4096, 1024), lambda i: (i, 0))      # f32: 16 MiB, twice = 32 MiB     <- over v5e's 16 MiB
pl.BlockSpec((1024, 1024), lambda i: (i, 0))      # 4 MiB, twice = 8 MiB)"},
    {Kind::smem_overflow,
     R"(PrefetchScalarGridSpec(num_scalar_prefetch=1, ...)(table)   # table: i32[1024, 1024] = 4 MiB     <- SMEM has 1 MiB
                                                           # keep it in HBM, copy the row a step needs)"},
    {Kind::block_shape,
     R"(pl.BlockSpec((7, 100), lambda i: (i, 0))          # of a (21, 300) array     <- 7 is no multiple of 8, 100 none of 128
pl.BlockSpec((8, 128), lambda i: (i, 0)))"},
    {Kind::unaligned_slice, R"(x = x_ref[pl.ds(5, 8), :]                         # rows 5..12 straddle two tiles     <-
x = x_ref[pl.ds(pl.multiple_of(i * 8, 8), 8), :])"},
    {Kind::memory_space, R"(x = x_hbm_ref[...]                                # memory_space=pl.ANY: lies in HBM     <-
pltpu.sync_copy(x_hbm_ref, x_vmem_ref); x = x_vmem_ref[...])"},
    {Kind::dtype_unsupported,
     R"(y = jnp.dot(x_fp8, w_fp8)                         # on v5e, whose matrix unit has no fp8     <-
y = jnp.dot(x_fp8.astype(jnp.bfloat16), w_fp8.astype(jnp.bfloat16)))"},
    {Kind::operation_unsupported,
     R"(y = jnp.sort(x_ref[...])                          # no lowering on the vector unit     <-)"},
    {Kind::unsupported_buffering, R"(pl.BlockSpec(..., pipeline_mode=pl.Buffered(3))   # in pallas_call     <-
pl.BlockSpec(..., pipeline_mode=pl.Buffered(2))   # or three inside emit_pipeline)"},
    {Kind::unsupported_window,
     R"(pl.BlockSpec((pl.Element(10, (1, 1)), 128), ...)  # padding where the copy cannot make it     <-)"},
    {Kind::dimension_semantics, R"(grid=(8, 4), dimension_semantics=("arbitrary",)   # one of two axes     <-
grid=(8, 4), dimension_semantics=("parallel", "arbitrary"))"},
    {Kind::internal_scratch,
     R"(y_ref[...] = x_ref[...].T                         # of a block that nearly fills VMEM: the transpose needs room     <-)"},
    {Kind::semaphore_misuse, R"(pl.semaphore_signal(dma_sem, 1)                   # dma_sem: SemaphoreType.DMA     <-
pl.semaphore_signal(sem, 1)                       # sem: SemaphoreType.REGULAR)"},
    {Kind::alias_mismatch,
     R"(input_output_aliases={0: 0}                       # operand f32[8,128], result bf16[8,128]     <-)"},
    {Kind::type_mismatch, R"(arith.addf %x, %y : vector<8x128xf32>             # %y is vector<8x64xf32>     <-)"},
    {Kind::out_of_bounds_read,
     R"(x = x_ref[pl.ds(60, 8), :]                        # x_ref has 64 rows     <- rows 64..67
x = x_ref[pl.ds(56, 8), :])"},
    {Kind::out_of_bounds_write,
     R"(o_ref[pl.ds(60, 8), :] = x                        # o_ref has 64 rows     <- rows 64..67
o_ref[pl.ds(56, 8), :] = x)"},
    {Kind::out_of_bounds_block,
     R"(pl.BlockSpec((256,), lambda i: (i * 256,))        # an element offset     <- block 256 of 4
pl.BlockSpec((256,), lambda i: (i,)))"},
    {Kind::undefined_use,
     R"(@pl.when(count_ref[0] > 0)                        # count_ref: SMEM scratch nobody wrote     <-
@pl.when(i == 0)
def _(): count_ref[0] = 0)"},
    {Kind::undefined_output,
     R"(acc_ref[...] += x                                 # acc_ref: VMEM scratch, never zeroed     <-
@pl.when(k == 0)
def _(): acc_ref[...] = jnp.zeros_like(acc_ref))"},
    {Kind::output_revisited,
     R"(grid=(4, 8), out_specs=BlockSpec(..., lambda k, i: (i, 0))   # block i is left, then entered again     <-
grid=(8, 4), out_specs=BlockSpec(..., lambda i, k: (i, 0))   # k innermost: all visits in a row)"},
    {Kind::parallel_order_dependent,
     R"(dimension_semantics=("parallel",), out_specs=BlockSpec(..., lambda i: (0, 0)); o_ref[...] += x     <-
dimension_semantics=("arbitrary",))"},
    {Kind::index_map_reads_written_smem,
     R"(lambda i, table: (table[i], 0)                    # while the body does table[i + 1] = ...     <-)"},
    {Kind::use_after_scope,
     R"(pl.run_scoped(lambda buf, sem: pltpu.make_async_copy(x, buf, sem).start(), ...)   # no wait in the scope     <-)"},
    {Kind::race, R"(copy.start(); x = buf[...]; copy.wait()           # read while the copy may still write     <-
copy.start(); copy.wait(); x = buf[...])"},
    {Kind::deadlock, R"(pl.semaphore_wait(sem, 1)                         # nobody signals sem     <-)"},
    {Kind::dma_not_awaited, R"(pltpu.make_async_copy(x_ref, o_ref, sem).start()  # and the kernel ends     <-
... .start(); ... .wait())"},
    {Kind::semaphore_not_drained, R"(pl.semaphore_signal(sem, 3); pl.semaphore_wait(sem, 1)   # 2 remain     <-)"},
    {Kind::semaphore_overflow,
     R"(pltpu.SemaphoreType.DMA((1024, 16))               # more than semaphore memory has     <-)"},
    {Kind::wait_without_start, R"(pltpu.make_async_copy(x_ref, o_ref, sem).wait()   # never started     <-)"},
    {Kind::relies_on_message_order,
     R"(two remote copies to one neighbour, one recv_sem, wait for the first's bytes, use the first     <-
one recv_sem for each)"},
    {Kind::collective_mismatch,
     R"(device 0 signals device 1's barrier, device 1 waits for two signals of a 4-device ring     <-)"},
    {Kind::dma_serialized,
     R"(copy(i).start(); copy(i).wait(); work(i)          # the core idles while the copy moves     <-
copy(i + 1).start(); work(i); copy(i + 1).wait())"},
    {Kind::result_mismatch,
     R"(o_ref[...] = acc / l                              # acc was not rescaled when the running maximum grew     <-
acc = acc * jnp.exp(m_old - m_new) + p @ v)"},
    {Kind::non_finite,
     R"(p = jnp.exp(s - m)                                # a fully masked row: s and m are -inf     <- NaN
m = jnp.maximum(m, -1e30))"},
    {Kind::nothing_compared,
     R"(tilecheck run kernel --fill zeros                 # zeros in, zeros out: any kernel passes     <-
tilecheck run kernel --fill random)"},
};

constexpr bool has_every_kind() {
  std::array<int, kKindCount> seen{};
  for (const auto& [kind, text] : kExamples) ++seen[static_cast<size_t>(kind)];
  for (const int n : seen)
    if (n != 1) return false;
  return true;
}
static_assert(has_every_kind(), "one example for each kind");

std::string indented(std::string_view text) {
  std::string out = "  ";
  for (const char c : text) out += c == '\n' ? std::string("\n  ") : std::string(1, c);
  return out + "\n";
}

// Broken into lines of at most 100 columns at spaces.
std::string wrapped(std::string_view text) {
  constexpr size_t kColumns = 100;
  std::string out;
  while (text.size() > kColumns) {
    const size_t space = text.rfind(' ', kColumns);
    if (space == std::string_view::npos) break;
    out.append(text.substr(0, space)).append("\n");
    text.remove_prefix(space + 1);
  }
  return out.append(text);
}

}  // namespace

std::string_view example(Kind kind) {
  for (const auto& [k, text] : kExamples)
    if (k == kind) return text;
  return "";
}

std::string explanation(Kind kind) {
  const KindInfo& k = info(kind);
  std::string out = std::string(k.name) + " (" + std::string(name(k.severity)) + "): " + std::string(k.summary) + "\n";
  out += "\nWhy\n" + indented(wrapped(k.why));
  out += "\nWhat to do\n" + indented(wrapped(k.fix));
  out += "\nExample (wrong lines are marked <-)\n" + indented(example(kind));
  if (k.stops_run) out += "\nThe run stops here: what follows would rest on invented values.\n";
  return out;
}

}  // namespace tilecheck
