"""Eight devices for every test, and the fixtures of this repository as kernels to run."""

import os
import sys

from package import PATHS, ROOT

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"
sys.path[:0] = [*PATHS, str(ROOT / "tests/fixtures")]
