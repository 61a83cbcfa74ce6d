"""Independent checks of a release, from raw data, release and linkage alone; shares no code with the methods."""

from shoal.verification.claim import verify
from shoal.verification.folder import verify_folder

__all__ = ["verify", "verify_folder"]
