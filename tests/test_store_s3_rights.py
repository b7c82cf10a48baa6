"""What each key may, by the policies of docs/stores/s3.md as they stand; and what check says of it."""

from pathlib import Path

import pytest

from cli_hosts import Hosts
from s3_hosts import laptop, s3_hosts
from s3_rights import Rights
from s3_server import Service

pytestmark = pytest.mark.runs("a real service on loopback, started once for all of them")


class TestRights(Rights):
    """moto's users."""

    @pytest.fixture
    def service(self, moto_service: Service) -> Service:
        """The one that is tested."""
        return moto_service


@pytest.fixture
def hosts(tmp_path: Path, moto_service: Service) -> Hosts:
    """Both hosts, with their keys in files."""
    return s3_hosts(tmp_path, moto_service)


def test_check_on_the_guest(hosts: Hosts, moto_service: Service) -> None:
    """Put works and is create-only, and the key is refused what it must be refused."""
    said = hosts.guest("check").lines
    url = moto_service.url()
    assert f"store        ok    {url}: put below instances/gpu-1/ works, create-only" in said
    assert "store        ok    this key may neither list, get nor release" in said


def test_check_names_a_guest_with_too_much(hosts: Hosts, moto_service: Service) -> None:
    """The restarter's key on the guest could lift holds."""
    path = hosts.base / "node" / "credentials" / "publisher"
    path.write_text(moto_service.ini("control"))
    done = hosts.guest("check")
    assert done.code == 1
    assert (
        "store        fail  this key may put releases, hence lift holds: take that away" in done.out
    )


def test_check_on_the_restarter_and_on_a_laptop(
    hosts: Hosts, moto_service: Service, tmp_path: Path
) -> None:
    """The one lists its instance, the other the runs."""
    said = hosts.restarter("check").lines
    assert (
        f"store        ok    {moto_service.url()}: put below instances/gpu-1/ works, create-only"
        in said
    )
    assert any("ok    list of instances/gpu-1/ works" in line for line in said)
    seen = hosts.laptop("check", **laptop(moto_service, tmp_path / "own", "reader"))
    assert "can be listed" in seen.out


@pytest.mark.parametrize(
    ("text", "mode", "said"),
    [
        ("aws_access_key_id = AKIASECRET\n", 0o600, "publisher: no aws_secret_access_key in it"),
        ("aws_access_key_id = a\naws_secret_access_key = b", 0o644, "mode 0644, must be 0600"),
        (None, 0o600, "No such file or directory (a file with id and secret, mode 0600)"),
    ],
)
def test_a_wrong_key_file_is_exit_2(hosts: Hosts, text: str | None, mode: int, said: str) -> None:
    """One line that names the file and quotes nothing of it."""
    path = hosts.base / "node" / "credentials" / "publisher"
    if text is None:
        path.unlink()
    else:
        path.write_text(text)
        path.chmod(mode)
    done = hosts.guest("hold", "place", "--reason", "x")
    assert done.code == 2
    assert str(path) in done.err
    assert said in done.err
    assert "AKIA" not in done.err
    assert done.err.count("\n") == 1
