"""The kernels of against_jax.py end to end from Python: one jitted call through the JAX door, all checks on, beside JAX's own
interpreters and the same mathematics as jitted jnp, all warm, in one run. Then what one call of a tiny kernel costs.

    python tests/benchmark/python_door.py [--seconds N]      (a Python with JAX and tilecheck; PYTHONPATH and TILECHECK_LIBRARY do too)
"""
import argparse
import time

import against_jax
import jax
import jax.numpy as jnp
import numpy as np
import tilecheck
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def through_tilecheck(kernel, threads, arrays, seconds):
    with tilecheck.jax.enable(threads=threads):
        return against_jax.best_ms(jax.jit(lambda *a: kernel(*a)), *arrays, budget_s=seconds)


def tiny_call_us(calls=2000):
    """The best of five rows of calls of a kernel over 8 x 128, less what a jitted addition costs."""
    def body(x_ref, o_ref):
        o_ref[...] = x_ref[...] + 1

    def row(function):
        function(x).block_until_ready()
        begin = time.perf_counter()
        for _ in range(calls):
            result = function(x)
        result.block_until_ready()
        return (time.perf_counter() - begin) / calls * 1e6

    x = jnp.zeros((8, 128))
    with tilecheck.jax.enable(threads=1):
        before = tilecheck.jax.cache_stats()["misses"]
        function = jax.jit(pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct.like(x)))
        kernel = min(row(function) for _ in range(5))
        decoded = tilecheck.jax.cache_stats()["misses"] - before
    return kernel, min(row(jax.jit(lambda x: x + 1)) for _ in range(5)), decoded


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=4, help="for each figure")
    seconds = parser.parse_args().seconds
    columns = ["1 thread", "2 threads", "TPU interpret", "HLO interpret", "jitted jnp"]
    print(f"{'ms; ratio to 2 threads':34}" + "".join(f"{c:>18}" for c in columns))
    numbers = np.random.default_rng(0)
    for name, kernel, plain, shapes in against_jax.cases():
        arrays = [jnp.asarray(numbers.standard_normal(shape), dtype) for shape, dtype in shapes]
        times = [through_tilecheck(kernel, threads, arrays, seconds) for threads in (1, 2)]
        for how in (pltpu.InterpretParams(), True):
            times.append(against_jax.best_ms(against_jax.interpreted(kernel, how), *arrays, budget_s=seconds))
        times.append(against_jax.best_ms(jax.jit(plain), *arrays, budget_s=seconds))
        print(f"{name:34}" + "".join(f"{t:10.3f} {t / times[1]:6.1f}x" for t in times), flush=True)
    kernel, addition, decoded = tiny_call_us()
    print(f"a call of a tiny kernel, decoded {decoded} time: {kernel:.1f} us (a jitted addition: {addition:.1f} us)")


if __name__ == "__main__":
    main()
