"""Number of files that fit into a NameNode's memory.

Shvachko (;login: 35(2), 2010, "HDFS scalability: the limits to growth") estimates less than 200 bytes per object (file
or block), and 1.5 blocks, so at most two block objects, for an average file: 600 bytes per file.
"""

from __future__ import annotations


def files(heap_gb: float, object_bytes: float, objects_per_file: float) -> float:
    """Files that a heap of `heap_gb` (10^9 bytes) holds at `object_bytes` per object."""
    if heap_gb < 0 or object_bytes <= 0 or objects_per_file <= 0:
        raise ValueError("the heap must be at least 0, sizes and counts above 0")
    return heap_gb * 1e9 / (object_bytes * objects_per_file)
