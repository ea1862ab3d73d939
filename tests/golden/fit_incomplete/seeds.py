"""A kernel that seeds the chip's random numbers, which are not modelled, and its twin that does not.

Usage: seeds.py      writes seeded.mlir and plain.mlir here; needs jax 0.10.2, no TPU"""

import functools
import os
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["JAX_INCLUDE_FULL_TRACEBACKS_IN_LOCATIONS"] = "0"
os.environ["JAX_HLO_SOURCE_FILE_CANONICALIZATION_REGEX"] = f"{HERE}/"  # file names in payloads are relative

import jax  # noqa: E402
from jax.experimental import pallas as pl  # noqa: E402
from jax.experimental.pallas import tpu as pltpu  # noqa: E402


def double(x_ref, o_ref, *, seeds):
    if seeds:
        pltpu.prng_seed(7)
    o_ref[...] = x_ref[...] * 2


if __name__ == "__main__":
    shape = jax.ShapeDtypeStruct((8, 128), "float32")
    for name, seeds in (("seeded", True), ("plain", False)):
        call = pl.pallas_call(functools.partial(double, seeds=seeds), out_shape=shape, name=name)
        lowered = jax.jit(call).trace(shape).lower(lowering_platforms=("tpu",))
        (HERE / f"{name}.mlir").write_text(lowered.as_text())
