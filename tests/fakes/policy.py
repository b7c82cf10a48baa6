"""The policies that the pages of docs/providers give to paste: what a fake lets an identity do is read from them."""

import json
import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent.parent.parent / "docs" / "providers"


def pasted(page: str, heading: str, language: str = "json") -> str:
    """The first block of that language below that heading."""
    text = (DOCS / f"{page}.md").read_text()
    section = re.search(rf"(?ms)^#+ {re.escape(heading)}$(.*?)(?=^#+ |\Z)", text)
    assert section is not None, f"docs/providers/{page}.md has no section {heading}"
    block = re.search(rf"(?ms)^```{language}\n(.*?)^```", section[1])
    assert block is not None, f"docs/providers/{page}.md, {heading}: no block of {language}"
    return block[1]


def pasted_json(page: str, heading: str) -> Any:
    """The same, parsed."""
    return json.loads(pasted(page, heading))
