"""People in memory put on disk as a reader would leave them, for tests that need no file to read."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from shoal.kernels.people import median_samples
from shoal.model.people_on_disk import SAMPLES_FILE, StoredPeople
from shoal.model.trajectories import Trajectories


def stored(original: Trajectories, folder: Path) -> StoredPeople:
    folder.mkdir()
    (folder / SAMPLES_FILE).write_bytes(np.stack([original.t, original.x, original.y], axis=1).tobytes())
    people = StoredPeople(
        folder=folder,
        names=pa.array(original.ids, pa.string()),
        starts=original.offsets[:-1].copy(),
        lengths=original.lengths,
        input_rank=np.arange(original.n_subjects) if original.input_rank is None else original.input_rank,
        middles=median_samples(original.offsets, original.t, original.x, original.y),
        grid=original.snapped_grid(),
        crs=original.crs,
        intake=original.intake,
    )
    people.save([])
    return StoredPeople.open(folder)
