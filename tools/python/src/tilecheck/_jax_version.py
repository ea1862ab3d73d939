"""Which versions of JAX this package knows."""

import contextlib
import warnings

import jax

TESTED = ("0.10", "0.11")


def check(version):
    """Raises ImportError for a version too old; warns of one never tried."""
    numbers = tuple(int(p) for p in version.split(".")[:2])
    if numbers < (0, 10):
        raise ImportError(f"JAX {version} is too old for tilecheck, which needs 0.10 or 0.11")
    if f"{numbers[0]}.{numbers[1]}" not in TESTED:
        warnings.warn(f"tilecheck was never tried with JAX {version} (known: {', '.join(TESTED)})", stacklevel=3)


@contextlib.contextmanager
def explained(version=jax.__version__):
    """Around imports of JAX's own parts, which may move from one version to the next."""
    try:
        yield
    except ImportError as error:
        raise ImportError(
            f"JAX {version} lacks what tilecheck uses ({error}); it is known to work with {' and '.join(TESTED)}") from error
