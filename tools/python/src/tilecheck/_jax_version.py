"""Which versions of JAX this package knows."""

TESTED = ("0.10",)
WORKS = ("0.11",)  # as far as can be seen


def check(version):
    """Raises ImportError for a version too old; warns of one never tried."""
    import warnings

    numbers = tuple(int(p) for p in version.split(".")[:2])
    minor = f"{numbers[0]}.{numbers[1]}"
    if numbers < (0, 10):
        raise ImportError(f"JAX {version} is too old for tilecheck, which needs 0.10 or 0.11")
    if minor not in TESTED + WORKS:
        warnings.warn(f"tilecheck was never tried with JAX {version} (known: {', '.join(TESTED + WORKS)})", stacklevel=3)
