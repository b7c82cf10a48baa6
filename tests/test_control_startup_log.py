"""control.startup_log: how far a start is, by lines as the servers wrote them; nothing else of theirs is repeated."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spoteval.control.startup_log import stage

VLLM = (
    "(APIServer pid=812) INFO 11-20 10:00:01 [api_server.py:1772] vLLM API server version 0.12.1\n"
    "(EngineCore pid=900) INFO 11-20 10:00:20 [core.py:77] Initializing a V1 LLM engine (v0.12.1)\n"
    "Loading safetensors checkpoint shards:   0% Completed | 0/7 [00:00<?, ?it/s]\r"
    "Loading safetensors checkpoint shards:  71% Completed | 5/7 [05:11<02:04]\n"
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", None),
        ("hello\n", None),
        (VLLM, "loading weights 71 %"),
        (VLLM + "Loading weights took 371.2 seconds\n", "weights loaded"),
        (VLLM + "Dynamo bytecode transform time: 12.9 s\n", "compiling"),
        (VLLM + "torch.compile takes 61 s in total\n", "compiled"),
        (VLLM + "GPU KV cache size: 611,232 tokens\n", "cache allocated"),
        (
            "Capturing CUDA graphs (mixed prefill-decode, PIECEWISE):  40%|##",
            "capturing graphs 40 %",
        ),
        ("Graph capturing finished in 19 secs, took 0.6 GiB\n", "graphs captured"),
        (
            "init engine (profile, create kv cache, warmup model) took 90.1 seconds\n",
            "graphs captured",
        ),
        ("INFO:     Application startup complete.\n", "port about to open"),
        ("[2026-02-22] Load weight begin. avail mem=78 GB\n", "loading weights"),
        ("Load weight begin\nLoad weight end. type=Qwen3\n", "weights loaded"),
        ("Capture cuda graph begin. This can take up to several minutes.\n", "capturing graphs"),
        ("INFO:     Uvicorn running on http://127.0.0.1:30000\n", "warming up"),
        ("load_tensors:   CPU_Mapped model buffer size =  2200.00 MiB\n", "loading weights"),
        ("INFO shard-manager: Waiting for shard to be ready...\n", "loading weights"),
        (VLLM + "torch.OutOfMemoryError: CUDA out of memory.\n", "out of GPU memory"),
        (VLLM + "OSError: [Errno 98] Address already in use\n", "the port is taken"),
    ],
)
def test_the_last_known_line_tells_the_stage(text: str, found: str | None) -> None:
    """In the order in which they were written, whatever stands between."""
    assert stage(text) == found
    assert stage(f"{text}\nnon-default args: {{'api_key': 'sk-secret'}}\n") == found


@given(st.text())
def test_no_text_breaks_it_or_comes_through(text: str) -> None:
    """What is said is one of a few phrases, with a figure at most."""
    found = stage(text)
    assert found is None or len(found) < 40
