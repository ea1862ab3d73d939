"""fit, sweep, run_payload and capture."""

import json
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl

import kernels
import tilecheck
from fixture import FIXTURES, Fixture
from tilecheck import _lowering

RELU = FIXTURES["relu_2x_plus_1"]


def test_fit_needs_no_data():
    shapes = [jax.ShapeDtypeStruct((1, 2048, 256), jnp.float32)] * 3
    report = tilecheck.fit(lambda q, k, v: kernels.call_flash_attention(q, k, v, 256, 256), *shapes, target="v5e")
    (kernel,) = report.kernels
    assert kernel.fit["verdict"] == "fits"
    # Two slots of four 256 KiB blocks and the scratch are the least that it takes.
    assert kernel.fit["need_bytes"] >= 2 * 4 * 256 * 256 * 4 + 256 * 256 * 4
    assert kernel.data["target"] == "v5e"


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


def test_run_payload_takes_torch_tensors():
    torch = pytest.importorskip("torch")
    x = torch.from_numpy(RELU.operands[0].copy())
    result, report = tilecheck.run_payload(payload_of(RELU), x, out_shape=torch.empty(1024))
    report.assert_clean()
    np.testing.assert_array_equal(result, RELU.expected(RELU.operands[0]))

    def double(x_ref, o_ref):
        o_ref[...] = x_ref[...] + x_ref[...]

    wide = Fixture("double", "", pl.pallas_call(double, out_shape=jax.ShapeDtypeStruct((16, 128), jnp.bfloat16)),
                   [jnp.zeros((16, 128), jnp.bfloat16)], None)
    x = torch.arange(16 * 128, dtype=torch.bfloat16).reshape(16, 128)
    result, _ = tilecheck.run_payload(payload_of(wide), x, out_shape=torch.empty(16, 128, dtype=torch.bfloat16))
    np.testing.assert_array_equal(result.astype(np.float32), (x + x).float().numpy())


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
