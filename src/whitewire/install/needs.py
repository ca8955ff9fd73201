"""Requirements on the machine in addition to those of a testbed's description."""

DISK_GIB = 3.0
"""Free space that a full run and its reports may take, in GiB."""
