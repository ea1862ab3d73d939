"""Found first by every Python that `tilecheck exec` starts: switches Tilecheck on once JAX has been imported."""

import importlib.abc
import importlib.util
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [path for path in sys.path if os.path.abspath(path) != HERE]


class AfterJax(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name != "jax":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec("jax")
        if spec is not None:
            execute = spec.loader.exec_module

            def execute_and_start(module):
                execute(module)
                package = os.path.dirname(os.path.dirname(HERE))
                if importlib.util.find_spec("tilecheck") is None:
                    sys.path.append(package)
                from tilecheck import _exec

                _exec.start()

            spec.loader.exec_module = execute_and_start
        return spec


sys.meta_path.insert(0, AfterJax())

# The one that this one hides.
hidden = importlib.util.find_spec("sitecustomize")
if hidden is not None and hidden.origin and os.path.dirname(os.path.abspath(hidden.origin)) != HERE:
    hidden.loader.exec_module(importlib.util.module_from_spec(hidden))
