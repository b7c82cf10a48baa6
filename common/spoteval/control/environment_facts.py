"""Reading what a run is measured on: the machine's part, and what the host file says of the models."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from spoteval.config.server import ServerSettings
from spoteval.control.environment import HARNESS, NONE
from spoteval.machine.gpu_names import Gpus, gpus
from spoteval.run import RunPlan
from spoteval.shape import Reading, Unreadable

_PACKAGES = {
    "inspect": "inspect_ai",
    "lm-eval": "lm_eval",
    "harbor": "harbor",
    "mini-swe-agent": "mini_swe_agent",
}


def facts(
    plan: RunPlan,
    servers: Sequence[ServerSettings],
    look: Callable[[], Reading[Gpus | None]] = gpus,
) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """What is known by name, and why the rest is not. Starts nothing of the user's."""
    found = look()
    values, unknown = dict[str, str](), dict[str, str]()
    if isinstance(found, Unreadable):
        unknown["gpu"] = found.why
    elif found is None:
        values["gpu"] = NONE
    else:
        values |= {"gpu": found.name, "gpus": str(found.count), "driver": found.driver}
    version = harness_version(plan)
    if version is None:
        unknown[HARNESS] = f"no installed package beside {plan.executable or plan.harness}"
    else:
        values[HARNESS] = f"{plan.harness} {version}"
    return {**values, **{f"model.{item.name}": item.model for item in servers}}, unknown


def harness_version(plan: RunPlan) -> str | None:
    """By the package's own records in the environment of the executable: it need not run, which takes seconds."""
    package = _PACKAGES.get(plan.harness)
    executable = Path(plan.executable)
    if package is None or not executable.is_absolute():
        return None
    found = executable.parent.parent.glob(f"lib/python3*/site-packages/{package}-*.dist-info")
    versions = sorted(path.name for path in found)
    return versions[-1].removeprefix(f"{package}-").removesuffix(".dist-info") if versions else None
