// double_buffered_copy: a matrix in HBM is brought to VMEM, worked on and written back, block by block, by hand-made
// copies.
#pragma once

#include "harness/kernel.h"

namespace tilecheck {

struct DoubleBufferedCopy {
  explicit DoubleBufferedCopy(const ParamValues& values);

  DType dtype;
  int64_t rows, columns, block_rows, slots;

  int64_t blocks() const { return (rows + block_rows - 1) / block_rows; }
};

// What a body works on: the arrays, two rings of slots, and one DMA semaphore per slot.
struct DoubleBufferedCopyRefs {
  DoubleBufferedCopyRefs(const DoubleBufferedCopy& p, std::span<const Ref> refs);

  // Block i of x and y, and where it stands in VMEM: as many rows as exist.
  Ref x_block(int64_t i) const { return x({ds(i * p.block_rows, rows_of(i))}); }
  Ref y_block(int64_t i) const { return y({ds(i * p.block_rows, rows_of(i))}); }
  Ref x_slot(int64_t i) const { return x_slots({i % p.slots, ds(0, rows_of(i))}); }
  Ref y_slot(int64_t i) const { return y_slots({i % p.slots, ds(0, rows_of(i))}); }
  Ref loaded(int64_t i) const { return x_done({i % p.slots}); }
  Ref stored(int64_t i) const { return y_done({i % p.slots}); }

  DoubleBufferedCopy p;
  Ref x, y, x_slots, y_slots, x_done, y_done;

 private:
  int64_t rows_of(int64_t i) const { return std::min(p.block_rows, p.rows - i * p.block_rows); }
};

KernelCase double_buffered_copy_case(const DoubleBufferedCopy& p);

}  // namespace tilecheck
