"""What kernels are run with: arguments, else TILECHECK_* environment variables, else defaults."""

import os

DEFAULTS = {
    "target": "v5e",
    "checks": "memory,init,race,sync,fit",
    "schedule": "lazy",
    "numerics": "exact",
    "seed": 0,
    "threads": None,  # as many as the machine has
    "cores": 1,
    "remote_order": "channel",
    "on_finding": "raise",
    "error_on": "error",
}


def resolve(given):
    """All options, with the types the native side expects. An unknown name is a TypeError."""
    for name in given:
        if name not in DEFAULTS:
            raise TypeError(f"unknown option {name!r}; known: {', '.join(DEFAULTS)}")
    options = {}
    for name, default in DEFAULTS.items():
        value = given.get(name)
        if value is None:
            value = os.environ.get(f"TILECHECK_{name.upper()}", default)
        if value is not None:
            options[name] = int(value) if name in ("seed", "threads", "cores") else value
    return options
