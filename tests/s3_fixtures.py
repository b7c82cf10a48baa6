"""Services that a whole test session shares, started by the first test that asks for one."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from s3_server import Service  # with its client: nothing that other tests should have to load


@pytest.fixture(scope="session")
def moto_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Service"]:
    """moto with users and policies."""
    from s3_server import moto

    with moto(tmp_path_factory.mktemp("moto")) as service:
        yield service


@pytest.fixture(scope="session")
def seaweed_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Service"]:
    """SeaweedFS."""
    from s3_server import seaweed

    with seaweed(tmp_path_factory.mktemp("seaweed")) as service:
        yield service
