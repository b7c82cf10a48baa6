"""What was not done, and why."""


class Refused(Exception):
    """Asked for, understood, and not done: one line with what is allowed or what to type. Exit 3.

    `subject` begins the line instead of the verb (a path, or the verb with its arguments).
    """

    def __init__(self, why: str, subject: str | None = None) -> None:
        super().__init__(why)
        self.subject = subject


class Failed(Exception):
    """Tried, and not done or not known to be done: one line. Exit 1."""
