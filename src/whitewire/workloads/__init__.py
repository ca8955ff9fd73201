"""Command lines of the measured programs: nothing else."""

from collections.abc import Mapping


def generic_options(settings: Mapping[str, object]) -> list[str]:
    """Settings of one call as Hadoop's generic options (-D name=value)."""
    return [f"-D{name}={value}" for name, value in settings.items()]
