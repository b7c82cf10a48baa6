"""What each key may do, by the policies of docs/stores/s3.md as they stand, as tests for any service."""

from uuid import uuid4

import pytest

from s3_server import Service
from spoteval.publication.keys import fact_key, hold_key, release_key
from spoteval.store.contract import Put, StoreRefused

PUTS = {
    "publisher": (True, False, False),
    "control": (False, True, True),
    "operator": (False, True, True),
    "reader": (False, False, False),
}


class Rights:
    """Inherit, and give a fixture `service`."""

    @pytest.mark.parametrize("role", sorted(PUTS))
    def test_where_a_key_may_put(self, service: Service, role: str) -> None:
        """Results; other instances and owners; releases. The guest's alone holds for its own instance."""
        store = service.store(role)
        keys = ("runs/rights/x", "instances/gpu-2/owner/1-x", release_key("gpu-1", f"by-{role}"))
        for key, may in zip(keys, PUTS[role], strict=True):
            if may:
                assert store.put(key, role.encode()) in (Put.CREATED, Put.EXISTS)
            else:
                with pytest.raises(StoreRefused, match="403 AccessDenied: this key may not"):
                    store.put(key, b"x")

    def test_the_guest_puts_holds_and_facts_of_its_own_instance(self, service: Service) -> None:
        """And of no other."""
        store = service.store("publisher")
        new = uuid4().hex  # of a service that other tests put to as well
        for key in (hold_key("gpu-1", new), fact_key("gpu-1", 1, new, "booted")):
            assert store.put(key, b"x") is Put.CREATED
            with pytest.raises(StoreRefused):
                store.put(key.replace("gpu-1", "gpu-2"), b"x")

    def test_the_guest_reads_nothing(self, service: Service) -> None:
        """Neither what others put nor what it put itself, nor whether anything is there."""
        store = service.store("publisher")
        store.put("runs/rights/own", b"x")
        for key in ("runs/rights/own", "runs/rights/none"):
            with pytest.raises(StoreRefused):
                store.get(key)
        with pytest.raises(StoreRefused):
            list(store.list("runs/"))

    @pytest.mark.parametrize("role", sorted(PUTS))
    def test_no_key_deletes(self, service: Service, role: str) -> None:
        """Also with a client that would."""
        service.store("publisher").put("runs/rights/kept", b"x")
        client = service.raw(role)
        with pytest.raises(client.exceptions.ClientError, match="AccessDenied"):
            client.delete_object(Bucket="evals", Key="team-a/runs/rights/kept")
        assert service.store("reader").get("runs/rights/kept") == b"x"
