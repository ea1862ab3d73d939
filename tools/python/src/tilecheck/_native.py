"""The native library: found, loaded, and called with JSON."""

import ctypes
import functools
import json
import os
import pathlib

NAME = "libtilecheck_python.so"


class LoadError(ImportError):
    """The native library is missing or this machine cannot run it."""


def _check_cpu():
    try:
        flags = next(line for line in open("/proc/cpuinfo") if line.startswith("flags")).split()
    except (OSError, StopIteration):
        return
    missing = [name for name in ("avx2", "fma", "bmi2") if name not in flags]
    if missing:
        raise LoadError(f"this CPU lacks {', '.join(missing).upper()}; Tilecheck needs x86-64-v3")


@functools.cache
def library():
    """The loaded library. TILECHECK_LIBRARY names another one than the package's own."""
    _check_cpu()
    path = pathlib.Path(os.environ.get("TILECHECK_LIBRARY") or pathlib.Path(__file__).with_name(NAME))
    if not path.exists():
        raise LoadError(f"{path.name} is not here; install the package (pip install ./tools/python), or set TILECHECK_LIBRARY")
    lib = ctypes.CDLL(str(path))
    owned = ctypes.c_void_p  # a string to free
    for name, result, arguments in [
        ("run", owned, [ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p)]),
        ("analyse", owned, [ctypes.c_char_p]),
        ("compile", owned, [ctypes.c_char_p]),
        ("check_options", owned, [ctypes.c_char_p]),
        ("reports", owned, [ctypes.c_int]),
        ("sarif", owned, [ctypes.c_int]),
        ("unused_suppressions", owned, []),
        ("mark", ctypes.c_int, []),
        ("clear_reports", None, []),
        ("cache_stats", owned, []),
        ("clear_cache", None, []),
        ("free", None, [ctypes.c_void_p]),
        ("version", ctypes.c_char_p, []),
    ]:
        function = getattr(lib, f"tilecheck_{name}")
        function.restype, function.argtypes = result, arguments
    return lib


def text(name, *arguments):
    """What a function replies."""
    reply = getattr(library(), f"tilecheck_{name}")(*arguments)
    try:
        return ctypes.string_at(reply).decode()
    finally:
        library().tilecheck_free(reply)


def call(name, *arguments):
    """The same where it is JSON."""
    return json.loads(text(name, *arguments))
