"""The first host file of either role: what must be said, and a word about the rest. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from spoteval.config.toml_text import set_line

_GUEST = """\
# /etc/spoteval/config.toml of a guest, written by `spoteval setup guest`. It is yours to edit.
# `spoteval config show` prints every value in force; all keys: docs/configuration.md.

[host]
role = "guest"
{instance}
[disk]                                # nothing is written before this disk has proved itself
{disk}
[provider]
{provider}
{store}
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
_RESTARTER = """\
# /etc/spoteval/config.toml of a restarter host, written by `spoteval setup restarter`. It is yours to edit.
# `spoteval config show` prints every value in force; all keys: docs/configuration.md.

[host]
role = "restarter"
{holds}{store}
[instance.{instance}]
{provider}# type = "gpu-h200-sxm/8gpu"          # held against types of [grant]
# region = "eu-north1"                # held against regions of [grant]
# ssh = "eval@10.0.0.7"               # lets `spoteval stop --no-resume` place the guest hold
# price = {{ amount = 11.60, currency = "USD", per = "hour", as_of = 2026-11-20 }}   # without a live price

# [grant]                             # outer limits; a run may tighten them, never loosen
# price_cap = {{ amount = 14.00, currency = "USD", per = "hour" }}
# spend = {{ amount = 1500, currency = "USD" }}
# starts = 60
# until = 2026-12-31T00:00:00Z
"""
_S3_COMMENTS = {
    "endpoint_url": '# endpoint_url = "https://storage.example.net"    # of an S3 service other than AWS\n',
    "region": '# region = "eu-north1"\n',
    "credential": '# credential = "{credential}"            # file in /etc/spoteval/credentials/, mode 0600\n',
}


@dataclass(frozen=True, slots=True)
class StoreDraft:
    """`[store]`. What is not said stands there as a comment, for a store that has it."""

    url: str
    others: Mapping[str, str] = field(default_factory=dict)
    """endpoint_url, region and credential, as far as they are said."""

    def text(self, same_as: str, credential: str) -> str:
        """The table; `same_as` is the host that must say the same."""
        lines = ["\n[store]\n", set_line("url", self.url, f"the same as on the {same_as}")]
        for name, comment in _S3_COMMENTS.items():
            if name in self.others:
                lines.append(set_line(name, self.others[name]))
            elif self.url.startswith("s3://"):
                lines.append(comment.format(credential=credential))
        return "".join(lines)


@dataclass(frozen=True, slots=True)
class GuestDraft:
    """The answers to what only a person knows, and the disk's own identity."""

    instance: str
    provider: str
    store: StoreDraft
    path: Path
    identity: str
    uuid: str | None
    more: Mapping[str, object] = field(default_factory=dict)
    """Further keys of [provider]."""

    def text(self) -> str:
        """The host file."""
        disk = {"path": str(self.path), "identity": self.identity}
        return _GUEST.format(
            instance=set_line("instance", self.instance, "the same name as on the restarter host"),
            disk=_lines(disk if self.uuid is None else {**disk, "uuid": self.uuid}),
            provider=_lines({"kind": self.provider, **self.more}),
            store=self.store.text("restarter host", "publisher"),
        )


@dataclass(frozen=True, slots=True)
class RestarterDraft:
    """The answers to what only a person knows; without a store, holds are files of this host alone."""

    instance: str
    provider: str
    id: str
    store: StoreDraft | None
    more: Mapping[str, object] = field(default_factory=dict)
    """Further keys of the instance."""

    def text(self) -> str:
        """The host file."""
        alone = set_line("holds", ["local"], "files of this host alone: there is no store")
        provider = set_line("provider", self.provider)
        name = set_line("id", self.id, "the provider's own; private: never in a shared report")
        return _RESTARTER.format(
            instance=self.instance,
            holds="" if self.store is not None else alone,
            provider=f"{provider}{name}{_lines(self.more)}",
            store="" if self.store is None else self.store.text("guest", "control"),
        )


def _lines(keys: Mapping[str, object]) -> str:
    return "".join(set_line(name, value) for name, value in keys.items())
