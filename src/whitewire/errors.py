"""The one error that is meant for the user's eyes."""


class UserError(Exception):
    """Something the user can put right. Shown as one line, without a traceback, exit status 2."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(str(message).split()))
