"""A person's first hour: two clean machines, the lines of the documents, a real run through power buttons, its end."""

import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from lab.nspawn import Nspawn, until
from lab.person import Plan, guest_own, restarter_own
from lab.records import complete, counted, finished, last, now, paths, starts, witness
from lab.records import lines as journal_lines
from lab.root import ROOT, wheels
from lab.weather import Seeded
from lab.world import RUN, Kit, World, world, write
from s3_server import BUCKET, PREFIX, REGION, Service, moto, seaweed
from show.lines import Line, judged
from spoteval.control.holds import look

LIVES, SEED = 3, 7
STORE = f"s3://{BUCKET}/{PREFIX}"
HOLD = "/var/lib/spoteval/holds/gpu-1"
HELD_S = 12.0
CLOCK = "clock"
"""What check says of the clock is this host's: whether anybody synchronises it."""
_OWN = ("--instance", "--pipx", "policy.service")
"""Where the reader's own words begin."""
ENABLE = (
    "sudo systemctl enable --now spoteval-shutdown-hook spoteval-publication-follower "
    "spoteval-boot-resume spoteval-idle-guard spoteval-end-handler"
)


@dataclass(slots=True)
class Hour:
    """What was typed, and what it was typed on."""

    lab: World
    service: Service
    pipx: bool = False
    typed: list[str] = field(default_factory=list)

    def types(self, host: Nspawn, line: str, limit_s: float = 300.0) -> str:
        """A line of the documents, as a person types it."""
        self.typed.append(line)
        return host.must(line, limit_s)

    @property
    def flags(self) -> str:
        """Where the store is, for setup."""
        return f"--store {STORE} --endpoint-url {self.service.endpoint} --region {REGION}"


def lines(place: Path, kit: Kit, seed: int = SEED, *, pipx: bool = False) -> Iterator[Line]:
    """From two clean machines to one that is off, with the results pulled and verified."""
    place.mkdir(parents=True)
    plan = Plan(window_s=60, episodes=60, turns=4, delay_s=0.4)
    sky = Seeded(lives=LIVES)
    clean = world(place / "w", kit, plan, sky, seed, installed=False)
    with _service(place) as service, clean as lab:
        hour = Hour(lab, service, pipx=pipx)
        yield _restarter(hour)
        yield _guest(hour)
        yield from _runs(hour)
        yield from _ends(hour)
        yield _pulled(hour)
        yield documented(hour.typed)


def _service(place: Path) -> AbstractContextManager[Service]:
    """An S3 service with the key of each role; the stricter one where it is installed."""
    weed = Path(sys.executable).with_name("weed")
    return seaweed(place) if weed.exists() else moto(place)


def _restarter(hour: Hour) -> Line:
    """docs/install.md and docs/setup-restarter.md."""
    host, lab = hour.lab.restarter, hour.lab
    _keys(host, hour.service, "control", "reader")
    _install(hour, host, "restarter")
    control = "/etc/spoteval/credentials/control"
    hour.types(host, f"sudo install -D -m 600 control.ini {control}")
    named = "--instance gpu-1 --provider local --id gpu-1 --set cloud=/srv/cloud"
    hour.types(host, f"sudo spoteval setup restarter {named} {hour.flags}")
    host.must("chown spoteval: /srv/cloud/requests")
    _edit(host, restarter_own(lab.plan))
    unit = "/etc/systemd/system/spoteval-restarter.service.d/cloud.conf"
    write(host, unit, "[Service]\nReadWritePaths=/srv/cloud\n")
    host.must("systemctl daemon-reload")
    hour.types(host, f"sudo touch {HOLD}")
    at = now()
    hour.types(host, "sudo spoteval check")
    hour.types(host, "sudo systemctl enable --now spoteval-restarter")
    unit, word = "spoteval-restarter.service", "decision=held"
    took_s = until(lambda: journal_lines(host, unit, word, at), 60.0, word, lambda: last(host))
    figure = f"set up, {word} after {took_s:.1f} s"
    return judged(took_s < 60.0, "first hour: restarter host", figure)


