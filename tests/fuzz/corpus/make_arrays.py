"""Makes the corpora npy/ and safetensors/ beside this file (needs numpy and ml_dtypes)."""

import json
import pathlib
import struct

import ml_dtypes
import numpy as np

HERE = pathlib.Path(__file__).parent


def make_npy() -> None:
  out = HERE / "npy"
  out.mkdir(exist_ok=True)
  for name, array in {
      "f32_2x3": np.arange(6, dtype=np.float32).reshape(2, 3),
      "f64_scalar": np.array(1.5),
      "i64_fortran": np.asfortranarray(np.arange(12, dtype=np.int64).reshape(2, 3, 2)),
      "u8_empty": np.zeros((0, 4), np.uint8),
      "bool_7": np.arange(7) % 2 == 0,
      "bf16_1x2x1x2": np.ones((1, 2, 1, 2), ml_dtypes.bfloat16),
      "i4_5": np.arange(-2, 3).astype(ml_dtypes.int4),
      "e5m2_3": np.ones(3, ml_dtypes.float8_e5m2),
  }.items():
    np.save(out / f"{name}.npy", array)
  for version in ((2, 0), (3, 0)):
    with open(out / f"version_{version[0]}.npy", "wb") as file:
      np.lib.format.write_array(file, np.arange(4, dtype=np.int16), version=version)


def make_safetensors() -> None:
  out = HERE / "safetensors"
  out.mkdir(exist_ok=True)
  for name, (header, data_bytes) in {
      "one": ({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}, 8),
      "two": ({
          "__metadata__": {"format": "pt"},
          "b": {"dtype": "BF16", "shape": [1, 2], "data_offsets": [4, 8]},
          "a": {"dtype": "I8", "shape": [2, 2], "data_offsets": [0, 4]},
      }, 8),
      "scalar": ({"a": {"dtype": "BOOL", "shape": [], "data_offsets": [3, 4]}}, 4),
      "empty": ({"a": {"dtype": "U64", "shape": [0, 3], "data_offsets": [0, 0]}}, 0),
  }.items():
    text = json.dumps(header).encode()
    (out / f"{name}.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + bytes(range(data_bytes)))


if __name__ == "__main__":
  make_npy()
  make_safetensors()
