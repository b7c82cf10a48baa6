"""What every test gets: the guard against undeclared effects, and crash points."""

import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from crash_points import CrashPoints
from guard import Guard, install
from s3_fixtures import moto_service, seaweed_service

__all__ = ["moto_service", "seaweed_service"]  # fixtures of every test file
GUARD = Guard()
install(GUARD)
# Other work on the machine is no failure of an example.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Armed around the whole test, fixtures of every scope included."""
    GUARD.armed = item.get_closest_marker("runs") is None
    yield
    GUARD.armed = False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A mark without a reason declares nothing."""
    for item in items:
        mark = item.get_closest_marker("runs")
        if mark is not None and not (mark.args and str(mark.args[0]).strip()):
            raise pytest.UsageError(f'{item.nodeid}: say why: @pytest.mark.runs("reason")')


@pytest.fixture(autouse=True)
def guard() -> Iterator[Guard]:
    """Fails the test also when the exception was raised in a thread or swallowed."""
    GUARD.take()
    yield GUARD
    found = GUARD.take()
    if found:
        pytest.fail("undeclared: " + "; ".join(found))


@pytest.fixture(scope="session")
def crash_points() -> CrashPoints:
    """Of session scope, so that hypothesis may use it: it remembers nothing between contexts."""
    return CrashPoints()


@pytest.fixture
def unblocked() -> Iterator[None]:
    """A test that would wait for ever fails after some seconds."""

    def fail(signum: int, frame: object) -> None:
        raise AssertionError("blocked")

    signal.signal(signal.SIGALRM, fail)
    signal.alarm(20)
    yield
    signal.alarm(0)
