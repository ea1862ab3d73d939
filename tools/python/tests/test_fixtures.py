"""Every kernel of tests/fixtures, from JAX: right results and no finding, or the finding that the broken one must get."""

import jax
import numpy as np
import pytest

import defects  # noqa: F401
import kernels  # noqa: F401
import tilecheck
from fixture import FIXTURES


def over_devices(fixture):
    if fixture.devices == 1:
        return lambda *args: fixture.call(*args)
    mesh = jax.sharding.Mesh(np.array(jax.devices()[: fixture.devices]), ("x",))
    spec = jax.sharding.PartitionSpec("x")
    return jax.shard_map(fixture.call, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False)


@pytest.mark.parametrize("fixture", FIXTURES.values(), ids=FIXTURES)
def test_fixture(fixture):
    if fixture.findings == ("vmem-overflow",):  # told without taking the memory
        report = tilecheck.fit(fixture.call, *fixture.operands)
    else:
        value, report = tilecheck.check(over_devices(fixture), *fixture.operands)
    if fixture.findings:
        assert set(fixture.findings) <= set(report.kinds()), report
        return
    report.assert_clean()
    assert all(f["severity"] == "note" for f in report.findings), report
    results = value if isinstance(value, (tuple, list)) else [value]
    expected = fixture.expected(*fixture.operands)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for made, right in zip(results, expected, strict=True):
        np.testing.assert_allclose(np.asarray(made, np.float64), right.astype(np.float64), atol=fixture.tolerance, rtol=fixture.tolerance)
