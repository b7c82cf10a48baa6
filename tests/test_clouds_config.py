"""What a host file says of instances at clouds: keys of their own, and credentials that the unit is given."""

from pathlib import Path

import pytest

from fakes.azure import vm_id
from spoteval.config.restarter import read_restarter
from spoteval.config.shared import ConfigError
from spoteval.control.dropins import restarter_credentials, restarter_dropins
from spoteval.control.providers import shared_of
from spoteval.provider.open import open_provider
from spoteval.shape import ShapeError

TEXT = f"""[host]
role = "restarter"
holds = ["local"]
[instance.a]
provider = "aws"
id = "i-1"
region = "eu-west-1"
identity = "ec2"
[instance.b]
provider = "gcp"
id = "gpu-b"
project = "evals-1"
zone = "europe-west4-b"
[instance.c]
provider = "azure"
id = "{vm_id("gpu-c")}"
identity = "app"
"""
SECRET = "hunter2-in-a-file"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The host file."""
    found = tmp_path / "config.toml"
    found.write_text(TEXT)
    return found


def test_the_region_of_a_cloud_is_that_of_the_grant(path: Path) -> None:
    """Typed once."""
    found = {one.name: one for one in read_restarter(path).instances}
    assert (found["a"].region, found["a"].identity) == ("eu-west-1", "ec2")
    assert (found["b"].identity, found["b"].id) == ("instance", "gpu-b")


def test_files_of_credentials_are_given_to_the_unit(path: Path) -> None:
    """Those that are there; this host's own identity needs none."""
    config = read_restarter(path)
    assert restarter_credentials(config) == ("ec2", "app")
    (text,) = restarter_dropins(config, path.parent, ["ec2"]).values()
    assert f"LoadCredential=ec2:{path.parent}/ec2" in text
    assert "LoadCredential=app" not in text


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("a", SECRET, 'credential "ec2": no aws_access_key_id in it'),
        ("c", SECRET, 'identity "app": the file must hold {"tenant"'),
        ("c", '{"tenant": "t"}', 'identity "app": the file must hold {"tenant"'),
    ],
)
def test_a_credential_that_is_none_is_refused_unquoted(
    path: Path, name: str, text: str, why: str
) -> None:
    """When the provider is opened, and not in the night."""
    one = next(one for one in read_restarter(path).instances if one.name == name)
    file = path.parent / one.identity
    file.touch(0o600)
    file.write_text(text)
    with pytest.raises(ShapeError) as caught:
        open_provider(one.provider, one.table, shared_of(path.parent))
    assert str(caught.value).startswith(why)
    assert SECRET not in str(caught.value)


def test_a_credential_that_is_not_there_is_named(path: Path) -> None:
    """With its mode."""
    one = read_restarter(path).instances[0]
    with pytest.raises(ConfigError, match="ec2: No such file"):
        open_provider(one.provider, one.table, shared_of(path.parent))


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('region = "eu-west-1"\n', "", "region: missing"),
        (vm_id("gpu-c"), "gpu-c", "the VM's whole resource id"),
        ('zone = "europe-west4-b"', 'zone = "a/b"', "zone"),
        ('project = "evals-1"', 'projekt = "evals-1"', "project"),
    ],
)
def test_a_key_that_is_wrong_is_named(path: Path, old: str, new: str, why: str) -> None:
    """With what is allowed."""
    path.write_text(TEXT.replace(old, new))
    with pytest.raises(ConfigError) as caught:
        read_restarter(path)
    assert why in str(caught.value)
