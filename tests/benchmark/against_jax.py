"""Times payloads in Tilecheck beside JAX's own ways to run them on a CPU, in one run, and prints ratios.

    python tests/benchmark/against_jax.py [build/bin/bench_payload]

The Python needs JAX 0.10 or newer (pip install jax). Kernels: JAX's flash attention and matmul, and relu over 1,024 elements.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("JAX_PLATFORMS", "cpu")
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jax.experimental.pallas.ops.tpu.flash_attention import BlockSizes, flash_attention
from jax.experimental.pallas.ops.tpu.matmul import matmul


def attention(q, k, v):
    logits = jnp.einsum("bhqd,bhkd->bhqk", q, k, preferred_element_type=jnp.float32)
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(logits, -1).astype(v.dtype), v)


def flash(block):
    return lambda q, k, v: flash_attention(q, k, v, block_sizes=BlockSizes(block_q=block, block_k_major=block, block_k=block, block_b=1))


def relu(x):
    def body(x_ref, o_ref):
        o_ref[...] = jnp.maximum(2 * x_ref[...] + 1, 0)

    spec = pl.BlockSpec((256,), lambda i: (i,))
    return pl.pallas_call(body, grid=(4,), in_specs=[spec], out_specs=spec, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def cases():
    for dtype in ("float32", "bfloat16"):
        for shape in ((1, 2, 512, 128), (1, 1, 2048, 128)):
            yield f"flash {dtype} {shape[2]}", flash(512), attention, [(shape, dtype)] * 3
    square = ((1024, 1024), "float32")
    yield "matmul 1024", lambda a, b: matmul(a, b, block_shape=(256, 256), block_k=256), jnp.matmul, [square] * 2
    yield "relu 1024", relu, lambda x: jnp.maximum(2 * x + 1, 0), [((1024,), "float32")]


def lower(kernel, shapes):
    chip = jax.sharding.AbstractDevice("TPU v5e", 1, "tpu")
    with jax.sharding.use_abstract_mesh(jax.sharding.AbstractMesh((), (), abstract_device=chip)):
        return jax.jit(kernel).trace(*[jax.ShapeDtypeStruct(*s) for s in shapes]).lower(lowering_platforms=("tpu",)).as_text()


def best_ms(function, *arrays, budget_s=6.0):
    jax.block_until_ready(function(*arrays))
    best, until, runs = float("inf"), time.time() + budget_s, 0
    while runs < 2 or (runs < 15 and time.time() < until):
        start = time.perf_counter()
        jax.block_until_ready(function(*arrays))
        best, runs = min(best, time.perf_counter() - start), runs + 1
    return best * 1e3


def interpreted(kernel, how):
    # pallas_call is told here rather than at each call, so that library kernels run unchanged.
    def run(*arrays):
        with pltpu.force_tpu_interpret_mode(how) if how else jax.disable_jit(False):
            return jitted(*arrays)

    jitted = jax.jit(kernel)
    return run


def main():
    bench = sys.argv[1] if len(sys.argv) > 1 else "build/bin/bench_payload"
    rows, paths = [], []
    with tempfile.TemporaryDirectory() as folder:
        for i, (name, kernel, naive, shapes) in enumerate(cases()):
            path = os.path.join(folder, f"{i}.mlir")
            with open(path, "w", encoding="utf-8") as file:
                file.write(lower(kernel, shapes))
            paths.append(path)
            rows.append((name, kernel, naive, shapes))
        out = subprocess.run([bench, "--benchmark_format=json", "--benchmark_repetitions=15", "--benchmark_min_time=0.001"], check=True, capture_output=True,
                             text=True, env={**os.environ, "TILECHECK_MODULES": ":".join(paths)}).stdout
        times = {}
        for b in json.loads(out)["benchmarks"]:
            if b["run_type"] == "iteration":
                key = b["run_name"].split("/real_time")[0]
                times[key] = min(times.get(key, float("inf")), b["real_time"])
        print(f"{'kernel':22} {'1 thread':>9} {'2 threads':>9}   {'TPU interpret':>17} {'jitted jnp':>17}   (ms; ratio to 2 threads)")
        rng = np.random.default_rng(0)
        for (name, kernel, naive, shapes), path in zip(rows, paths):
            arrays = [jnp.asarray(rng.standard_normal(shape), dtype) for shape, dtype in shapes]
            one, two = times[f"{path}/1"], times[f"{path}/2"]
            tpu = best_ms(interpreted(kernel, pltpu.InterpretParams()), *arrays)
            jnp_ms = best_ms(jax.jit(naive), *arrays)
            print(f"{name:22} {one:9.3f} {two:9.3f}   {tpu:9.2f} {tpu / two:6.1f}x {jnp_ms:9.3f} {jnp_ms / two:6.2f}x", flush=True)


if __name__ == "__main__":
    main()
