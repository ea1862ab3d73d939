"""What JAX's paged attention kernel gives in Tilecheck, in JAX's TPU interpret mode and in double precision, on the inputs
of JAX's own tests of it: whether a test that fails does so by the kernel's value or by what the test expects.

  python tests/conformance/paged_attention.py CHECKOUT CASE...      (a checkout as for jax_tests.py; 34 is test_paged_attention34)

The kernel rounds keys and values to bf16; so does the sum in double precision, and the test's own reference does not."""

import argparse
import os
import pathlib
import sys

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_allow_excess_precision=false"  # each operation rounds, as it does in a kernel

import jax.numpy as jnp
import numpy as np
import tilecheck
from jax._src import test_util
from jax.experimental.pallas import tpu as pltpu
from jax.experimental.pallas.ops.tpu import paged_attention


def in_double_precision(q, k_pages, v_pages, lengths, page_indices, attn_logits_soft_cap):
    """Of pages rounded to bf16. A sequence of length 0 gives 0."""
    q = np.asarray(q, np.float64)
    k_pages, v_pages = (np.asarray(jnp.asarray(p).astype(jnp.bfloat16), np.float64) for p in (k_pages, v_pages))
    heads, _, _, width = k_pages.shape
    out = np.zeros(q.shape)
    for i, length in enumerate(np.asarray(lengths)):
        if length == 0:
            continue
        k, v = (p[:, np.asarray(page_indices)[i]].reshape(heads, -1, width)[:, :length] for p in (k_pages, v_pages))
        scores = np.einsum("hgd,htd->hgt", q[i].reshape(heads, -1, width), k)
        if attn_logits_soft_cap:
            scores = np.tanh(scores / attn_logits_soft_cap) * attn_logits_soft_cap
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        out[i] = np.einsum("hgt,htd->hgd", weights / weights.sum(-1, keepdims=True), v).reshape(q.shape[1:])
    return out


def values_of(module, case):
    """The kernel's value three ways, and what the test expects, where sequences are not empty."""
    seen = {}
    kernel = paged_attention.paged_attention

    def three_ways(q, k_pages, v_pages, lengths, page_indices, **options):
        arguments = q, k_pages, v_pages, lengths, page_indices
        seen["live"] = np.asarray(lengths) > 0
        seen["tilecheck"] = kernel(*arguments, **options)
        with pltpu.force_tpu_interpret_mode(pltpu.InterpretParams()):
            seen["interpret"] = kernel(*arguments, **options)
        seen["double"] = in_double_precision(*arguments, options["attn_logits_soft_cap"])
        return seen["tilecheck"]

    def keep(actual, desired, **tolerance):
        seen["expected"] = np.asarray(desired, np.float64)

    test = module.PagedAttentionKernelTest(f"test_paged_attention{case}")
    compare = np.testing.assert_allclose
    paged_attention.paged_attention, np.testing.assert_allclose = three_ways, keep
    try:
        result = test.run()
    finally:
        paged_attention.paged_attention, np.testing.assert_allclose = kernel, compare
    if "expected" not in seen:
        sys.exit(f"test_paged_attention{case} compared nothing: {result.errors or result.skipped}")
    live = seen.pop("live")
    return {name: np.asarray(a, np.float64) if name == "expected" else np.asarray(a, np.float64)[live] for name, a in seen.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("cases", nargs="+", type=int)
    options = parser.parse_args()
    sys.path.insert(0, str(options.checkout / "tests/pallas"))
    test_util._TEST_DUT._set("tpu")
    tilecheck.jax.enable(target="v5e")
    import tpu_paged_attention_kernel_test

    print("largest difference of: Tilecheck and the interpret mode; each of these from double precision; Tilecheck and the test")
    for case in options.cases:
        v = values_of(tpu_paged_attention_kernel_test, case)
        pairs = [("tilecheck", "interpret"), ("tilecheck", "double"), ("interpret", "double"), ("tilecheck", "expected")]
        print(f"{case:4}", *(f"{np.abs(v[a] - v[b]).max():.1e}" for a, b in pairs), flush=True)


if __name__ == "__main__":
    main()
