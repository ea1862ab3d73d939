"""Times payloads in Tilecheck beside JAX's own ways to run them on a CPU, in one run, and prints ratios.

    python tests/benchmark/against_jax.py [build/bin/bench_payload [build/bin/tilecheck]]

The Python needs JAX 0.10 or newer (pip install jax). Two tables: warm, everything compiled or decoded before; and whole processes, from
start to a result that has been compared. Every figure is the best of several runs. "C++ door" is Tilecheck's own kernel of the same tiles,
written with its API, on 2 threads. Kernels: JAX's flash attention (blocks of 128, its default, and of 512) and matmul, and relu over
1,024 elements.
"""
import functools
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

# How JAX can run a kernel without a TPU: what `interpret` says.
INTERPRETERS = {
    "interpret=True": lambda: True,
    "TPU interpret": pltpu.InterpretParams,
    "with races": functools.partial(pltpu.InterpretParams, detect_races=True),
}


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
    """name, kernel, the same mathematics in jnp, operand shapes"""
    for block in (128, 512):
        for dtype, short in (("float32", "f32"), ("bfloat16", "bf16")):
            for shape in ((1, 2, 512, 128), (1, 1, 2048, 128)):
                yield f"flash {short} {'x'.join(map(str, shape))} in {block}s", flash(block), attention, [(shape, dtype)] * 3
    square = ((1024, 1024), "float32")
    yield "matmul f32 1024 in 256s", lambda a, b: matmul(a, b, block_shape=(256, 256), block_k=256), jnp.matmul, [square] * 2
    yield "relu f32 1024 in 256s", relu, lambda x: jnp.maximum(2 * x + 1, 0), [((1024,), "float32")]


def operands(shapes):
    rng = np.random.default_rng(0)
    return [jnp.asarray(rng.standard_normal(shape), dtype) for shape, dtype in shapes]


def lower(kernel, shapes):
    chip = jax.sharding.AbstractDevice("TPU v5e", 1, "tpu")
    with jax.sharding.use_abstract_mesh(jax.sharding.AbstractMesh((), (), abstract_device=chip)):
        return jax.jit(kernel).trace(*[jax.ShapeDtypeStruct(*s) for s in shapes]).lower(lowering_platforms=("tpu",)).as_text()


def interpreted(kernel, how):
    """The kernel under jit, every pallas_call in it interpreted as `how` says: library kernels take no such argument."""

    def run(*arrays):
        call, pl.pallas_call = pl.pallas_call, functools.partial(pl.pallas_call, interpret=how)
        try:
            return kernel(*arrays)
        finally:
            pl.pallas_call = call

    return jax.jit(run)


def best_ms(function, *arrays, budget_s=4.0):
    jax.clear_caches()  # library kernels are under jit themselves, and would be found as traced for another interpreter
    jax.block_until_ready(function(*arrays))
    best, until, runs = float("inf"), time.time() + budget_s, 0
    while runs < 2 or (runs < 30 and time.time() < until):
        start = time.perf_counter()
        jax.block_until_ready(function(*arrays))
        best, runs = min(best, time.perf_counter() - start), runs + 1
    return best * 1e3


def tilecheck_ms(bench, names, paths):
    """Per kernel: the payload on 1 and 2 threads, and the C++ door's kernel of the same tiles on 2."""
    out = subprocess.run([bench, "--benchmark_format=json", "--benchmark_repetitions=15", "--benchmark_min_time=0.02"], check=True, capture_output=True,
                         text=True, env={**os.environ, "TILECHECK_MODULES": ":".join(paths)}).stdout
    times = {}
    for b in json.loads(out)["benchmarks"]:
        if b["run_type"] == "iteration":
            what, threads = b["run_name"].split("/real_time")[0].rsplit("/", 1)
            times[what, threads] = min(times.get((what, threads), float("inf")), b["real_time"])
    return [(times[path, "1"], times[path, "2"], times[name, "2"]) for name, path in zip(names, paths)]