def _guest(hour: Hour) -> Line:
    """docs/install.md and docs/setup-guest.md."""
    host, lab = hour.lab.guest, hour.lab
    _keys(host, hour.service, "publisher")
    host.must("useradd --create-home eval && chown -R eval: /mnt/durable/evals")
    _install(hour, host, "guest")
    folder = "/etc/spoteval/credentials"
    hour.types(host, f"sudo install -D -m 600 publisher.ini {folder}/publisher")
    hour.types(host, f"sudo install -D -m 600 model-key {folder}/model-key")
    named = "--instance gpu-1 --provider command --set notice_window=60s"
    setup = "sudo spoteval setup guest --adopt --write-fstab"
    hour.types(host, f"{setup} {named} {hour.flags}")
    _edit(host, guest_own(lab.plan, lab.port))
    hour.types(host, "sudo spoteval setup guest --adopt --write-fstab")
    hour.types(host, "sudo systemctl enable --now policy.service")
    hour.types(host, "sudo spoteval check")
    hour.types(host, ENABLE)
    until((lab.durable / "boot.json").exists, 60.0, "the boot on record", lambda: last(host))
    rows = [line.split() for line in host.must("spoteval check").splitlines()]
    words = [row[1] for row in rows if len(row) > 1 and row[1] in ("ok", "warn")]
    open_ = sorted({row[0] for row in rows if len(row) > 1 and row[1] == "warn"} - {CLOCK})
    figure = (
        f"set up; check says ok {words.count('ok')} times, else of: {', '.join(open_) or 'none'}"
    )
    return judged("ok" in words and not open_, "first hour: guest", figure)


def _install(hour: Hour, host: Nspawn, role: str) -> None:
    """The package lies in the home directory, and apt asks before it brings the rest; or there is a checkout."""
    if hour.pipx:
        checkout = host.root / "root" / "spoteval"
        shutil.copytree(ROOT, checkout, ignore=shutil.ignore_patterns(".*", "__pycache__", "tests"))
        shutil.copytree(wheels(), host.root / "srv" / "wheels")
        write(host, "/etc/pip.conf", "[global]\nno-index = true\nfind-links = /srv/wheels\n")
        hour.types(host, f"cd spoteval && sudo ./install.sh {role} --pipx", 900)
    else:
        host.must(f"cp /srv/deb/{hour.lab.kit.deb.name} /root/")
        hour.types(host, "yes | sudo apt install ./spoteval_*_all.deb", 900)
    enabled = host.must(
        "systemctl list-unit-files --state=enabled --no-legend 'spoteval-*' | wc -l"
    )
    assert enabled.strip() == "0", "the installation enables something"


def _runs(hour: Hour) -> Iterator[Line]:
    """The run, three power buttons at moments that the seed draws, and a hold touched and removed between two."""
    lab, host = hour.lab, hour.lab.restarter
    hour.types(host, f"sudo rm {HOLD}")
    hour.types(lab.guest, f"sudo spoteval run new {RUN}")
    hour.types(lab.guest, f"sudo spoteval run start {RUN}")
    _taken(lab, 1)
    lab.cloud.becomes("RUNNING", 120.0)
    hour.types(host, f"sudo touch {HOLD}")
    _taken(lab, 2)
    asked = lab.cloud.did("start-asked")
    host.must(f"sleep {HELD_S:g}")
    while_held = lab.cloud.did("start-asked") - asked
    hour.types(host, f"sudo rm {HOLD}")
    took_s = lab.cloud.becomes("RUNNING", 60.0)
    figure = f"{while_held} starts in {HELD_S:g} s, RUNNING {took_s:.1f} s after rm"
    yield judged(not while_held, "first hour: a hold touched and removed", figure)
    _taken(lab, LIVES)
    lab.cloud.becomes("RUNNING", 120.0)
    until(lambda: complete(lab), 400.0, "the run to be complete", lambda: last(lab.guest))
    seen, kept = witness(lab), finished(lab)
    found, begun = counted(lab), starts(lab)
    figure = (
        f"{len(found)} interruptions of {begun} starts by {LIVES} buttons, {len(set(kept))} finished,"
        f" {seen.cut.total()} cut, {len(seen.rerun)} run again, {lab.cloud.did('capacity')} starts refused"
    )
    lost = {f"demo/{key}" for key in seen.ended} - set(kept)
    # A slow machine may be taken before it has started the run again: then nothing was interrupted.
    good = (
        2 <= begun - 1 <= len(found) <= LIVES
        and not seen.rerun
        and not lost
        and len(kept) == len(set(kept))
    )
    yield judged(good, "first hour: a real run through power buttons", figure)


