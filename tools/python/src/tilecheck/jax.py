"""Pallas TPU kernels of JAX programs, run on the CPU by Tilecheck.

    with tilecheck.jax.enable(target="v5e"):
        train()

jax.jit, grad, vmap and shard_map work as ever; each pallas_call runs in the simulator.
"""

import functools

import jax

from tilecheck import _executor, _lowering, _native, _options, _report


class enable:
    """From here on (or in a `with` block, or in a decorated function) this process's pallas_calls run in Tilecheck.

    target: the chip. checks: which groups of findings, of memory, init, race, sync, fit. schedule: as `tilecheck run
    --schedule` takes it. on_finding: raise (a JaxRuntimeError, or, out of a `with` block or decorated function, a
    tilecheck.FindingError), warn (on stderr) or collect (see reports()). numerics: exact, mxu or f64.
    take_over_interpret: also calls that ask for interpret=True. What is not given comes from TILECHECK_TARGET,
    TILECHECK_CHECKS, ..."""

    def __init__(self, target=None, checks=None, schedule=None, on_finding=None, *, take_over_interpret=None, **more):
        given = dict(target=target, checks=checks, schedule=schedule, on_finding=on_finding, **more)
        self.executor = _executor.Executor(given, _options.take_over_interpret(take_over_interpret))
        self._switches = []
        self._switch_on()

    def _switch_on(self):
        _executor.register()
        self._switches.append(_lowering.switch_on(self.executor, self.executor.target))

    def disable(self):
        """Back to what was before."""
        _lowering.switch_off(self._switches.pop())

    def in_this_thread(self):
        """A context in which this thread's kernels run with these options, whatever others switch on meanwhile."""
        return _lowering.in_this_thread(self.executor, self.executor.target)

    def __enter__(self):
        if not self._switches:
            self._switch_on()
        return self

    def __exit__(self, kind, error, trace):
        self.disable()
        _raise_as_ours(error)

    def __call__(self, fn):
        self.disable()

        @functools.wraps(fn)
        def wrapped(*args, **kwargs):
            switch = _lowering.switch_on(self.executor, self.executor.target)
            try:
                with self.in_this_thread():
                    return jax.block_until_ready(fn(*args, **kwargs))
            except jax.errors.JaxRuntimeError as error:
                _raise_as_ours(error)
                raise
            finally:
                _lowering.switch_off(switch)

        return wrapped


def _raise_as_ours(error):
    translated = _executor.translate(error) if isinstance(error, jax.errors.JaxRuntimeError) else None
    if translated is not None:
        raise translated from error


def reports():
    """What the kernels run so far reported, as a tilecheck.Report."""
    jax.effects_barrier()
    return _report.report_of(_native.call("reports", 0))


def clear_reports():
    _native.library().tilecheck_clear_reports()


def cache_stats():
    """Hits, misses and kernels of the cache of decoded payloads."""
    return _native.call("cache_stats")
