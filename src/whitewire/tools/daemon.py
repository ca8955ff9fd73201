"""Parser for the settings of a running Hadoop daemon, as its page /conf reports them one by one."""

from __future__ import annotations

from collections.abc import Collection

from whitewire.tools import Unreadable, documents, in_one_line


def settings_of_daemon(answers: str, names: Collection[str], server: str) -> dict[str, str]:
    """Name → value of the settings `names`, from a JSON object for each. Raises Unreadable if one is missing."""
    properties = [answer.get("property") for answer in documents(answers)]
    known = [each for each in properties if isinstance(each, dict)]
    found = {str(each.get("key")): each["value"] for each in known if isinstance(each.get("value"), str)}
    if missing := next((name for name in names if name not in found), None):
        raise Unreadable(f"{server}/conf: found {in_one_line(answers)}, expected {missing} with its value")
    return {name: found[name] for name in names}
