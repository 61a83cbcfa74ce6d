"""The check of a folder in parts."""

import shutil
from pathlib import Path

from shoal.model.release import Linkage
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Verdict
from shoal.runtime.run import Engine, Run
from shoal.verification.files.streamed import verify_streamed_folder
from stored import stored


def streamed_verdict(
    original: Trajectories, folder: Path, linkage: Linkage, engine: Engine | None = None
) -> Verdict:
    scratch = folder.parent / "scratch"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    people = folder.parent / "people"
    shutil.rmtree(people, ignore_errors=True)
    return verify_streamed_folder(stored(original, people), folder, linkage, scratch, Run(), engine=engine)
