"""control.secrets: credential files, checked, and never repeated."""

from pathlib import Path

import pytest

from spoteval.config.shared import ConfigError
from spoteval.control.secrets import read_secret, secret_environment

KEY = "sk-very-secret-1"


def credential(folder: Path, text: str = f"{KEY}\n", mode: int = 0o600) -> Path:
    """One credential file."""
    path = folder / "model-key"
    path.write_text(text)
    path.chmod(mode)
    return path


@pytest.mark.parametrize("text", [KEY, f"{KEY}\n", f"{KEY}\r\n"])
def test_the_line_without_its_end(tmp_path: Path, text: str) -> None:
    """A newline at the end belongs to the file, not to the key."""
    credential(tmp_path, text)
    assert read_secret(tmp_path, "model-key") == KEY


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_a_file_of_the_owner_alone_is_read(tmp_path: Path, mode: int) -> None:
    """0600, or what systemd makes of it."""
    credential(tmp_path, mode=mode)
    assert read_secret(tmp_path, "model-key") == KEY


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620])
def test_a_file_open_to_others_is_refused_with_the_way_out(tmp_path: Path, mode: int) -> None:
    """Any bit for group or others is too much."""
    path = credential(tmp_path, mode=mode)
    with pytest.raises(ConfigError) as error:
        read_secret(tmp_path, "model-key")
    assert str(error.value) == f"{path}: mode {mode:04o}, must be 0600 (chmod 600 {path})"


@pytest.mark.parametrize("text", ["", "\n", f"{KEY}\nsecond\n", f" {KEY}\n", f"{KEY}\x07\n", "é\n"])
def test_what_is_no_plain_line_is_refused_and_not_repeated(tmp_path: Path, text: str) -> None:
    """A header or an environment would carry it wrongly; the error names the file alone."""
    credential(tmp_path, text)
    with pytest.raises(ConfigError, match="must hold one line") as error:
        read_secret(tmp_path, "model-key")
    assert KEY not in str(error.value)


@pytest.mark.parametrize("name", ["", "../model-key", ".hidden", "a/b"])
def test_a_name_is_a_file_in_the_directory_and_nothing_else(tmp_path: Path, name: str) -> None:
    """No way out of the credentials directory."""
    credential(tmp_path)
    with pytest.raises(ConfigError, match="must be the name of a file in"):
        read_secret(tmp_path, name)


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    """With what belongs into it."""
    with pytest.raises(ConfigError) as error:
        read_secret(tmp_path, "model-key")
    assert str(error.value) == (
        f"{tmp_path / 'model-key'}: No such file or directory (one line with the key, mode 0600)"
    )


def test_the_variables_of_a_run(tmp_path: Path) -> None:
    """Two variables may share a file."""
    credential(tmp_path)
    names = {"LOCAL_API_KEY": "model-key", "JUDGE_API_KEY": "model-key"}
    found = secret_environment(tmp_path, names)
    assert found == {"LOCAL_API_KEY": KEY, "JUDGE_API_KEY": KEY}
