"""fit, sweep, run_payload and capture."""

import functools
import json
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

import kernels
import tilecheck
from fixture import FIXTURES, Fixture
from tilecheck import _analysis, _lowering

RELU = FIXTURES["relu_2x_plus_1"]


def test_fit_needs_no_data():
    shapes = [jax.ShapeDtypeStruct((1, 2048, 256), jnp.float32)] * 3
    report = tilecheck.fit(lambda q, k, v: kernels.call_flash_attention(q, k, v, 256, 256), *shapes, target="v5e")
    (kernel,) = report.kernels
    assert kernel.fit["verdict"] == "fits"
    # Two slots of four 256 KiB blocks and the scratch are the least that it takes.
    assert kernel.fit["need_bytes"] >= 2 * 4 * 256 * 256 * 4 + 256 * 256 * 4
    assert kernel.data["target"] == "v5e"


def test_fit_of_what_is_not_modelled_is_incomplete():
    def random(x_ref, o_ref, *, seeds):
        if seeds:
            pltpu.prng_seed(7)
        o_ref[...] = x_ref[...] * 2

    def fit(seeds):
        call = pl.pallas_call(functools.partial(random, seeds=seeds), out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))
        return tilecheck.fit(call, jax.ShapeDtypeStruct((8, 128), jnp.float32), target="v5e")

    fit(seeds=False).assert_clean()
    with pytest.raises(tilecheck.IncompleteError, match=r"not modelled: tpu.prng_set_seed_32 .*test_analysis.py:\d+") as caught:
        fit(seeds=True)
    (kernel,) = caught.value.report.kernels
    assert kernel.verdict == "incomplete" and kernel.fit["verdict"] == "fits"
    assert "tpu.prng_set_seed_32" in kernel.data["incomplete"][0]


def test_sweep_orders_what_fits():
    shapes = [jax.ShapeDtypeStruct((1, 4096, 256), jnp.float32)] * 3
    rows = tilecheck.sweep(lambda q, kv: lambda *a: kernels.call_flash_attention(*a, q, kv), {"q": [128, 4096], "kv": [128, 4096]},
                           *shapes, target="v5e")
    assert len(rows) == 4
    assert rows[0]["verdict"] == "fits" and rows[-1]["verdict"] == "cannot-fit"
    assert rows[-1]["need_bytes"] > rows[-1]["limit_bytes"]


def payload_of(fixture):
    with _lowering.as_target("v5e"):
        text = jax.jit(fixture.call).trace(*fixture.operands).lower(lowering_platforms=("tpu",)).as_text()
    config = re.search(r'backend_config = "((?:[^"\\]|\\.)*)"', text)[1]
    return re.sub(r"\\([0-9A-F]{2})", lambda m: chr(int(m[1], 16)), config)


def test_run_payload_as_torch_xla_keeps_it():
    config = payload_of(RELU)
    (x,) = RELU.operands
    result, report = tilecheck.run_payload(config, x, out_shape=jax.ShapeDtypeStruct((1024,), jnp.float32))
    report.assert_clean()
    np.testing.assert_array_equal(result, RELU.expected(x))
    before = tilecheck.jax.cache_stats()
    (result,), _ = tilecheck.run_payload(config, jnp.asarray(x), out_shape=[jax.ShapeDtypeStruct((1024,), jnp.float32)])
    np.testing.assert_array_equal(result, RELU.expected(x))
    assert tilecheck.jax.cache_stats()["misses"] == before["misses"]


def double(shape, dtype):
    def body(x_ref, o_ref):
        o_ref[...] = x_ref[...] + x_ref[...]

    return payload_of(Fixture("double", "", pl.pallas_call(body, out_shape=jax.ShapeDtypeStruct(shape, dtype)),
                              [jnp.zeros(shape, dtype)], None))


def test_run_payload_takes_torch_tensors():
    torch = pytest.importorskip("torch")
    x = torch.from_numpy(RELU.operands[0].copy())
    result, report = tilecheck.run_payload(payload_of(RELU), x, out_shape=torch.empty(1024))
    report.assert_clean()
    np.testing.assert_array_equal(result, RELU.expected(RELU.operands[0]))

    for name in ("float32", "bfloat16", "int32"):
        dtype = getattr(torch, name)
        config = double((16, 128), jnp.dtype(name))
        x = torch.arange(16 * 128).remainder(64).to(dtype).reshape(16, 128)
        columns = torch.arange(32 * 128).remainder(64).to(dtype).reshape(16, 256)[:, ::2]
        cases = {"dense": x, "transposed": x.reshape(128, 16).T, "strided": columns, "broadcast": x[:1].expand(16, 128)}
        if dtype.is_floating_point:
            leaf = x.clone().requires_grad_()
            cases |= {"leaf of a gradient": leaf, "of a gradient": leaf * 2, "parameter": torch.nn.Parameter(x.clone())}
        for what, tensor in cases.items():
            result, _ = tilecheck.run_payload(config, tensor, out_shape=torch.empty(16, 128, dtype=dtype))
            assert result.dtype == jnp.dtype(name)
            expected = (tensor + tensor).detach().to(torch.float32).numpy()
            np.testing.assert_array_equal(result.astype(np.float32), expected, err_msg=f"{name} {what}")

    def invert(x_ref, o_ref):
        o_ref[...] = jnp.logical_not(x_ref[...])

    config = payload_of(Fixture("invert", "", pl.pallas_call(invert, out_shape=jax.ShapeDtypeStruct((32, 128), jnp.bool_)),
                                [jnp.zeros((32, 128), jnp.bool_)], None))
    x = torch.arange(32 * 128).reshape(32, 128) % 3 == 0
    result, _ = tilecheck.run_payload(config, x, out_shape=torch.empty(32, 128, dtype=torch.bool))
    np.testing.assert_array_equal(result, ~x.numpy())


