"""The JAX door itself: switching it on and off, what it raises, what transformations do with it."""

import json
import pathlib
import re
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

import defects
import kernels  # noqa: F401
import tilecheck
from fixture import FIXTURES

RELU = FIXTURES["relu_2x_plus_1"]
SOFTMAX = FIXTURES["softmax_rows"]
RACE = FIXTURES["store_into_source"]


def test_nothing_changes_unless_enabled():
    with pytest.raises(ValueError, match="Only interpret mode is supported on CPU"):
        RELU.call(*RELU.operands)
    with tilecheck.jax.enable():
        assert jax.devices()[0].device_kind == "TPU v5 lite"
        np.testing.assert_array_equal(RELU.call(*RELU.operands), RELU.expected(*RELU.operands))
    assert jax.devices()[0].device_kind == "cpu"
    with pytest.raises(ValueError, match="Only interpret mode is supported on CPU"):
        RELU.call(*RELU.operands)


def test_plain_call_lasts_until_disabled():
    door = tilecheck.jax.enable(target="v6e")
    try:
        assert pltpu.get_tpu_info().chip_version == pltpu.ChipVersion.TPU_V6E
        RELU.call(*RELU.operands)
    finally:
        door.disable()


def test_decorator():
    @tilecheck.jax.enable(target="v5e")
    def step(x):
        return RELU.call(x)

    with pytest.raises(ValueError, match="interpret mode"):
        RELU.call(*RELU.operands)
    np.testing.assert_array_equal(step(*RELU.operands), RELU.expected(*RELU.operands))


def test_interpreted_calls_keep_their_meaning():
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] + 1

    def call(x):
        return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32), interpret=True)(x)

    _, report = tilecheck.check(call, jnp.zeros((8, 128)))
    assert not report.kernels
    _, report = tilecheck.check(call, jnp.zeros((8, 128)), take_over_interpret=True)
    assert len(report.kernels) == 1


def test_finding_is_raised_with_the_kernels_line_and_the_next_call_works():
    with pytest.raises(tilecheck.FindingError, match=r"(?s)race.*defects\.py:\d+") as raised:
        with tilecheck.jax.enable():
            jax.block_until_ready(RACE.call(*RACE.operands))
    line = int(re.search(r"--> \S*defects\.py:(\d+)", str(raised.value))[1])
    source = pathlib.Path(defects.__file__).read_text().splitlines()
    assert source[line - 1].strip() == "buf[...] = jnp.zeros_like(buf)"
    with tilecheck.jax.enable():
        with pytest.raises(jax.errors.JaxRuntimeError, match="race"):
            jax.block_until_ready(RACE.call(*RACE.operands))
        np.testing.assert_array_equal(RELU.call(*RELU.operands), RELU.expected(*RELU.operands))


def test_checks_choose_findings():
    _, report = tilecheck.check(RACE.call, *RACE.operands, checks="memory,init,sync,fit")
    assert report.verdict == "clean"
    with pytest.raises(tilecheck.InputError, match="expected one of memory"):
        tilecheck.jax.enable(checks="memory,nonsense")


def test_bad_options_are_refused():
    with pytest.raises(ValueError, match="unknown target"):
        tilecheck.jax.enable(target="v99")
    with pytest.raises(TypeError, match="unknown option"):
        tilecheck.jax.enable(shedule="lazy")
    for options, message in [({"seed": -1}, "at least 0"), ({"seed": 1.5}, "whole number"), ({"threads": 0}, "at least 1"),
                             ({"checks": ""}, "names none"), ({"schedule": "lasy"}, "expected lazy .*explore.*exhaustive.*; did you mean 'lazy'"),
                             ({"schedule": "exhaustive:0"}, "no number of runs"),
                             ({"budget": "5s", "schedule": "lazy"}, "budget is for the schedules explore and exhaustive"),
                             ({"take_over_interpret": "perhaps"}, "true or false")]:
        with pytest.raises(ValueError, match=message):
            tilecheck.jax.enable(**options)


