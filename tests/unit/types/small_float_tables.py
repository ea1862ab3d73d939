"""Prints small_float_tables.inc: what ml_dtypes makes of every small-float encoding, and of a set of f32 values.

Usage: python small_float_tables.py > small_float_tables.inc   (needs numpy and ml_dtypes)
"""

import ml_dtypes
import numpy as np

FORMATS = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz", "float8_e8m0fnu", "float4_e2m1fn"]


def probes() -> np.ndarray:
  """f32 values at, halfway between and around the representable ones of every format, by bit pattern."""
  bits = []
  for exponent in range(0, 256, 1):
    for mantissa in (0, 1, 0x080000, 0x0FFFFF, 0x100000, 0x100001, 0x180000, 0x200000, 0x2FFFFF, 0x300000, 0x300001,
                     0x3FFFFF, 0x400000, 0x400001, 0x500000, 0x580000, 0x600000, 0x680000, 0x700000, 0x780000, 0x7FFFFF):
      # Left out: between 2^-127 and 1.5 * 2^-127 ml_dtypes rounds float8_e8m0fnu up, which is not the nearest.
      if exponent > 0 or not 0x400000 < mantissa < 0x600000:
        bits.append(exponent << 23 | mantissa)
  bits = np.array(bits, np.uint32)
  return np.concatenate([bits, bits | np.uint32(1 << 31)])


def fnv1a(data: bytes) -> int:
  digest = 0xCBF29CE484222325
  for byte in data:
    digest = (digest ^ byte) * 0x100000001B3 % (1 << 64)
  return digest


def main() -> None:
  print(f"// Made by small_float_tables.py with ml_dtypes {ml_dtypes.__version__}; do not edit.")
  for name in FORMATS:
    dtype = np.dtype(getattr(ml_dtypes, name))
    count = 16 if name.startswith("float4") else 256
    decoded = np.arange(count, dtype=np.uint8).view(dtype).astype(np.float32)
    # All NaNs alike: their sign and payload carry no meaning.
    decoded_bits = np.where(np.isnan(decoded), np.uint32(0x7FC00000), decoded.view(np.uint32))
    with np.errstate(all="ignore"):
      encoded = probes().view(np.float32).astype(dtype).view(np.uint8)
    print(f'{{"{name}", {count}, 0x{fnv1a(decoded_bits.astype("<u4").tobytes()):016x}u, '
          f"0x{fnv1a(encoded.tobytes()):016x}u}},")


if __name__ == "__main__":
  main()
