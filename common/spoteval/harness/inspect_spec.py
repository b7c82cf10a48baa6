"""What a log was begun with: a run that goes on with anything else measures something else."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# Settings of transport, which change no answer; Inspect leaves the same ones out when it matches a task to its logs.
_TRANSPORT = frozenset(
    (
        *("max_retries", "timeout", "attempt_timeout", "stream_idle_timeout", "max_connections"),
        *("adaptive_connections", "batch", "cache", "cache_prompt"),
    )
)
_LIMITS = ("message", "token", "turn", "time", "working", "cost")


@dataclass(frozen=True, slots=True)
class Spec:
    """The fingerprint of a log: settings by name, each as text, and whether its samples were named one by one."""

    eval_set: str | None
    settings: Mapping[str, str]
    dataset_samples: int
    """In the whole dataset, whatever of it was to run."""
    by_id: bool
    """Only samples that `--sample-id` named were to run."""
    created: str = ""
    """When the log was begun, as Inspect writes it."""


def spec_of(header: Mapping[str, Any]) -> Spec:
    """The fingerprint in the header of a log, or in what stands for it while there is none. Raises KeyError."""
    spec = header["eval"]
    config, eval_set = spec["config"], spec.get("eval_set_id")
    return Spec(
        eval_set=str(eval_set) if eval_set else None,
        settings={name: _text(value) for name, value in _settings(header, spec, config).items()},
        dataset_samples=int(spec["dataset"].get("samples") or 0),
        by_id=bool(config.get("sample_id")),
        created=str(spec.get("created") or ""),
    )


def changes(first: Spec, later: Spec) -> list[str]:
    """What is not as it was, each as `name old -> new`."""
    names = sorted(first.settings.keys() | later.settings.keys())
    pairs = (
        (name, first.settings.get(name, "none"), later.settings.get(name, "none")) for name in names
    )
    return [f"{name} changed {old} -> {new}" for name, old, new in pairs if old != new]


def _settings(
    header: Mapping[str, Any], spec: Mapping[str, Any], config: Mapping[str, Any]
) -> dict[str, object]:
    plan = header.get("plan") or {}
    limits = {f"{name}_limit": config.get(f"{name}_limit") for name in _LIMITS}
    return {
        "model": spec.get("model"),
        "model args": spec.get("model_args"),
        "model roles": _without_urls(spec.get("model_roles")),
        "generate config": _generate(spec.get("model_generate_config"), plan.get("config")),
        "task args": spec.get("task_args_passed", spec.get("task_args")),
        "task version": spec.get("task_version"),
        "solver": [step.get("solver") for step in plan.get("steps", ())],
        "dataset": spec["dataset"].get("name"),
        "epochs": config.get("epochs") or 1,
        **{name: value for name, value in limits.items() if value is not None},
    }


def _without_urls(value: object) -> object:
    """The address of a role's server may be another one after each boot."""
    if isinstance(value, dict):
        return {name: _without_urls(one) for name, one in value.items() if name != "base_url"}
    return [_without_urls(one) for one in value] if isinstance(value, list) else value


def _generate(*configs: Mapping[str, Any] | None) -> dict[str, Any]:
    given = {name: value for config in configs for name, value in (config or {}).items()}
    return {name: value for name, value in given.items() if name not in _TRANSPORT}


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)