def test_torch_tensors_of_every_kind_are_read():
    torch = pytest.importorskip("torch")
    for name in ("float32", "bfloat16", "float16", "float8_e4m3fn", "float8_e5m2", "int8", "uint8", "int32", "bool"):
        for shape in ((), (0, 8), (3, 5)):
            x = torch.ones(shape).to(getattr(torch, name))
            array = _analysis._numpy(x)
            assert (array.shape, array.dtype) == (shape, jnp.dtype(name))
            np.testing.assert_array_equal(array.astype(np.float32), x.float().numpy())
    config = payload_of(RELU)
    for tensor in (torch.ones(1024).to_sparse(), torch.ones(1024, device="meta")):
        with pytest.raises(tilecheck.InputError, match="operand 0, of type Tensor, cannot be read"):
            tilecheck.run_payload(config, tensor, out_shape=torch.empty(1024))


class Exporter:
    """Speaks DLPack and nothing else."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_run_payload_takes_arrays_of_every_kind():
    x = RELU.operands[0].copy()
    locked = x.copy()
    locked.flags.writeable = False
    spread = np.repeat(x, 2)[::2]
    for array in (x, locked, spread, jnp.asarray(x), Exporter(x), Exporter(jnp.asarray(x))):
        result, _ = tilecheck.run_payload(payload_of(RELU), array, out_shape=jax.ShapeDtypeStruct((1024,), jnp.float32))
        np.testing.assert_array_equal(result, RELU.expected(x))
    assert (locked == x).all()
    wide = jnp.arange(16 * 128, dtype=jnp.bfloat16).reshape(16, 128)
    result, _ = tilecheck.run_payload(double((16, 128), jnp.bfloat16), Exporter(wide), out_shape=wide)
    np.testing.assert_array_equal(result, wide + wide)
    assert _analysis._numpy(np.float32(3)).shape == () and _analysis._numpy(np.zeros((0, 8))).shape == (0, 8)
    with pytest.raises(tilecheck.InputError, match="operand 0, of type list, cannot be read as an array"):
        tilecheck.run_payload(payload_of(RELU), [1.0] * 1024, out_shape=jax.ShapeDtypeStruct((1024,), jnp.float32))


def test_run_payload_refuses_what_does_not_fit():
    config = payload_of(RELU)
    with pytest.raises(tilecheck.InputError, match=r"i32\[1024\]"):
        tilecheck.run_payload(config, RELU.operands[0].astype(np.int32), out_shape=jax.ShapeDtypeStruct((1024,), jnp.float32))
    with pytest.raises(tilecheck.InputError):
        tilecheck.run_payload("{}", RELU.operands[0], out_shape=jax.ShapeDtypeStruct((1024,), jnp.float32))


@pytest.mark.parametrize("golden", ["tpu-interpret", "hlo-interpret", "none"])
def test_capture(tmp_path, golden):
    (folder,) = tilecheck.capture(RELU.call, *RELU.operands, dir=tmp_path, golden=golden)
    call = json.loads((folder / "call.json").read_text())
    assert call["kernel"] == "relu_2x_plus_1" and call["devices"] == 1
    assert call["operands"] == [{"dtype": "float32", "shape": [1024], "role": "input"}]
    np.testing.assert_array_equal(np.load(folder / "operand_0.npy"), RELU.operands[0])
    assert (folder / "module.mlir").read_text().count("tpu_custom_call") == 1
    if golden == "none":
        assert not (folder / "result_0.npy").exists()
    else:
        np.testing.assert_array_equal(np.load(folder / "result_0.npy"), RELU.expected(*RELU.operands))


def test_capture_finds_calls_under_transformations(tmp_path):
    x = jnp.asarray(RELU.operands[0])
    folders = tilecheck.capture(lambda x: jax.lax.scan(lambda c, _: (RELU.call(c), None), x, None, length=3)[0], x, dir=tmp_path)
    assert [f.name for f in folders] == ["relu_2x_plus_1", "relu_2x_plus_1.1", "relu_2x_plus_1.2"]
    ring = FIXTURES["ring_permute"]
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:4]), ("x",))
    spec = jax.sharding.PartitionSpec("x")
    call = jax.shard_map(ring.call, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False)
    (folder,) = tilecheck.capture(call, *ring.operands, dir=tmp_path)
    assert json.loads((folder / "call.json").read_text())["mesh"] == {"x": 4}
    assert len(list(folder.glob("operand_0.dev*.npy"))) == 4
