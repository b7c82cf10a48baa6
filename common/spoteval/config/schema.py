"""The JSON Schema of host files, from the same description that reads them."""

from collections.abc import Iterable, Sequence

from spoteval.config.described import SECTIONS, Section
from spoteval.settings.kinds import object_schema

DRAFT = "https://json-schema.org/draft/2020-12/schema"


def schema() -> dict[str, object]:
    """One schema for both roles; a TOML date is its text."""
    return {
        "$schema": DRAFT,
        "title": "spoteval host file, /etc/spoteval/config.toml",
        "oneOf": [_role(role, sections) for role, sections in SECTIONS.items()],
    }


def _role(role: str, sections: Sequence[Section]) -> dict[str, object]:
    return {
        "title": role,
        "type": "object",
        "additionalProperties": False,
        "properties": {section.name: _section(section) for section in sections},
        "required": [section.name for section in sections if section.required],
    }


def _section(section: Section) -> dict[str, object]:
    said = {"description": _first_line(section.settings)}
    table = _table(section)
    if section.many == "list":
        return {"type": "array", "items": table, **said}
    if section.many == "named":
        named = {"type": "object", "additionalProperties": table, "minProperties": 1}
        return {**named, **said}
    return {**table, **said}


def _table(section: Section) -> dict[str, object]:
    """One table; where its keys depend on the kind, one of several."""
    if not section.kinds:
        return object_schema(section.settings)
    return {"oneOf": list(_kinds(section))}


def _kinds(section: Section) -> Iterable[dict[str, object]]:
    for name, settings in section.kinds.items():
        table = object_schema(section.settings, settings)
        properties = table["properties"]
        assert isinstance(properties, dict)
        yield {
            **table,
            "title": name,
            "properties": {**properties, section.kind_key: {"const": name}},
        }


def _first_line(settings: type) -> str:
    return (settings.__doc__ or "").split("\n")[0]
