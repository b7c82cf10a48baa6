"""A drill of a forced stop on real machines: a person types it on both hosts, and types it again when it is back."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lab.cache import prepared
from lab.nspawn import until
from lab.person import Plan
from lab.world import World, set_up, world