def test_every_option_may_come_from_the_environment(monkeypatch):
    given = {"target": "v6e", "checks": "race,sync", "schedule": "random:3", "budget": "2m", "numerics": "mxu", "seed": "7", "threads": "3",
             "cores": "2", "remote_order": "none", "on_finding": "warn", "error_on": "note", "take_over_interpret": "true"}
    for name, value in given.items():
        monkeypatch.setenv(f"TILECHECK_{name.upper()}", value)
    door = tilecheck.jax.enable(seed=8, checks=["memory"])
    door.disable()
    assert door.executor.take_over_interpret
    kept = {name: value for name, value in given.items() if name != "take_over_interpret"}
    expected = kept | {"budget": 120.0, "seed": 8, "threads": 3, "cores": 2, "checks": "memory"}
    assert json.loads(door.executor.options) == expected


def test_an_exploration_may_have_a_number_of_runs():
    copies = FIXTURES["dma_double_buffer"]
    _, report = tilecheck.check(copies.call, *copies.operands, schedule="exhaustive")
    report.assert_clean()
    assert report.kernels[0].data["exploration"]["complete"]
    _, report = tilecheck.check(RACE.call, *RACE.operands, schedule="exhaustive:3")
    assert 1 <= report.kernels[0].data["exploration"]["runs"] <= 3


def test_transformations():
    @jax.custom_vjp
    def double(x):
        return RELU.call(x)

    double.defvjp(lambda x: (double(x), x), lambda x, g: (2 * g * (2 * x + 1 > 0),))
    x = jnp.asarray(RELU.operands[0])
    with tilecheck.jax.enable():
        batched = jax.vmap(SOFTMAX.call)(jnp.stack([SOFTMAX.operands[0], -SOFTMAX.operands[0]]))
        gradient = jax.jit(jax.grad(lambda x: double(x).sum()))(x)
        looped = jax.lax.scan(lambda c, _: (RELU.call(c), None), x, None, length=3)[0]
    np.testing.assert_allclose(batched[1], SOFTMAX.expected(-SOFTMAX.operands[0]), atol=1e-5)
    np.testing.assert_array_equal(gradient, 2.0 * (2 * x + 1 > 0))
    expected = np.asarray(x)
    for _ in range(3):
        expected = RELU.expected(expected)
    np.testing.assert_array_equal(looped, expected)


@pytest.mark.parametrize("dtype", ["int4", "uint4", "int8", "bool", "bfloat16", "float8_e4m3fn"])
def test_element_types_cross_the_boundary(dtype):
    def copy(x_ref, o_ref):
        o_ref[...] = x_ref[...]

    def call(x):
        return pl.pallas_call(copy, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)

    x = (jnp.arange(32 * 128) % 7).reshape(32, 128).astype(dtype)
    y, report = tilecheck.check(jax.jit(call), x)
    report.assert_clean()
    np.testing.assert_array_equal(np.asarray(y).astype(np.float32), np.asarray(x).astype(np.float32))


