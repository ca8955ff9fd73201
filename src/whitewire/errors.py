"""The errors that end a command or a run: one line for the eyes of the user."""


class UserError(Exception):
    """Something the user can put right. Shown as one line, without a traceback, exit status 2."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(str(message).split()))


class RunFailed(RuntimeError):
    """The workload did not do what it should; the message is the cause in one line."""
