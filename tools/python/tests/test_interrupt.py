"""Ctrl-C ends a kernel that runs for long."""

import signal
import subprocess
import sys
import time

from package import environment

PROGRAM = """
import jax, jax.numpy as jnp, tilecheck
from jax.experimental import pallas as pl

def kernel(x_ref, o_ref):
    o_ref[...] = jnp.sin(x_ref[...])

def call(x):
    spec = pl.BlockSpec((256, 1024), lambda i: (0, 0))
    return pl.pallas_call(kernel, grid=(1_000_000_000,), in_specs=[spec], out_specs=spec, out_shape=jax.ShapeDtypeStruct.like(x))(x)

small = lambda x: pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct.like(x))(x)
x = jnp.ones((256, 1024))
with tilecheck.jax.enable(threads={threads}):
    jax.block_until_ready(jax.jit(small)(x))
    print("started", flush=True)
    try:
        jax.block_until_ready(jax.jit(call)(x))
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    jax.block_until_ready(jax.jit(small)(x + 1))
    print("still works", flush=True)
"""


def interrupted_after(threads):
    process = subprocess.Popen([sys.executable, "-c", PROGRAM.replace("{threads}", str(threads))], env=environment(),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "started\n"
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    begin = time.monotonic()
    out, errors = process.communicate(timeout=60)
    assert "interrupted\nstill works\n" in out, out + errors
    return time.monotonic() - begin


def test_a_long_run_ends():
    assert interrupted_after(threads=1) < 10
    assert interrupted_after(threads=2) < 10