def test_threads_and_cache():
    x = jnp.asarray(RELU.operands[0])
    with tilecheck.jax.enable():
        call = jax.jit(RELU.call)
        jax.block_until_ready(call(x))
        before = tilecheck.jax.cache_stats()
        failures = []

        def work():
            for _ in range(20):
                if not np.array_equal(call(x), RELU.expected(np.asarray(x))):
                    failures.append(1)

        workers = [threading.Thread(target=work) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        after = tilecheck.jax.cache_stats()
    assert not failures
    assert after["misses"] == before["misses"] and after["hits"] == before["hits"] + 80


def test_suppression_by_comment():
    def kernel(x_ref, o_hbm, buf, semaphore):
        buf[...] = x_ref[...]
        copy = pltpu.make_async_copy(buf, o_hbm, semaphore)
        copy.start()
        buf[...] = jnp.zeros_like(buf)  # tilecheck: ignore[race] the copy has moved by then on the chip we use
        copy.wait()

    def call(x):
        return pl.pallas_call(kernel, in_specs=[pl.BlockSpec(memory_space=pltpu.VMEM)], out_specs=pl.BlockSpec(memory_space=pltpu.HBM),
                              out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
                              scratch_shapes=[pltpu.VMEM((8, 128), jnp.float32), pltpu.SemaphoreType.DMA])(x)

    _, report = tilecheck.check(call, jnp.ones((8, 128)))
    assert report.kinds() == {}


def test_the_chip_answers_for_itself():
    cpu = jax.devices()[0]
    with tilecheck.jax.enable(target="v5p"):
        assert (cpu.device_kind, cpu.num_cores) == ("TPU v5", 2)
        with tilecheck.jax.enable(target="v6e"):
            assert (cpu.device_kind, cpu.num_cores) == ("TPU v6 lite", 1)
        assert cpu.num_cores == 2
        with jax.sharding.use_abstract_mesh(jax.sharding.Mesh(np.array(jax.devices()), ("x",)).abstract_mesh):
            assert pltpu.create_tensorcore_mesh("core").shape["core"] == 2
    assert not hasattr(cpu, "num_cores")


def test_what_no_compiler_takes_is_raised_when_jax_compiles():
    def scale(dtype):
        def kernel(x_ref, o_ref):
            o_ref[0] = x_ref[0] + x_ref[1]

        smem = pl.BlockSpec(memory_space=pltpu.SMEM)
        return jax.jit(pl.pallas_call(kernel, in_specs=[smem], out_specs=smem, out_shape=jax.ShapeDtypeStruct((1,), dtype)))

    with tilecheck.jax.enable():
        scale(jnp.int32).lower(jax.ShapeDtypeStruct((2,), jnp.int32))
        with pytest.raises(jax.errors.JaxRuntimeError, match=r"(?s)dtype-unsupported.*test_door\.py") as raised:
            scale(jnp.int8).lower(jax.ShapeDtypeStruct((2,), jnp.int8))
        assert isinstance(raised.value, tilecheck.FindingError)
    with tilecheck.jax.enable(checks="memory,race"):
        np.testing.assert_array_equal(scale(jnp.int8)(jnp.asarray([3, 4], jnp.int8)), [7])


def test_semaphores_go_from_one_call_to_the_next():
    """A copy that one kernel starts and the next one waits for."""
    anywhere, semaphore = pl.BlockSpec(memory_space=pl.ANY), pl.BlockSpec(memory_space=pltpu.SEMAPHORE)
    array = jax.ShapeDtypeStruct((8, 128), jnp.float32)

    def start(x_ref, y_ref, done):
        pltpu.make_async_copy(x_ref, y_ref, done).start()

    def wait(x_ref, y_ref, done, _):
        pltpu.make_async_copy(x_ref, y_ref, done).wait()

    def program(x):
        y, done = pl.pallas_call(start, in_specs=[anywhere], out_specs=[anywhere, semaphore],
                                 out_shape=[array, pltpu.SemaphoreType.DMA])(x)
        return pl.pallas_call(wait, in_specs=[anywhere, anywhere, semaphore], out_specs=anywhere, out_shape=array,
                              input_output_aliases={1: 0})(x, y, done)

    x = jnp.arange(8 * 128.0).reshape(8, 128)
    y, report = tilecheck.check(jax.jit(program), x)
    report.assert_clean()
    assert len(report.kernels) == 2
    np.testing.assert_array_equal(y, x)


def test_a_semaphore_from_an_earlier_kernel_may_be_signalled_at_once():
    def make(barrier_out):
        barrier = pltpu.get_barrier_semaphore()
        for device in range(4):
            pl.semaphore_signal(barrier, device_id=device)
        pl.semaphore_wait(barrier, 4)

    def meet(x_ref, semaphore, o_ref):
        for device in range(4):
            pl.semaphore_signal(semaphore, device_id=device)
        pl.semaphore_wait(semaphore, 4)
        o_ref[...] = x_ref[...] + 1

    def program(x):
        given = pl.BlockSpec(memory_space=pltpu.SEMAPHORE)
        semaphore = pl.pallas_call(make, in_specs=[], out_specs=given, out_shape=pltpu.SemaphoreType.REGULAR(()),
                                   compiler_params=pltpu.CompilerParams(collective_id=0))()
        return pl.pallas_call(meet, in_specs=[pl.BlockSpec(memory_space=pltpu.VMEM), given], out_shape=jax.ShapeDtypeStruct.like(x),
                              compiler_params=pltpu.CompilerParams(skip_device_barrier=True))(x, semaphore)

    mesh = jax.sharding.Mesh(np.array(jax.devices()[:4]), ("x",))
    spec = jax.sharding.PartitionSpec("x")
    x = jnp.zeros((32, 128))
    y, report = tilecheck.check(jax.jit(jax.shard_map(program, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False)), x)
    report.assert_clean()
    np.testing.assert_array_equal(y, x + 1)


def test_core_map():
    """Kernels that a core_map makes of Refs."""
    x = jnp.arange(16 * 128.0).reshape(16, 128)

    @jax.jit
    def program(x):
        x_ref, y_ref = jax.new_ref(x), jax.new_ref(jnp.zeros_like(x))

        @pl.core_map(pltpu.create_tensorcore_mesh("core"))
        def _():
            pltpu.sync_copy(x_ref, y_ref)

        return y_ref[...]

    y, report = tilecheck.check(program, x)
    report.assert_clean()
    np.testing.assert_array_equal(y, x)


def core_map(scratch=()):
    return pl.core_map(pltpu.create_tensorcore_mesh("core"), scratch_shapes=scratch)


def test_arrays_in_smem_are_read_and_changed_where_they_lie():
    def program(x):
        x_ref = jax.new_ref(x, memory_space=pltpu.SMEM)
        y_ref = jax.new_ref(jnp.zeros((8, 128), jnp.int32))

        @core_map()
        def _():
            for i in range(8):
                x_ref[i] = x_ref[i] + 1

        @core_map([pltpu.VMEM((8, 128), jnp.int32)])
        def _(buffer):
            buffer[...] = jnp.full((8, 128), x_ref[3], jnp.int32)
            pltpu.sync_copy(buffer, y_ref)

        return y_ref[...], x_ref[...]

    (y, x), report = tilecheck.check(jax.jit(program), jnp.arange(8, dtype=jnp.int32))
    report.assert_clean()
    assert len(report.kernels) == 2
    np.testing.assert_array_equal(y, np.full((8, 128), 4))
    np.testing.assert_array_equal(x, np.arange(8) + 1)
    with pytest.raises(tilecheck.IncompleteError, match="stays in SMEM between kernels: in each of several cores"):
        tilecheck.check(jax.jit(program), jnp.arange(8, dtype=jnp.int32), target="v5p")  # two cores, each with its own


@pytest.mark.parametrize("awaited", [True, False])
def test_a_copy_into_vmem_goes_on_from_one_kernel_to_the_next(awaited):
    """The array and the semaphore are results of the first kernel; it lies in VMEM before and after the second."""
    anywhere, semaphore, vmem = (pl.BlockSpec(memory_space=m) for m in (pl.ANY, pltpu.SEMAPHORE, pltpu.VMEM))
    in_vmem = pltpu.VMEM((8, 128), jnp.float32)

    def start(x_ref, y_ref, done):
        pltpu.make_async_copy(x_ref, y_ref, done).start()
        if not awaited:
            y_ref[0, :] = jnp.zeros(128)  # while the copy may still be writing it

    def wait(x_ref, y_ref, done, again):
        pltpu.make_async_copy(x_ref, y_ref, done).wait()
        again[...] = y_ref[...] + 1

    def program(x):
        y, done = pl.pallas_call(start, in_specs=[anywhere], out_specs=[vmem, semaphore],
                                 out_shape=[in_vmem, pltpu.SemaphoreType.DMA])(x)
        return pl.pallas_call(wait, in_specs=[anywhere, vmem, semaphore], out_specs=vmem, out_shape=in_vmem,
                              input_output_aliases={1: 0})(x, y, done)

    x = jnp.arange(8 * 128.0).reshape(8, 128)
    y, report = tilecheck.check(jax.jit(program), x)
    if awaited:
        report.assert_clean()
        np.testing.assert_array_equal(y, x + 1)
    else:
        assert "race" in report.kinds(), report


def test_an_array_that_stays_in_vmem_is_the_callers_too():
    vmem = pl.BlockSpec(memory_space=pltpu.VMEM)

    def kernel(x_ref, y_ref):
        y_ref[...] = x_ref[...] * 2
        x_ref[0, :] = jnp.zeros(128)

    def program(aliases):
        def run(x):
            x = pltpu.with_memory_space_constraint(x, pltpu.VMEM)
            return pl.pallas_call(kernel, in_specs=[vmem], out_specs=vmem, out_shape=pltpu.VMEM((8, 128), jnp.float32),
                                  input_output_aliases=aliases)(x)

        return jax.jit(run)

    x = jnp.ones((8, 128))
    _, report = tilecheck.check(program({}), x)
    assert list(report.kinds()) == ["alias-mismatch"], report
    y, report = tilecheck.check(program({0: 0}), x)
    report.assert_clean()
    np.testing.assert_array_equal(y, np.concatenate([np.zeros((1, 128)), np.full((7, 128), 2)]))


def test_a_stride_of_0_repeats_a_row():
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[pl.ds(3, 8, 0), :]

    x = jnp.arange(8 * 128.0).reshape(8, 128)
    y, report = tilecheck.check(pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct.like(x)), x)
    report.assert_clean()
    np.testing.assert_array_equal(y, np.tile(x[3], (8, 1)))