def beside(ms, ours, width=17):
    return f"{f'{ms:.3g} ({ms / ours:.3g}x)':>{width}}"


def warm_table(rows, paths, bench):
    print("warm, ms (in brackets: how many times Tilecheck's on 2 threads)")
    columns = ["C++ door", "jitted jnp", *INTERPRETERS]
    print(f"{'kernel':32} {'1 thread':>9} {'2 threads':>9}" + "".join(f"{c:>17}" for c in columns))
    # Before and after JAX's turn, in case the machine was busier at one of them.
    names = [name for name, *_ in rows]
    first = tilecheck_ms(bench, names, paths)
    theirs = []
    for _, kernel, naive, shapes in rows:
        arrays = operands(shapes)
        theirs.append([best_ms(f, *arrays) for f in (jax.jit(naive), *(interpreted(kernel, how()) for how in INTERPRETERS.values()))])
    for name, before, after, jax_ms in zip(names, first, tilecheck_ms(bench, names, paths), theirs):
        one, two, cpp = map(min, zip(before, after))
        print(f"{name:32} {one:9.3g} {two:9.3g}" + "".join(beside(ms, two) for ms in [cpp, *jax_ms]), flush=True)


def process_s(command, runs, **kwargs):
    best = float("inf")
    for _ in range(runs):
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, **kwargs)
        best = min(best, time.perf_counter() - start)
    return best


def tolerance(shapes):
    return 0.03 if shapes[0][1] == "bfloat16" else 2e-3


def process_table(rows, paths, tilecheck, folder):
    print("\nwhole processes, from start to a compared result, s (in brackets: how many times Tilecheck's)")
    columns = [c for c in INTERPRETERS if c != "with races"]
    print(f"{'kernel':32} {'tilecheck':>9}" + "".join(f"{c:>17}" for c in columns))
    for i, ((name, _, naive, shapes), path) in enumerate(zip(rows, paths)):
        arrays = operands(shapes)
        command = [tilecheck, "run", path, "--threads", "2", "--atol", str(tolerance(shapes)), "--rtol", str(tolerance(shapes))]
        for kind, values in (("--in", arrays), ("--expect", [naive(*arrays)])):
            for n, value in enumerate(values):
                file = os.path.join(folder, f"{i}{kind}{n}.npy")
                np.save(file, np.asarray(value))
                command += [kind, f"{n}={file}"]
        ours = process_s(command, 5)
        theirs = [process_s([sys.executable, __file__, "--once", str(i), c], 2) for c in columns]
        print(f"{name:32} {ours:9.3g}" + "".join(beside(s, ours) for s in theirs), flush=True)


def run_once(case, how):
    """One whole process of JAX's: the kernel, interpreted, beside jnp's result."""
    _, kernel, naive, shapes = list(cases())[case]
    arrays = operands(shapes)
    got, expected = interpreted(kernel, INTERPRETERS[how]())(*arrays), naive(*arrays)
    tol = tolerance(shapes)
    np.testing.assert_allclose(np.asarray(got, np.float32), np.asarray(expected, np.float32), atol=tol, rtol=tol)


def main():
    if sys.argv[1:2] == ["--once"]:
        return run_once(int(sys.argv[2]), sys.argv[3])
    bench = sys.argv[1] if len(sys.argv) > 1 else "build/bin/bench_payload"
    tilecheck = sys.argv[2] if len(sys.argv) > 2 else os.path.join(os.path.dirname(bench), "tilecheck")
    with tempfile.TemporaryDirectory() as folder:
        rows, paths = list(cases()), []
        for i, (_, kernel, _, shapes) in enumerate(rows):
            paths.append(os.path.join(folder, f"{i}.mlir"))
            with open(paths[-1], "w", encoding="utf-8") as file:
                file.write(lower(kernel, shapes))
        warm_table(rows, paths, bench)
        process_table(rows, paths, tilecheck, folder)


if __name__ == "__main__":
    main()
