"""The .deb of this checkout, and a newer build of the same."""

import re
import shutil
from pathlib import Path

from lab.root import BUILD_DEB, with_product
from lab.shell import PLAIN, call
from lab.world import Kit

BUILD_S = 600.0


def kit(place: Path) -> Kit:
    """All that the scenes need of the package."""
    deb = build(place / "deb")
    return Kit(deb, newer(deb, place / "deb"), with_product(deb, place / "product"))


def build(place: Path) -> Path:
    """Made by packaging/build-deb, as a person makes it."""
    place.mkdir(parents=True, exist_ok=True)
    argv = [str(BUILD_DEB), "--output", str(place)]
    return Path(call(argv, BUILD_S, PLAIN).split()[-1])


def newer(deb: Path, place: Path) -> Path:
    """The same files and scripts under a later version."""
    tree = place / "newer"
    call(["dpkg-deb", "--raw-extract", str(deb), str(tree)])
    control = tree / "DEBIAN" / "control"
    found = re.search(r"^Version: (.*)$", text := control.read_text(), re.MULTILINE)
    assert found is not None
    version = f"{found[1]}+later"
    control.write_text(text.replace(f"Version: {found[1]}", f"Version: {version}"))
    built = place / f"spoteval_{version}_all.deb"
    call(["dpkg-deb", "--root-owner-group", "--build", str(tree), str(built)])
    shutil.rmtree(tree)
    return built