def test_threads_switch_on_and_off_as_they_like():
    """Each check of each thread has its own target; the last one leaves nothing behind."""
    started, failures = threading.Barrier(4), []

    def kind(target, turn):
        seen = []

        def call(x):
            seen.append(jax.devices()[0].device_kind)
            return RELU.call(x + turn)  # a constant of its own, so that it is traced anew

        value, report = tilecheck.check(jax.jit(call), jnp.asarray(RELU.operands[0]), target=target)
        np.testing.assert_array_equal(value, RELU.expected(RELU.operands[0] + np.float32(turn)))
        mine = tilecheck.fit(lambda x: RELU.call(x), *RELU.operands, target=target)
        return seen, {k.data["target"] for k in mine.kernels}

    def work(target, name):
        started.wait()
        try:
            for turn in range(5):
                assert kind(target, turn) == ([name], {target})
        except BaseException as error:
            failures.append(error)

    names = {"v5e": "TPU v5 lite", "v6e": "TPU v6 lite", "v4": "TPU v4", "v5p": "TPU v5"}
    workers = [threading.Thread(target=work, args=item) for item in names.items()]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failures, failures
    assert jax.devices()[0].device_kind == "cpu"
    with pytest.raises(ValueError, match="Only interpret mode is supported on CPU"):
        RELU.call(*RELU.operands)


def test_a_decorated_function_may_run_in_several_threads():
    entered = threading.Barrier(2)

    @tilecheck.jax.enable()
    def first_then_second(x, wait):
        if wait:
            entered.wait()  # the other is inside
        y = RELU.call(x)
        if not wait:
            entered.wait()
        return y

    x, failures = RELU.operands[0], []

    def work(wait):
        try:
            np.testing.assert_array_equal(first_then_second(x, wait), RELU.expected(x))
        except BaseException as error:
            failures.append(error)

    workers = [threading.Thread(target=work, args=(wait,)) for wait in (True, False)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failures, failures
    assert jax.devices()[0].device_kind == "cpu"


def test_the_last_one_switched_on_counts_whichever_is_switched_off_first():
    cpu = jax.devices()[0]
    first, second = tilecheck.jax.enable(target="v5p"), tilecheck.jax.enable(target="v6e")
    first.disable()
    assert cpu.device_kind == "TPU v6 lite"
    second.disable()
    assert cpu.device_kind == "cpu"
