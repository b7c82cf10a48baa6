"""The first host file of a guest: what must be said, and a word about the rest. Pure."""

import json
from dataclasses import dataclass
from pathlib import Path

_TEXT = """\
# /etc/spoteval/config.toml of a guest, written by `spoteval setup guest`. It is yours to edit.
# `spoteval config show` prints every value in force; all keys: docs/configuration.md.

[host]
role = "guest"
instance = {instance}              # the same name as on the restarter host

[disk]                                # nothing is written before this disk has proved itself
path = {path}
identity = {identity}
{uuid}
[provider]
kind = {provider}

[store]
url = {store}                         # the same as on the restarter host

# [[server]]                          # one for each model server; all must be ready before the run resumes
# unit = "vllm.service"               # your own unit, enabled at boot
# url = "http://127.0.0.1:8000"
# model = "the-served-name"
# credential = "model-key"            # file in /etc/spoteval/credentials/, mode 0600

# [run]                               # the template that `spoteval run new NAME` freezes
# harness = "inspect"
# args = ["task.py", "--model", "openai-api/local/the-served-name"]
# settlement = "fresh_budget"
# user = "eval"                       # the run's own user

# [run.secret_env]                    # variable = file in /etc/spoteval/credentials/
# LOCAL_API_KEY = "model-key"

# [idle]
# gpu = false                         # where there is none
"""


@dataclass(frozen=True, slots=True)
class Draft:
    """The answers to what only a person knows, and the disk's own identity."""

    instance: str
    provider: str
    store: str
    path: Path
    identity: str
    uuid: str | None

    def text(self) -> str:
        """The host file."""
        uuid = f"uuid = {_quoted(self.uuid)}\n" if self.uuid is not None else ""
        return _TEXT.format(
            instance=_quoted(self.instance),
            path=_quoted(str(self.path)),
            identity=_quoted(self.identity),
            uuid=uuid,
            provider=_quoted(self.provider),
            store=_quoted(self.store),
        )


def _quoted(text: str) -> str:
    """A TOML basic string: JSON's, but for the one character that TOML escapes and JSON does not."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
