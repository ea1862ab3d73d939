"""Makes the corpora of the payload fuzzers from tests/fixtures: stablehlo (modules), backend_config (JSON), base64 and
bytecode (bodies), verifier (the same bodies). Standard library only.

Usage: make_payloads.py
"""

import base64
import json
import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent
FIXTURES = HERE.parents[1] / "fixtures"
KERNELS = ["relu_2x_plus_1", "dynamic_grid", "gather_blocks", "ring_permute", "scoped_scratch", "softmax_rows", "dma_double_buffer", "matmul"]


def unescape(text):
    return re.sub(r"\\([0-9A-Fa-f]{2})", lambda m: chr(int(m[1], 16)), text)


def write(folder, name, data):
    path = HERE / folder
    path.mkdir(exist_ok=True)
    (path / name).write_bytes(data)


def main():
    for name in KERNELS:
        text = (FIXTURES / name / "module.mlir").read_text()
        config = unescape(re.search(r'backend_config = "((?:[^"\\]|\\.)*)"', text)[1])
        parsed = json.loads(config)
        body = parsed["custom_call_config"]["body"]
        # The scan does not look into the config, and JSON not into the body: short ones leave more to change.
        parsed["custom_call_config"]["body"] = "TUzvUg=="
        write("stablehlo", f"{name}.mlir", re.sub(r'backend_config = "(?:[^"\\]|\\.)*"', r'backend_config = "{\\22a\\22: 1}"', text).encode())
        write("backend_config", f"{name}.json", json.dumps(parsed).encode())
        write("bytecode", f"{name}.mlirbc", base64.b64decode(body))
        write("verifier", f"{name}.mlirbc", base64.b64decode(body))
    everything = {
        "custom_call_config": {
            "body": "", "has_communication": True, "collective_id": 7, "needs_hlo_passes": True, "serialization_format": 1,
            "cost_estimate": {"flops": 1, "transcendentals": 2, "bytes_accessed": 3, "remote_bytes_transferred": 4},
            "needs_layout_passes": True, "shape_invariant_numerics": False, "allow_input_fusion": [True, False],
            "internal_scratch_in_bytes": 4096, "output_memory_space_colors": [{"color": 1, "shape_index": [2]}],
            "input_memory_space_colors": [{"operand_index": 3, "color": 1}], "disable_bounds_checks": True,
            "disable_semaphore_checks": True, "skip_device_barrier": True},
        "scoped_memory_configs": [{"memory_space": 1, "offset": 0, "size": 1048576}],
        "flag_configs": [{"flag_type": "F", "value": {"boolean_value": True}}]}
    write("backend_config", "everything.json", json.dumps(everything).encode())
    for version in range(7):
        body = (FIXTURES / f"bytecode/softmax_v{version}.mlirbc").read_bytes()
        write("bytecode", f"softmax_v{version}.mlirbc", body)
    for n in range(5):
        write("base64", f"bytes_{n}.txt", base64.b64encode(bytes(range(40, 40 + n))))


if __name__ == "__main__":
    main()
