"""Independent checks of a release, from raw data, release and linkage alone; shares no code with the methods."""

from shoal.verify.claim import verify
from shoal.verify.folder import verify_folder

__all__ = ["verify", "verify_folder"]
