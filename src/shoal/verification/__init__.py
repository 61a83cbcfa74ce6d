"""Independent checks of a release; no code is shared with the methods."""

from shoal.verification.checks import verify
from shoal.verification.files.folder import verify_files

__all__ = ["verify", "verify_files"]
