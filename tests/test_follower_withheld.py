"""Files that hold a configured secret: withheld, a person called, everything else goes on."""

import base64
import json
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from follower_world import RUN, Guest
from spoteval.config.shared import ConfigError
from spoteval.control.secrets import read_credential
from spoteval.files import read_lines
from spoteval.harness.parts import members
from spoteval.publication.needles import Needles, Stream, needles_of, secrets_in
from spoteval.publication.pull import pull
from spoteval.store.keys import parse_keys
from spoteval_agents.publication_follower import evidence
from spoteval_agents.publication_follower.cycle import cycle
from spoteval_agents.publication_follower.job import World
from spoteval_agents.publication_follower.screen import Screen, Withheld, screen_of

SECRET = 'sk-very/secret+5"key'
NEEDLES = needles_of({"model-key": [SECRET]})


class Guarded(Guest):
    """A guest whose follower knows a secret."""

    needles: Needles = NEEDLES

    @property
    def world(self) -> World:
        """What the follower sees."""
        return replace(super().world, screen=lambda _: Screen(self.needles, members=members))


@pytest.fixture
def guest(tmp_path: Path) -> Guarded:
    """With an episode that leaked the key into one of its two files."""
    made = Guarded(tmp_path)
    leak = b"x" * 70 + b"OPENAI_API_KEY=" + SECRET.encode() + b"\n"
    made.finish("leaks", {"env.txt": leak, "log.txt": b"all is well\n"})
    made.finish("clean")
    return made


def line(guest: Guest) -> str:
    """The last decision line."""
    path = guest.disk.root / "decisions" / "publication-follower.jsonl"
    return str(read_lines(path).records[-1]["line"])


def calls(guest: Guest) -> list[str]:
    """What a person was called for."""
    records = read_lines(guest.paths.events).records
    return [str(one["reason"]) for one in records if one["kind"] == "needs_you"]


def everything(root: Path) -> Iterator[bytes]:
    """Every byte below a directory."""
    yield from (path.read_bytes() for path in root.rglob("*") if path.is_file())


def published_again(guest: Guest, passes: int = 3) -> None:
    """Some passes."""
    for _ in range(passes):
        guest.later(61.0)
        cycle(guest.world, guest.memory)


def test_the_part_is_withheld_and_the_rest_of_the_episode_goes_on(guest: Guarded) -> None:
    """Its manifest says which credential; the witness too, so that the run can become complete."""
    published_again(guest)
    parts = set(guest.keys("episodes/leaks/"))
    assert parts == {
        f"episodes/leaks/1/{name}" for name in ("MANIFEST.json", "episode.json", "log.txt")
    }
    manifest = json.loads(guest.store.get(f"runs/{RUN}/episodes/leaks/1/MANIFEST.json"))
    held = [part["name"] for part in manifest["parts"] if part.get("withheld") == "model-key"]
    assert held == ["env.txt"]
    assert {str(one["episode"]) for one in guest.witness()} == {"clean", "leaks"}
    assert not any(SECRET.encode() in data for data in everything(guest.root / "store"))


def test_a_person_is_called_once_with_file_and_credential(guest: Guarded) -> None:
    """The line counts it; a restart tells it no second time; the secret is nowhere of ours."""
    cycle(guest.world, guest.memory)
    assert "withheld=1 " in line(guest)
    assert "backlog=0 " in line(guest)
    (reason,) = calls(guest)
    assert reason == (
        'withheld: leaks attempt 1: withheld part env.txt holds the secret of credential "model-key"'
        " (replace the key, then restart the follower: docs/secrets.md)"
    )
    published_again(guest)
    guest.restart()
    published_again(guest)
    assert calls(guest) == [reason]
    assert guest.memory.held.keys() == {"leaks attempt 1: withheld part"}
    own = (guest.disk.root / "decisions", guest.disk.publication, guest.paths.events.parent)
    texts = [data for root in own for data in everything(root) if b"OPENAI" not in data]
    assert not any(SECRET.encode() in data for data in texts)


def test_an_error_that_quotes_the_key_is_told_without_it(guest: Guarded) -> None:
    """Neither the witness nor the manifest repeats it, and both are published."""
    folder = guest.paths.work / "episodes" / "quotes"
    folder.mkdir(parents=True)
    end = {"outcome": "harness_error", "error": f"Incorrect API key provided: {SECRET}"}
    (folder / "episode.json").write_text(json.dumps(end))
    published_again(guest)
    manifest = json.loads(guest.store.get(f"runs/{RUN}/episodes/quotes/1/MANIFEST.json"))
    assert manifest["error"] == 'withheld: holds the secret of credential "model-key"'
    assert any("/finished.jsonl/" in key for key in guest.keys("log/"))
    assert not any(SECRET.encode() in data for data in everything(guest.root / "store"))
    assert not any(
        json.dumps(SECRET)[1:-1].encode() in data for data in everything(guest.root / "store")
    )


