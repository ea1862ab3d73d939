"""What is said of a JAX that is too old, too new or changed."""

import warnings

import pytest

from tilecheck import _jax_version


def test_known_versions_are_silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for version in ("0.10.0", "0.10.2", "0.11.2", "0.11.0.dev20260801"):
            _jax_version.check(version)


def test_an_old_version_is_refused():
    with pytest.raises(ImportError, match="JAX 0.9.1 is too old for tilecheck, which needs 0.10 or 0.11"):
        _jax_version.check("0.9.1")


def test_a_new_version_is_tried_with_a_warning():
    with pytest.warns(UserWarning, match="never tried with JAX 0.12.0"):
        _jax_version.check("0.12.0")


def test_what_a_version_lacks_is_named():
    with pytest.raises(ImportError, match=r"JAX 0.13.0 lacks what tilecheck uses \(.*no_such_part.*\); it is known to work"):
        with _jax_version.explained("0.13.0"):
            import jax._src.no_such_part  # noqa: F401
