"""Where the tests take the package from: the checkout, with the library that TILECHECK_LIBRARY names, or else from where
it is installed."""

import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
IS_INSTALLED = not os.environ.get("TILECHECK_LIBRARY")
PATHS = [] if IS_INSTALLED else [str(ROOT / "tools/python/src")]
INSTALLED_COMMAND = str(pathlib.Path(sys.executable).with_name("tilecheck"))


def environment(**more):
    """Of a Python process that is to find the package as the tests do."""
    inherited = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    paths = PATHS + [p for p in inherited if p]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"} | more
