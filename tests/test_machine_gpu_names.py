"""machine.gpu_names: which GPUs there are; none and unknown are different things."""

import pytest

from said_program import Said
from spoteval.machine.gpu_names import Gpus, gpus
from spoteval.machine.process import NOT_FOUND
from spoteval.shape import Unreadable

H200 = "NVIDIA H200, 580.65.06\n"


@pytest.mark.parametrize(
    ("said", "found"),
    [
        (Said(H200 * 8), Gpus(8, "H200", "580.65.06")),
        (Said("NVIDIA H100 80GB HBM3, 580.65\n"), Gpus(1, "H100 80GB HBM3", "580.65")),
        (Said(H200 + "Tesla T4, 580.65.06\n"), Gpus(2, "H200+Tesla T4", "580.65.06")),
        (Said(code=NOT_FOUND), None),
        (Said(""), None),
        (Said("H200\n"), Unreadable("nvidia-smi: an answer that is not understood")),
        (Said(code=9, out="NVIDIA-SMI has failed"), Unreadable("nvidia-smi: exit 9")),
        (Said(timed_out=True, code=-9), Unreadable("nvidia-smi: timeout:20s")),
    ],
)
def test_what_nvidia_smi_says(said: Said, found: object) -> None:
    """Absent or empty is no GPU; a failure is no answer."""
    assert gpus(said) == found
