"""Pure models that a claim or an audit entry can name as `<module>.<function>`.

Every function takes numbers (units in its docstring) and returns one number; none reads a file.
"""

from __future__ import annotations

from collections.abc import Callable

from whitewire.models import amdahl, disks, maxmin

MODELS: dict[str, Callable[..., float]] = {
    "amdahl.speedup": amdahl.speedup,
    "amdahl.scaling_share": amdahl.scaling_share,
    "disks.shared_rate": disks.shared_rate,
    "disks.node_rate": disks.node_rate,
    "disks.node_to_link_ratio": disks.node_to_link_ratio,
    "maxmin.put_throughput": maxmin.put_throughput,
}
"""The closed list of models by the name that a paper's YAML uses."""
