"""The pages of stores: what stands there to be pasted is pasted, on services with users, and tried."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from fault_proxy import DEAF, NO_CONDITION, SLOW_DOWN, Proxy, proxy_to
from s3_rights import Rights
from s3_server import BUCKET, Service, policies
from spoteval.clock import read_now
from spoteval.report.check import FAIL, OK, WARN
from spoteval.report.check_store import PROBE, digest_check, guest_rights, probed, put_check
from spoteval.store.s3 import S3Store

PAGES = Path(__file__).parent.parent / "docs" / "stores"
NAMES = ("aws", "nebius", "gcs", "r2", "minio-like")
pytestmark = pytest.mark.runs("a real service on loopback, started once for all of them")


def blocks(name: str) -> list[Any]:
    """Every block of JSON of a page, read."""
    found = re.findall(r"```json\n(.*?)```", (PAGES / f"{name}.md").read_text(), re.DOTALL)
    return [json.loads(text) for text in found]


class TestPoliciesOnMoto(Rights):
    """Those of docs/stores/s3.md, given to moto's users as they stand."""

    @pytest.fixture
    def service(self, moto_service: Service) -> Service:
        """The one that is tried."""
        return moto_service


@pytest.mark.parametrize("role", ["publisher", "control", "operator", "reader"])
def test_store_page_policies_of_every_role_are_whole(moto_service: Service, role: str) -> None:
    """Each key of the page makes a client that is refused what its table denies; nothing names another bucket."""
    text = policies()[role]
    assert BUCKET in text
    assert not re.search(r's3:\*|"\*"|Delete', text)
    client = moto_service.raw(role)
    with pytest.raises(client.exceptions.ClientError, match="AccessDenied"):
        client.delete_object(Bucket=BUCKET, Key="team-a/runs/none")


def test_store_page_policies_abort_right_is_taken_by_the_service(moto_service: Service) -> None:
    """The block of the AWS page that gives back parts is a policy that a service takes."""
    (found,) = [item for item in blocks("aws") if "Abort" in str(item.get("Statement"))]
    (statement,) = found["Statement"]
    assert statement["Action"] == "s3:AbortMultipartUpload"
    assert statement["Resource"].endswith("/runs/*")


def test_store_page_policies_every_page_is_whole() -> None:
    """Each says how `[store]` looks, whether it is create-only, and what becomes of stray parts."""
    for name in NAMES:
        text = (PAGES / f"{name}.md").read_text()
        assert "[store]" in text
        assert "create-only" in text
        assert "tray parts" in text or "stray-parts" in text
        blocks(name)


def test_store_page_check_tries_what_a_key_may(moto_service: Service) -> None:
    """The guest's key: put and nothing else. A reader's cannot put; one that may release fails."""
    found = list(guest_rights(moto_service.store("publisher"), "gpu-1"))
    assert [one.verdict for one in found] == [OK]
    assert put_check(moto_service.store("publisher"), "gpu-1").verdict == OK
    assert put_check(moto_service.store("reader"), "gpu-1").verdict == FAIL
    (released,) = guest_rights(moto_service.store("control"), "gpu-1")
    assert released.verdict == FAIL
    assert "releases" in released.text


@pytest.mark.parametrize(("fault", "word"), [(DEAF, "ignores"), (NO_CONDITION, "does not know")])
def test_store_page_cannot_is_said_by_check(moto_service: Service, fault: Any, word: str) -> None:
    """A service that ignores the condition, and one that answers 501: a warning, never ok."""
    with proxy_to(moto_service.endpoint) as proxy:
        found = _put_checked(proxy, moto_service, fault)
    assert found.verdict == WARN
    assert "not create-only" in found.text


def _put_checked(proxy: Proxy, service: Service, fault: Any) -> Any:
    if fault is DEAF:
        proxy.always = fault
    else:
        proxy.faults[:] = [fault]
    store = S3Store(service.url(), service.place("publisher", proxy.endpoint))
    return put_check(store, "gpu-1")


def test_store_page_cannot_hold_digests_is_said_by_check(
    moto_service: Service, seaweed_service: Service, tmp_path: Path
) -> None:
    """SeaweedFS refuses what is damaged, moto takes it: told by the line, and kept; asked again it is the same."""
    for service, verdict, is_held in ((seaweed_service, OK, True), (moto_service, WARN, False)):
        for _ in range(2):
            found = list(probed(service.store("publisher"), "gpu-1", tmp_path, read_now()))
            assert [(one.name, one.verdict) for one in found] == [
                ("store", OK),
                ("digests", verdict),
            ]
            kept = json.loads((tmp_path / PROBE).read_text())
            assert (kept["create_only"], kept["holds_digests"]) == (True, is_held)
            assert kept["store"] == service.url()


def test_store_page_cannot_say_is_not_known(moto_service: Service, tmp_path: Path) -> None:
    """A busy service, or a key that may put nothing: never ok, and null in the record."""
    found = list(probed(moto_service.store("reader"), "gpu-1", tmp_path, read_now()))
    assert [one.verdict for one in found] == [FAIL, WARN]
    assert "not known" in found[1].text
    kept = json.loads((tmp_path / PROBE).read_text())
    assert kept["create_only"] is None
    with proxy_to(moto_service.endpoint) as proxy:
        proxy.always = SLOW_DOWN
        store = S3Store(moto_service.url(), moto_service.place("publisher", proxy.endpoint))
        (said,) = digest_check(store, "gpu-1")
    assert (said.verdict, "503" in said.text) == (WARN, True)


def test_store_page_cannot_write_the_record_ends_no_check(moto_service: Service) -> None:
    """A host whose user may not write there sees its lines all the same."""
    found = list(probed(moto_service.store("publisher"), "gpu-1", Path("/proc/none"), read_now()))
    assert len(found) == 2
