"""Fits the latencies and weights of sim/fit/time_table.cc on measured bodies.

    conformance_time --features features.jsonl && python3 fit_time.py features.jsonl [MORE.jsonl ...]

Every line of a features file is a body: its straight runs of code as the model sees them, and the cycles that the TPU
compiler scheduled. Two thirds of the modules are fitted, the rest (by a hash of the name, as in measured.cc) held out.
Needs numpy and scipy.
"""
import json
import sys

import numpy as np
from scipy.optimize import least_squares

NAMES = ["lane_reduce", "lane_accumulate", "sublane_reduce", "transpose", "transcendental", "matmul", "matmul_in_order",
         "busiest_unit", "second_unit", "weight_push", "region", "step", "window"]
START = np.array([100, 1, 30, 150, 8, 160, 0.3, 0.95, 0.05, 1.5, 30, 15, 17], float)
MOST = np.array([300, 8, 100, 500, 60, 400, 1.0, 1.2, 0.6, 4, 120, 120, 60], float)
LEAST = np.array([20, 0, 0, 20, 0, 50, 0.0, 0.6, 0.0, 0, 0, 0, 0], float)


def held_out(name):
    h = 14695981039346656037
    for c in name.encode():
        h = ((h ^ c) * 1099511628211) & 0xFFFFFFFFFFFFFFFF
    return h % 3 == 0


def chain_cycles(chain, p, in_order):
    done, longest, last = [], 0.0, 0.0
    for after, kind, accumulated, transposes in chain:
        at = max((done[i] for i in after), default=0.0)
        if kind == 1:
            at += p[0] + p[1] * accumulated
        elif kind == 2:
            at += p[2]
        elif kind == 3:
            at += p[3]
        elif kind == 4:
            at += p[4]
        elif kind == 5:
            if in_order:
                at = last = max(at, last)
            at += p[5] + (p[3] if transposes else 0)
        done.append(at)
        longest = max(longest, at)
    return longest


def predict(body, p):
    cycles = p[11] + p[12] * body["windows"]
    for r in body["regions"]:
        chain = (1 - p[6]) * chain_cycles(r["chain"], p, False) + p[6] * chain_cycles(r["chain"], p, True)
        cycles += p[10] + chain + p[7] * r["busiest"] + p[8] * r["second"] + p[9] * r["push"]
    return cycles


def fit(bodies):
    truth = np.array([b["cycles"] for b in bodies], float)

    def residual(x):
        return np.array([predict(b, x * START) for b in bodies]) / truth - 1

    found = least_squares(residual, np.ones(len(START)), bounds=(LEAST / START, MOST / START), loss="soft_l1",
                          f_scale=0.05, max_nfev=40)
    return found.x * START


def slim(body):
    # Nodes without latency only pass on what they wait for.
    for r in body["regions"]:
        keep, out = {}, []
        for i, (after, kind, accumulated, transposes) in enumerate(r["chain"]):
            needs = sorted({k for a in after for k in keep[a]})
            if kind == 0 and len(needs) <= 6:
                keep[i] = needs
            else:
                keep[i] = [len(out)]
                out.append((needs, kind, accumulated, transposes))
        r["chain"] = out
    return body


def main(paths):
    bodies = [slim(json.loads(line)) for path in paths for line in open(path)]
    for generation in sorted({b["gen"] for b in bodies}):
        mine = [b for b in bodies if b["gen"] == generation]
        held = [b for b in mine if held_out(b["module"])]
        fitted = [b for b in mine if not held_out(b["module"])]
        p = fit(fitted)
        for what, part in (("fitted", fitted), ("held out", held)):
            e = np.array([predict(b, p) / b["cycles"] - 1 for b in part])
            print(f"{generation} {what} {len(part)}: median {np.median(abs(e)):.1%} p90 {np.percentile(abs(e), 90):.1%}")
        families = sorted({b["family"] for b in mine})
        for f in families:
            e = [predict(b, p) / b["cycles"] - 1 for b in mine if b["family"] == f]
            print(f"   {f}: median error {np.median(np.abs(e)):.1%}, bias {np.median(e):+.1%}")
        print("   " + ", ".join(f".{n} = {v:.3g}" for n, v in zip(NAMES, p)))


if __name__ == "__main__":
    main(sys.argv[1:])
