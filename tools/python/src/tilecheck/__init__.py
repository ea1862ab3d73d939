"""Tilecheck from Python: Pallas TPU programs captured, checked and run on a CPU."""

from tilecheck._capture import capture

__all__ = ["capture"]
