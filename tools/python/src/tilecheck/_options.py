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
    "remote_order": "in-order",
    "on_finding": "raise",
    "error_on": "error",
}
LEAST = {"seed": 0, "threads": 1, "cores": 1}  # of those that are whole numbers
TAKE_OVER = "take_over_interpret"  # what a door takes; the kernels' own options are those above


def seconds(time):
    """10, "10s", "500ms" or "2m" as seconds."""
    match = re.fullmatch(r"([0-9.]+)(s|ms|m|)", str(time))
    if not match or match[1].count(".") > 1:
        raise ValueError(f"budget is {time!r}; expected a time such as 10s, 500ms or 2m")
    return float(match[1]) * {"": 1, "s": 1, "ms": 1e-3, "m": 60}[match[2]]


def whole(name, value):
    try:
        number = int(value)
    except (TypeError, ValueError):
        number = None
    if number is None or number < LEAST[name] or not isinstance(value, str) and number != value:
        raise ValueError(f"{name} is {value!r}; expected a whole number of at least {LEAST[name]}")
    return number


def yes_or_no(name, value):
    words = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False, "": False}
    try:
        return words[str(value).lower()]
    except KeyError:
        raise ValueError(f"{name} is {value!r}; expected true or false") from None


def from_environment(name):
    return os.environ.get(f"TILECHECK_{name.upper()}")


def take_over_interpret(given):
    """Whether calls that ask for interpret=... are run too: `given`, else what the environment says, else not."""
    if given is None:
        given = from_environment(TAKE_OVER) or False
    return yes_or_no(TAKE_OVER, given)


def explores(given):
    """Whether the schedule that `given` comes to tries several orders, as alone a budget bounds."""
    schedule = given.get("schedule") or from_environment("schedule") or DEFAULTS["schedule"]
    return str(schedule).partition(":")[0] in ("explore", "exhaustive")


def resolve(given):
    """All options, with the types the native side expects. An unknown name is a TypeError, a bad value a ValueError."""
    for name in given:
        if name not in DEFAULTS:
            raise TypeError(f"unknown option {name!r}; known: {', '.join(DEFAULTS)}")
    if given.get("budget") is not None and not explores(given):
        seconds(given["budget"])
        raise ValueError("budget is for the schedules explore and exhaustive")
    options = {}
    for name, default in DEFAULTS.items():
        value = given.get(name)
        if value is None:
            value = from_environment(name)
        if value is None:
            value = default
        if name == "checks" and not isinstance(value, str):
            value = ",".join(value)
        if value is not None:
            options[name] = whole(name, value) if name in LEAST else seconds(value) if name == "budget" else value
    return options


def with_project_defaults(root, given):
    """What is given, else what the project says. Its budget is for the runs that explore."""
    merged = project_defaults(root) | given
    if given.get("budget") is None and not explores(merged):
        merged.pop("budget", None)
    return merged


def project_defaults(root):
    """[tool.tilecheck] of a project's pyproject.toml, but for what the environment says otherwise. A ValueError for a key
    that is none."""
    path = pathlib.Path(root) / "pyproject.toml"
    if not path.exists():
        return {}
    table = tomllib.loads(path.read_text()).get("tool", {}).get("tilecheck", {})
    known = [*DEFAULTS, TAKE_OVER]
    for key in table:
        if key not in known:
            raise ValueError(f"{path.name}: [tool.tilecheck] has no {key!r}; known: {', '.join(known)}")
    return {key: ",".join(value) if isinstance(value, list) else value
            for key, value in table.items() if from_environment(key) is None}
