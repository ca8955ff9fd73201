"""Records of blocks, made up."""

BLOCK = {
    "block": "quick-1",
    "runs": [],
    "given_up": [],
    "unavailable": {},
    "seconds": 1.0,
    "commit": "",
    "modified": False,
    "software": "",
}
"""What every block.json has."""
