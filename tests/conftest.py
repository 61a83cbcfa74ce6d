"""Settings shared by all tests: hypothesis without deadlines (the first call of a kernel compiles it), and the real data."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("shoal", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("shoal")

SHARED_DATA = Path(__file__).parents[1].parent / "shared" / "data"


@pytest.fixture
def shared_data() -> Path:
    """The folder of real data beside the project; the test is skipped, visibly, where it is absent."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the real data is not beside this checkout")
    return SHARED_DATA
