"""Whose a new file is: written by root, it belongs to whom its folder belongs.

People type as root what the agents have to read, append to and remove as their own user.
"""

import os
from pathlib import Path


def make_folder(path: Path) -> None:
    """Make a folder and those above it, each as its parent's owner would have. Raises OSError."""
    if path.is_dir():
        return
    make_folder(path.parent)
    path.mkdir(exist_ok=True)
    give_path_to_owner(path)


def give_path_to_owner(path: Path) -> None:
    """Give what was just made at `path` to the owner of its folder; nothing happens where we are not root."""
    if os.geteuid() == 0:
        above = path.parent.stat()
        os.chown(path, above.st_uid, above.st_gid, follow_symlinks=False)


def give_to_owner(descriptor: int, folder: Path) -> None:
    """Give an open file that was just made to the owner of its folder; nothing happens where we are not root."""
    if os.geteuid() == 0:
        above = folder.stat()
        os.fchown(descriptor, above.st_uid, above.st_gid)
