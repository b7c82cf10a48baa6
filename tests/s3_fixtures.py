"""Services that a whole test session shares. A test file imports the fixture that it wants."""

from collections.abc import Iterator

import pytest

from s3_server import Service, moto, seaweed


@pytest.fixture(scope="session")
def moto_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """moto with users and policies."""
    with moto(tmp_path_factory.mktemp("moto")) as service:
        yield service


@pytest.fixture(scope="session")
def seaweed_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """SeaweedFS."""
    with seaweed(tmp_path_factory.mktemp("seaweed")) as service:
        yield service
