"""Files on the durable disk: whole files, appended logs, locks. Every write of the product passes here."""

from spoteval.files.append import (
    Lines,
    append_line,
    append_lines,
    lines_of,
    parse_lines,
    read_last,
    read_lines,
)
from spoteval.files.copy import copy_file
from spoteval.files.lock import Taken, held, is_held
from spoteval.files.owner import give_path_to_owner, make_folder
from spoteval.files.read import parse_record, read_record, read_text
from spoteval.files.spare import lay_spare, move_spare, write_spare
from spoteval.files.whole import (
    encoded,
    json_line,
    move_aside,
    remove,
    sync,
    sync_directory,
    touch,
    write_new,
    write_new_record,
    write_pieces,
    write_record,
    write_whole,
)

__all__ = [
    "Lines",
    "Taken",
    "append_line",
    "append_lines",
    "copy_file",
    "encoded",
    "give_path_to_owner",
    "held",
    "is_held",
    "json_line",
    "lay_spare",
    "lines_of",
    "make_folder",
    "move_aside",
    "move_spare",
    "parse_lines",
    "parse_record",
    "read_last",
    "read_lines",
    "read_record",
    "read_text",
    "remove",
    "sync",
    "sync_directory",
    "touch",
    "write_new",
    "write_new_record",
    "write_pieces",
    "write_record",
    "write_spare",
    "write_whole",
]
