"""Raw tool output → values. Pure functions on bytes or text, one module a tool."""


class Unreadable(ValueError):
    """Tool output that is cut off, of another form, or that reports an error; the message is one line."""
