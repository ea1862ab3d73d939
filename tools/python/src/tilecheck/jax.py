"""Pallas TPU kernels of JAX programs, run on the CPU by Tilecheck.

    with tilecheck.jax.enable(target="v5e"):
        train()

jax.jit, grad, vmap and shard_map work as ever; each pallas_call runs in the simulator.
"""

import functools

import jax

from tilecheck import _executor, _lowering, _native, _report


class enable:
    """From here on (or in a `with` block, or in a decorated function) this process's pallas_calls run in Tilecheck.

    target: the chip. checks: which groups of findings, of memory, init, race, sync, fit. schedule: lazy, eager, random:N, ...
    on_finding: raise (a JaxRuntimeError, or, out of a `with` block or decorated function, a tilecheck.FindingError), warn
    (on stderr) or collect (see reports()). numerics: exact, mxu or f64. take_over_interpret: also calls that ask for
    interpret=True. What is not given comes from TILECHECK_TARGET, TILECHECK_CHECKS, ..."""

    def __init__(self, target=None, checks=None, schedule=None, on_finding=None, *, take_over_interpret=False, **more):
        given = dict(target=target, checks=checks, schedule=schedule, on_finding=on_finding, **more)
        self.executor = _executor.Executor(given, take_over_interpret)
        self._undo = []
        self._switch_on()

    def _switch_on(self):
        _executor.register()
        self._undo.append((_lowering.set_lowered_by(self.executor), _lowering.set_answers(self.executor.target)))

    def disable(self):
        """Back to what was before."""
        lowered_by, answers = self._undo.pop()
        _lowering.set_lowered_by(lowered_by)
        _lowering.set_answers(answers)

    def __enter__(self):
        if not self._undo:
            self._switch_on()
        return self

    def __exit__(self, kind, error, trace):
        self.disable()
        if isinstance(error, jax.errors.JaxRuntimeError):
            translated = _executor.translate(error)
            if translated is not None:
                raise translated from error

    def __call__(self, fn):
        self.disable()

        @functools.wraps(fn)
        def wrapped(*args, **kwargs):
            with self:
                return jax.block_until_ready(fn(*args, **kwargs))

        return wrapped


def reports():
    """What the kernels run so far reported, as a tilecheck.Report."""
    jax.effects_barrier()
    return _report.report_of(_native.call("reports", 0))


def clear_reports():
    _native.library().tilecheck_clear_reports()


def cache_stats():
    """Hits, misses and kernels of the cache of decoded payloads."""
    return _native.call("cache_stats")
