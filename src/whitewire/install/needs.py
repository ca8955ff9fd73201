"""What this project asks of a machine, beside what a testbed's own description asks."""

DISK_GIB = 3.0
"""Free space that a full run and its reports may take."""
