"""A release for an object store: made and checked locally, then moved."""

import shutil
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import click

from shoal.errors import OutputError
from shoal.runtime.files import without_credentials

if TYPE_CHECKING:
    from shoal.runtime.run import Run


@dataclass(frozen=True)
class OutputPlace:
    """A local folder, and an address in an object store, if any."""

    folder: Path
    address: str | None = None

    @classmethod
    def of(cls, output: Path | str) -> "OutputPlace":
        """The place of --output; for an address, a folder of its last name."""
        if isinstance(output, Path):
            return cls(output)
        name = PurePosixPath(without_credentials(output)).name
        if name in ("", "..", "...") or ":" in name:
            raise click.UsageError("--output names no folder of an object store; write s3://BUCKET/FOLDER")
        return cls(Path(name), output)

    @property
    def addresses(self) -> dict[str, str]:
        """Addresses of release and report, without keys."""
        if self.address is None:
            return {}
        from shoal.release_folder.manifest import REPORT_FILE

        shown_address = without_credentials(self.address)
        return {"output": shown_address, "report": f"{shown_address}/{REPORT_FILE}"}

    def require_free(self) -> None:
        """Raise OutputError when the place is taken, here or in the store."""
        from shoal.io.sources.object_stores import require_free
        from shoal.runtime.staging import require_absent

        require_absent(self.folder)
        if self.address is not None:
            require_free(self.address, "--output")

    def move(self, run: "Run") -> None:
        """Move a finished release into the store, if it goes there.

        A refusal says where the release is.
        """
        from shoal.io.sources.object_stores import store
        from shoal.release_folder.manifest import RELEASE_FILE

        if self.address is None:
            return
        remedy = (
            f"the release is whole in {self.folder}; copy that folder, or: shoal publish {self.folder} --to "
            f"{without_credentials(self.address)} --format parquet-parts"
        )
        with run.stage("store"):
            run.progress("copying into the store", 0, 1)
            try:
                store(self.folder, self.address, last=RELEASE_FILE)
            except OutputError as error:
                raise OutputError(f"{error.cli_message}; {remedy}") from error
            except KeyboardInterrupt as error:
                raise KeyboardInterrupt(
                    f"interrupted while it was copied into the store; {remedy}"
                ) from error
            run.progress("copying into the store", 1, 1)
        shutil.rmtree(self.folder)
