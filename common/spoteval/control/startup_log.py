"""How far a server's start is, by what it wrote last: a table of patterns, and nothing of the server's own words.

A line of a log can hold a key, so only these texts and the figures in them are repeated. Wording shifts between
releases: what no pattern knows is no stage, never a wrong one.
"""

import re

_STAGES = tuple(
    (re.compile(pattern), text)
    for pattern, text in (
        # vLLM
        (r"vLLM API server version", "starting"),
        (r"Initializing a V1 LLM engine", "starting the engine"),
        (r"Loading \S+ checkpoint shards:\s+(\d{1,3})%", "loading weights {} %"),
        (r"Loading weights took|Model loading took", "weights loaded"),
        (r"Dynamo bytecode transform time|Compiling a graph for", "compiling"),
        (r"torch\.compile takes|Directly load AOT compilation", "compiled"),
        (r"GPU KV cache size", "cache allocated"),
        (r"Capturing CUDA graphs?\D*(\d{1,3})%", "capturing graphs {} %"),
        (r"Graph capturing finished|init engine .* took", "graphs captured"),
        (r"Application startup complete", "port about to open"),
        # SGLang
        (r"Init torch distributed begin", "starting the engine"),
        (r"Load weight begin", "loading weights"),
        (r"Load weight end", "weights loaded"),
        (r"KV Cache is allocated|Memory pool end", "cache allocated"),
        (r"Capture cuda graph begin", "capturing graphs"),
        (r"Capture cuda graph end", "graphs captured"),
        (r"Uvicorn running on", "warming up"),
        # llama.cpp and llama-cpp-python
        (r"load_tensors: .*buffer size", "loading weights"),
        (r"warming up the model", "warming up"),
        # TGI
        (r"Waiting for shard to be ready", "loading weights"),
        (r"Warming up model", "warming up"),
        # What ends a start, whoever writes it
        (r"CUDA out of memory|torch\.OutOfMemoryError", "out of GPU memory"),
        (r"[Aa]ddress already in use", "the port is taken"),
        (r"No space left on device", "no space left on a disk"),
        (r"CUDA error|no CUDA-capable device", "a CUDA error"),
    )
)


def stage(text: str) -> str | None:
    """The stage that the last known words of a log tell of; None where none is known."""
    found = [
        (matches[-1].start(), words.format(*matches[-1].groups()))
        for pattern, words in _STAGES
        if (matches := list(pattern.finditer(text)))
    ]
    return max(found)[1] if found else None
