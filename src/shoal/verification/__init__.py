"""Independent checks of a release, from raw data, release and linkage alone.

Shares no code with the methods.
"""

from shoal.verification.checks import verify
from shoal.verification.files.folder import verify_folder

__all__ = ["verify", "verify_folder"]
