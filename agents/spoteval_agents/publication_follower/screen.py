"""Looks through what is about to be published: a file that holds a configured secret is withheld."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from spoteval.config.guest import GuestConfig
from spoteval.config.shared import ConfigError
from spoteval.control.dropins import credential_names
from spoteval.control.secrets import read_credential
from spoteval.episode import Attempt
from spoteval.publication.needles import Needles, Stream, needles_of, secrets_in
from spoteval.run import RunRecord
from spoteval_agents.publication_follower.work import Ident

Members = Callable[[Path], Iterator[tuple[str, Callable[[], bytes]]]]
"""What is in a container: a key that changes with the content, and how to read it."""


class Withheld(Exception):
    """The file holds a configured secret: it is not published, and a person is called. Says which, never what.

    `ident` is the whole file as it was then.
    """

    def __init__(self, why: str, ident: Ident | None = None) -> None:
        super().__init__(why)
        self.ident = ident


def _no_members(path: Path) -> Iterator[tuple[str, Callable[[], bytes]]]:  # noqa: ARG001
    return iter(())


def secret_of(credential: str) -> str:
    """Why something is withheld."""
    return f'holds the secret of credential "{credential}"'


@dataclass(slots=True)
class Screen:
    """What to look for, and what of containers was looked through already."""

    needles: Needles = field(default_factory=Needles)
    complaints: tuple[str, ...] = ()
    members: Members = _no_members
    _clean: set[str] = field(default_factory=set, init=False)

    def stream(self) -> Stream:
        """For one file."""
        return Stream(self.needles)

    def told(self, attempt: Attempt) -> Attempt:
        """The attempt as witness line and manifest may tell it: a harness quotes its server, key and all."""
        return replace(
            attempt,
            verdict=self._told(attempt.verdict),
            error=self._told(attempt.error),
            limit=self._told(attempt.limit),
        )

    def _told(self, text: str | None) -> str | None:
        secret = None if text is None else self.needles.found_in(text.encode(errors="replace"))
        return text if secret is None else f"withheld: {secret_of(secret)}"

    def inside(self, path: Path) -> str | None:
        """The credential of which a secret stands in a member of this container; None for what is none."""
        if not self.needles.forms:
            return None
        for key, read in self.members(path):
            if key in self._clean:
                continue
            try:
                found = self.needles.found_in(read())
            except ValueError:  # a torn member: nobody can read a secret out of it either
                continue
            if found is not None:
                return found
            self._clean.add(key)
        return None


def screen_of(
    config: GuestConfig, record: RunRecord, credentials: Path, members: Members = _no_members
) -> Screen:
    """For the secrets that the host file and the run name. One that cannot be read is said, and not looked for."""
    names = dict.fromkeys([*credential_names(config), *record.plan.secret_env.values()])
    secrets, complaints = dict[str, tuple[str, ...]](), list[str]()
    for name in names:
        try:
            secrets[name] = secrets_in(read_credential(credentials, name))
            if not secrets[name]:
                complaints.append(f"credential {name}: no secret is seen in it: none is looked for")
        except ConfigError as error:
            complaints.append(f"{error}; what holds its secret is not withheld")
    needles = needles_of(secrets)
    return Screen(needles, (*complaints, *needles.ignored), members)
