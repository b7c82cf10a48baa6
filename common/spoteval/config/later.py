"""Keys that are accepted, so that one file serves this version and the next, and have no effect yet."""

from collections.abc import Iterator, Mapping, Sequence

from spoteval.config.shared import HostFile

# By role: table (a name with `.*` stands for every table below it) and keys; no keys = the whole table.
LATER: Mapping[str, Mapping[str, Sequence[str]]] = {
    "guest": {
        "store": ("endpoint_url", "region", "credential"),
        "publication": ("multipart_above", "bandwidth_limit"),
        "server": ("restarts", "compile_cache", "weights"),
        "run": ("user", "order", "containers", "stop_rules"),
        "idle": ("gpu_above", "io_above", "logins_count", "keep_alive_warn"),
    },
    "restarter": {
        "store": ("endpoint_url", "region", "credential"),
        "instance.*": ("type", "region", "identity", "price", "stopped_price"),
        "poll": ("short_run", "loop_guard"),
        "grant": (
            "spend",
            "starts",
            "regions",
            "types",
            "until",
            "failed_starts",
            "preemptions_before_healthy",
            "preemptions_before_episodes",
        ),
        "costs": (),
        "monitor": (),
        "alerts": (),
    },
}


def without_effect(file: HostFile) -> tuple[str, ...]:
    """What this host file sets in vain, as `[table] key` or `[table]`."""
    found = [
        f"[{place}] {key}" if key else f"[{place}]"
        for table, keys in LATER[file.role].items()
        for place, values in _tables(file.tables, table)
        for key in _set(keys, values)
    ]
    return tuple(dict.fromkeys(found))


def _set(keys: Sequence[str], values: Mapping[str, object]) -> Iterator[str]:
    if not keys:
        yield ""
    yield from (key for key in keys if key in values)


def _tables(tables: Mapping[str, object], name: str) -> Iterator[tuple[str, Mapping[str, object]]]:
    """The tables of that name in the file: one, a list of them, or all below it."""
    above = tables.get(name.removesuffix(".*"))
    if name.endswith(".*") and isinstance(above, Mapping):
        base = name.removesuffix(".*")
        yield from ((f"{base}.{key}", v) for key, v in above.items() if isinstance(v, Mapping))
    elif isinstance(above, Mapping):
        yield name, above
    elif isinstance(above, list):
        yield from ((f"[{name}]", item) for item in above if isinstance(item, Mapping))
