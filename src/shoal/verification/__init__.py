"""Independent checks of a release, from raw data, release and linkage; no code is shared with the methods."""

from shoal.verification.checks import verify
from shoal.verification.files.folder import verify_folder

__all__ = ["verify", "verify_folder"]
