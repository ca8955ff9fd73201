"""Pure models that a claim or an audit entry can name as `<module>.<function>`.

Every function takes numbers (units in its docstring) and returns one number; none reads a file.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable

from whitewire.models import amdahl, cost, disks, fabric_ports, maxmin, namenode, raid, striping

MODELS: dict[str, Callable[..., float]] = {
    "amdahl.speedup": amdahl.speedup,
    "amdahl.scaling_share": amdahl.scaling_share,
    "cost.total": cost.total,
    "cost.break_even_nodes": cost.break_even_nodes,
    "cost.running_ratio": cost.running_ratio,
    "disks.shared_rate": disks.shared_rate,
    "disks.node_rate": disks.node_rate,
    "disks.node_to_link_ratio": disks.node_to_link_ratio,
    "fabric_ports.cables": fabric_ports.cables,
    "fabric_ports.most_hosts": fabric_ports.most_hosts,
    "fabric_ports.oversubscription": fabric_ports.oversubscription,
    "fabric_ports.ports_per_node": fabric_ports.ports_per_node,
    "fabric_ports.switches": fabric_ports.switches,
    "maxmin.put_throughput": maxmin.put_throughput,
    "namenode.files": namenode.files,
    "raid.fatal_sets": raid.fatal_sets,
    "raid.loss_time_ratio": raid.loss_time_ratio,
    "raid.storage_factor": raid.storage_factor,
    "raid.time_to_loss": raid.time_to_loss,
    "raid.tolerated_losses": raid.tolerated_losses,
    "raid.usable": raid.usable,
    "striping.busy_share": striping.busy_share,
    "striping.copy_time": striping.copy_time,
    "striping.hdfs_write_rate": striping.hdfs_write_rate,
    "striping.needed_cache_share": striping.needed_cache_share,
    "striping.network_copies": striping.network_copies,
    "striping.output_busy_share": striping.output_busy_share,
    "striping.split_efficiency": striping.split_efficiency,
    "striping.split_efficiency_ratio": striping.split_efficiency_ratio,
    "striping.striped_rate": striping.striped_rate,
    "striping.task_speedup": striping.task_speedup,
    "striping.task_time": striping.task_time,
    "striping.undisturbed_share": striping.undisturbed_share,
}
"""The closed list of models by the name that a paper's YAML uses."""


def model_arguments(name: str) -> list[str]:
    """Names of a model's arguments, in their order. Raises KeyError for an unknown model."""
    return list(inspect.signature(MODELS[name]).parameters)
