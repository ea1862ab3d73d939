"""What kernels are run with: arguments, else TILECHECK_* environment variables, else defaults."""

import os
import pathlib
import re
import tomllib

DEFAULTS = {
    "target": "v5e",
    "checks": "memory,init,race,sync,fit",
    "schedule": "lazy",
    "budget": "10s",  # of exploring schedules, per kernel
    "numerics": "exact",
    "seed": 0,
    "threads": None,  # as many as the machine has
    "cores": 1,
    "remote_order": "channel",
    "on_finding": "raise",
    "error_on": "error",
}
WHOLE = ("seed", "threads", "cores")


def seconds(time):
    """10, "10s", "500ms" or "2m" as seconds."""
    match = re.fullmatch(r"([0-9.]+)(s|ms|m|)", str(time))
    if not match or match[1].count(".") > 1:
        raise ValueError(f"budget is {time!r}; expected a time such as 10s, 500ms or 2m")
    return float(match[1]) * {"": 1, "s": 1, "ms": 1e-3, "m": 60}[match[2]]


def whole(name, value):
    try:
        return int(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} is {value!r}; expected a whole number") from None


def resolve(given):
    """All options, with the types the native side expects. An unknown name is a TypeError, a bad value a ValueError."""
    for name in given:
        if name not in DEFAULTS:
            raise TypeError(f"unknown option {name!r}; known: {', '.join(DEFAULTS)}")
    options = {}
    for name, default in DEFAULTS.items():
        value = given.get(name)
        if value is None:
            value = os.environ.get(f"TILECHECK_{name.upper()}", default)
        if value is not None:
            options[name] = whole(name, value) if name in WHOLE else seconds(value) if name == "budget" else value
    return options


def project_defaults(root):
    """[tool.tilecheck] of a project's pyproject.toml. A ValueError for a key that is none."""
    path = pathlib.Path(root) / "pyproject.toml"
    if not path.exists():
        return {}
    table = tomllib.loads(path.read_text()).get("tool", {}).get("tilecheck", {})
    for key in table:
        if key not in DEFAULTS:
            raise ValueError(f"{path.name}: [tool.tilecheck] has no {key!r}; known: {', '.join(DEFAULTS)}")
    return table