def test_a_pass_without_news_asks_nothing_while_something_is_withheld(guest: Guarded) -> None:
    """Neither is it read again."""
    published_again(guest)
    guest.asked()
    published_again(guest)
    assert guest.asked() == []


def test_a_rotated_key_lifts_it_after_a_restart(guest: Guarded) -> None:
    """The very bytes that the manifest names; and a pull has them then."""
    published_again(guest)
    guest.needles = needles_of({"model-key": ["sk-another-secret-6"]})
    guest.restart()
    published_again(guest)
    assert guest.has("episodes/leaks/1/env.txt")
    assert guest.memory.held == {}
    found = pull(guest.store, RUN, guest.root / "pulled")
    assert (found.verified, found.withheld) == (True, ())


def test_a_file_that_changed_since_is_never_put_under_the_old_manifest(guest: Guarded) -> None:
    """It stays withheld: what the manifest says is what a pull must find."""
    published_again(guest)
    (guest.paths.work / "episodes/leaks/env.txt").write_bytes(b"tidied up")
    guest.needles = Needles()
    guest.restart()
    published_again(guest)
    assert not guest.has("episodes/leaks/1/env.txt")
    assert [held.why for held in guest.memory.held.values()] == [
        "env.txt is not what it was when it was withheld"
    ]


def test_a_pull_names_what_was_withheld_and_is_verified(guest: Guarded) -> None:
    """It is no difference: the manifest says so."""
    published_again(guest)
    found = pull(guest.store, RUN, guest.root / "pulled")
    assert found.verified
    assert [str(one) for one in found.withheld] == [
        'episodes/leaks/1/env.txt: withheld, it held the secret of credential "model-key"'
    ]


def test_logs_and_state_files_are_withheld_too_and_come_when_they_are_clean(tmp_path: Path) -> None:
    """Of a file that changes, each content is looked at."""
    guest = Guarded(tmp_path)
    state = guest.paths.work / "database"
    guest.amend["state_files"] = (state,)
    state.parent.mkdir(parents=True, exist_ok=True)
    state.write_bytes(SECRET.encode())
    guest.log("events.jsonl", {"kind": "note", "reason": SECRET})
    cycle(guest.world, guest.memory)
    assert "withheld=2 " in line(guest)
    assert not any(key.startswith("log/gpu-1/events") for key in guest.keys(""))
    guest.later()
    state.write_bytes(b"clean")
    published_again(guest)
    assert list(guest.keys("state/")) != []
    assert "work/database" not in guest.memory.held
    assert not any(SECRET.encode() in data for data in everything(guest.root / "store"))


def test_a_container_is_looked_through_member_by_member(tmp_path: Path) -> None:
    """Compressed bytes do not show the secret; a member that was looked through is not read again."""
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", "{}" * 100)
        archive.writestr("samples/1.json", json.dumps({"env": SECRET}) * 50)
    assert SECRET.encode() not in path.read_bytes()
    screen = Screen(NEEDLES, members=members)
    assert evidence.take(path, tmp_path, screen=screen).secret == "model-key"
    assert len(screen._clean) == 1
    torn = tmp_path / "torn.eval"
    torn.write_bytes(path.read_bytes()[:-30])
    assert evidence.take(torn, tmp_path, screen=screen).secret is None