def _taken(lab: World, number: int) -> None:
    """Until the market has taken the machine so often."""

    def there() -> bool:
        return lab.cloud.did("power-button") >= number and lab.cloud.state == "STOPPED"

    until(there, 300.0, f"power button {number}", lambda: last(lab.guest))


def _ends(hour: Hour) -> Iterator[Line]:
    """Off by itself, with both holds."""
    lab = hour.lab
    took_s = lab.cloud.becomes("STOPPED", 240.0)
    by_itself = lab.cloud.history()[-1].get("cause") == "guest"
    yield judged(
        by_itself, "first hour: the end", f"off by itself {took_s:.1f} s after the last episode"
    )
    said = journal_lines(lab.guest, "spoteval-end-handler.service", "decision=end ")
    text = said[-1].text if said else ""
    found = look(hour.service.store("reader"), "gpu-1").standing
    both = paths(lab).guest_hold.exists() and bool(found) and "restarter_hold=proved" in text
    yield judged(
        both, "first hour: both holds, proved", text.partition("decision=")[2] or "no line"
    )
    asked = lab.cloud.did("start-asked")
    lab.restarter.must("sleep 8")
    again = lab.cloud.did("start-asked") - asked
    yield judged(not again, "first hour: it stays off", f"{again} starts in 8 s")


def _pulled(hour: Hour) -> Line:
    """As on a laptop: the reader's key, and no host file."""
    host = hour.lab.restarter
    words = {
        "SPOTEVAL_STORE": STORE,
        "SPOTEVAL_STORE__ENDPOINT_URL": hour.service.endpoint,
        "SPOTEVAL_STORE__REGION": REGION,
        "AWS_SHARED_CREDENTIALS_FILE": "/root/reader.ini",
    }
    typed = f"spoteval pull {RUN} ./{RUN} && spoteval verify ./{RUN}"
    hour.typed.append(typed)
    inside = f"mount -t tmpfs none /etc/spoteval; {_exported(words)} {typed}"
    said = host.type(f"unshare --mount sh -c '{inside}'", 300)
    text = " ".join(said.text.split())
    return judged(said.code == 0, "first hour: pulled and verified", text[-160:])


def documented(typed: Sequence[str]) -> Line:
    """Every line stands in the documents, with the reader's own values in the place of these."""
    texts = [path.read_text() for path in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"))]
    text = " ".join(" ".join(texts).replace("\\\n", " ").split())
    lacking = sorted({said for line in typed for said in _said(line) if said not in text})
    figure = f"{len(typed)} lines" + "".join(f"; not there: {line}" for line in lacking)
    return judged(not lacking, "first hour: only lines of README and docs", figure)


def _said(line: str) -> Iterator[str]:
    """The commands of a line, without what is the reader's own: exports, flags with values, the run's name."""
    for part in line.split("&&"):
        words = part.split(";")[-1].removeprefix("yes | ").split()
        own = (n for n, word in enumerate(words) if word in (RUN, f"./{RUN}") or word in _OWN)
        yield " ".join(words[: next(own, len(words))]).removeprefix("sudo ")


def _exported(words: Mapping[str, str]) -> str:
    return " ".join(f"export {name}={value};" for name, value in words.items())


def _keys(host: Nspawn, service: Service, *roles: str) -> None:
    """As the provider's console gives them to a person."""
    for role in roles:
        write(host, f"/root/{role}.ini", service.ini(role))


def _edit(host: Nspawn, text: str) -> None:
    """What a person adds to the host file."""
    path = host.root / "etc" / "spoteval" / "config.toml"
    path.write_text(f"{path.read_text()}\n{text}")
