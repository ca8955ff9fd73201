"""Whitewire re-measures the benchmarks of published papers and judges their claims by rule."""

__version__ = "0.2.0"