@pytest.mark.parametrize(
    "form",
    [
        SECRET.encode(),
        json.dumps(SECRET).encode(),
        quote(SECRET, safe="").encode(),
        base64.b64encode(f"Bearer {SECRET}".encode()),
        base64.b64encode(f"user:{SECRET}@host".encode()),
        base64.b64encode(f"u:{SECRET}".encode()),
        base64.urlsafe_b64encode(f"{SECRET}x".encode()),
    ],
)
def test_every_form_of_a_secret_is_found(form: bytes) -> None:
    """Plain, as JSON, in a URL, and in base64 wherever it begins."""
    assert NEEDLES.found_in(b"before " + form + b" after") == "model-key"
    assert NEEDLES.found_in(b"before " + form[: len(form) // 2] + b" after") is None


@given(before=st.binary(max_size=40), after=st.binary(max_size=40), size=st.integers(1, 30))
def test_a_secret_across_pieces_is_found(before: bytes, after: bytes, size: int) -> None:
    """However the bytes are cut."""
    stream, data = Stream(NEEDLES), before + SECRET.encode() + after
    for start in range(0, len(data), size):
        stream.feed(data[start : start + size])
    assert stream.found == "model-key"


@given(data=st.binary(max_size=200), size=st.integers(1, 30))
def test_pieces_find_what_the_whole_does(data: bytes, size: int) -> None:
    """No more and no less."""
    stream = Stream(Needles((("a", b"ab"), ("b", b"\0\0\0"))))
    for start in range(0, len(data), size):
        stream.feed(data[start : start + size])
    assert (stream.found is not None) is (b"ab" in data or b"\0\0\0" in data)


def test_a_large_file_is_looked_through_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Across the border of two of them; its digest is the whole file's, and it is never sent."""
    monkeypatch.setattr(evidence, "IN_MEMORY_BYTES", 10)
    monkeypatch.setattr(evidence, "_CHUNK", 16)
    data = b"x" * 9 + SECRET.encode() + b"y" * 50
    (tmp_path / "big").write_bytes(data)
    found = evidence.take(tmp_path / "big", tmp_path, screen=Screen(NEEDLES))
    assert (found.data, found.secret) == (None, "model-key")
    assert found.blob == evidence.blob_of(data)
    with pytest.raises(Withheld, match='holds the secret of credential "model-key"'):
        found.put(Guest(tmp_path / "guest").store, "k")


@pytest.mark.parametrize(("length", "looked_for"), [(7, False), (8, True)])
def test_a_short_secret_is_not_looked_for_and_that_is_said(length: int, looked_for: bool) -> None:
    """It would be found by chance in every large file."""
    needles = needles_of({"k": ["s" * length]})
    assert bool(needles.forms) is looked_for
    said = () if looked_for else ("credential k: shorter than 8 bytes: not looked for",)
    assert needles.ignored == said


def test_of_a_file_with_several_lines_only_secrets_are_looked_for() -> None:
    """A region is none, nor is the public id of a key."""
    text = (
        "[default]\naws_access_key_id = AKIAEXAMPLE1\naws_secret_access_key = abcdefgh12345678\n"
        "region = eu-north1\naws_session_token = tok-12345678\n"
    )
    assert secrets_in(text) == ("abcdefgh12345678", "tok-12345678")
    assert secrets_in("one-line-key\n") == ("one-line-key",)
    assert secrets_in("") == ()


@pytest.mark.parametrize("quoted", ["{}", '"{}"', "'{}'"])
def test_a_key_is_looked_for_as_the_store_reads_it(quoted: str) -> None:
    """Quotes and `export` may stand in its file, and never stand in a log."""
    text = f"export AWS_ACCESS_KEY_ID=AKIAEXAMPLE1\nexport AWS_SECRET_ACCESS_KEY={quoted}\n"
    text = text.format("abcdefgh1234+/=")
    assert secrets_in(text) == (parse_keys(text).secret_access_key,) == ("abcdefgh1234+/=",)


def test_a_file_without_a_secret_is_said(tmp_path: Path) -> None:
    """Two lines of which none names what it is: nothing could be looked for."""
    made = Guest(tmp_path)
    (tmp_path / "odd").write_text("AKIAEXAMPLE1\nabcdefgh12345678\n")
    (tmp_path / "odd").chmod(0o600)
    plan = replace(made.record.plan, secret_env={"A": "odd"})
    screen = screen_of(made.config, replace(made.record, plan=plan), tmp_path)
    assert screen.complaints == ("credential odd: no secret is seen in it: none is looked for",)


def test_the_secrets_of_host_file_and_run_are_looked_for(tmp_path: Path) -> None:
    """The run's frozen names too; one that cannot be read is said, and never shown."""
    made = Guest(tmp_path)
    folder = tmp_path / "credentials"
    folder.mkdir()
    for name, mode in (("model-key", 0o600), ("open-key", 0o644)):
        (folder / name).write_text(f"{SECRET}-{name}\n")
        (folder / name).chmod(mode)
    plan = replace(made.record.plan, secret_env={"A": "model-key", "B": "open-key", "C": "gone"})
    screen = screen_of(made.config, replace(made.record, plan=plan), folder)
    assert {name for name, _ in screen.needles.forms} == {"model-key"}
    assert len(screen.complaints) == 2
    assert "mode 0644, must be 0600" in screen.complaints[0]
    assert "No such file" in screen.complaints[1]
    assert SECRET not in "".join(screen.complaints)


def test_a_credential_that_is_no_text_is_refused_without_its_bytes(tmp_path: Path) -> None:
    """In one line."""
    (tmp_path / "k").write_bytes(b"\xff\xfe")
    (tmp_path / "k").chmod(0o600)
    with pytest.raises(ConfigError, match="k: is no text"):
        read_credential(tmp_path, "k")
