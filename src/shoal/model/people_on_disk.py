"""People on disk: identities, the reading, and samples, to load any few of them.

The folder holds raw data: only its owner can read it, and it is never inside a release. The list of people
is written last and completes it. Checksums are stored.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from shoal.errors import InputError
from shoal.model.grid import Grid
from shoal.model.intake import Intake, Reading
from shoal.model.names import TextNames
from shoal.model.places import PublicPlaces
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers, offsets_of
from shoal.runtime.checkpoint import crc32_of

SAMPLES_FILE: Final = "samples.bin"
PEOPLE_FILE: Final = "people.parquet"
SUMS_FILE: Final = "sums.json"
ROW_BYTES: Final = 24  # t, x and y as int64
_ACCOUNT: Final = b"shoal"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class StoredPeople:
    """N subjects in the order of their ids, on a grid."""

    folder: Path
    names: pa.Array  # [n] ids
    starts: Integers  # [n], first row in the file of samples
    lengths: Integers  # [n], number of rows
    input_rank: Integers
    middles: Integers  # [n, 3], the median slot and cell
    grid: Grid
    crs: str | None
    intake: Intake
    places: PublicPlaces | None = None
    sensitive: PublicPlaces | None = None

    @classmethod
    def open(cls, folder: Path) -> "StoredPeople":
        """The people in a complete folder; raises InputError for a damaged one."""
        try:
            table = pq.read_table(folder / PEOPLE_FILE)
            account: Mapping[str, Any] = json.loads(table.schema.metadata[_ACCOUNT])
        except (OSError, pa.ArrowException, ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{folder} holds no complete list of people; remove it and start again"
            ) from error
        columns = [
            np.ascontiguousarray(table[name].to_numpy())
            for name in ("start", "length", "rank", "t", "x", "y")
        ]
        return cls(
            folder=folder,
            names=table["id"].combine_chunks(),
            starts=columns[0],
            lengths=columns[1],
            input_rank=columns[2],
            middles=np.stack(columns[3:], axis=1),
            grid=Grid(**account["grid"]),
            crs=account["crs"],
            intake=Intake(
                **{
                    **account["intake"],
                    "notes": tuple(account["intake"]["notes"]),
                    "reading": Reading(**account["intake"]["reading"]),
                }
            ),
            **{
                name: PublicPlaces.from_json(account[name])
                for name in ("places", "sensitive")
                if account.get(name) is not None
            },
        )

    def save(self, sums: Sequence[tuple[int, int, int]]) -> None:
        """Write the list, which completes the folder. sums: first row, rows and CRC-32."""
        columns = {
            "start": self.starts,
            "length": self.lengths,
            "rank": self.input_rank,
            **dict(zip("txy", self.middles.T, strict=True)),
        }
        account = json.dumps(
            {
                "grid": asdict(self.grid),
                "crs": self.crs,
                "intake": asdict(self.intake),
                "places": None if self.places is None else self.places.to_json(),
                "sensitive": None if self.sensitive is None else self.sensitive.to_json(),
            }
        )
        table = pa.table({"id": self.names, **columns}).replace_schema_metadata({_ACCOUNT: account})
        partial = self.folder / f".{PEOPLE_FILE}.partial"
        pq.write_table(table, partial)
        checksums = {"people": crc32_of(partial), "samples": sums}
        (self.folder / SUMS_FILE).write_text(json.dumps(checksums), encoding="ascii")
        partial.replace(self.folder / PEOPLE_FILE)

    @property
    def n_subjects(self) -> int:
        """Number of subjects."""
        return len(self.lengths)

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return int(self.lengths.sum())

    @property
    def ids(self) -> TextNames:
        """All ids."""
        return TextNames(self.names)

    def snapped_grid(self) -> Grid:
        """The grid."""
        return self.grid

    def span(self) -> tuple[int, int]:
        """The first and the last slot of all samples."""
        times = np.memmap(self.folder / SAMPLES_FILE, dtype=np.int64, mode="r").reshape(-1, 3)[:, 0]
        return int(times[self.starts].min()), int(times[self.starts + self.lengths - 1].max())

    def load(self, subjects: Integers) -> Trajectories:
        """These subjects (ascending positions), with the account of the whole reading."""
        lengths, starts = self.lengths[subjects], self.starts[subjects]
        rows = np.empty((int(lengths.sum()), 3), dtype=np.int64)
        offsets = offsets_of(lengths)
        # Neighbors in the file are read at once.
        breaks = np.flatnonzero(starts[1:] != starts[:-1] + lengths[:-1]) + 1
        cuts = [0, *breaks.tolist(), len(subjects)] if len(subjects) else []
        with (self.folder / SAMPLES_FILE).open("rb", buffering=0) as file:
            for first, end in pairwise(cuts):
                file.seek(int(starts[first]) * ROW_BYTES)
                if (
                    file.readinto(rows[offsets[first] : offsets[end]].data.cast("B"))
                    != (offsets[end] - offsets[first]) * ROW_BYTES
                ):
                    raise InputError(
                        f"{self.folder / SAMPLES_FILE} is cut short; remove the folder and start again"
                    )
        t, x, y = np.ascontiguousarray(rows.T)
        return Trajectories(
            ids=tuple(self.names.take(pa.array(subjects)).to_pylist()),
            offsets=offsets,
            t=t,
            x=x,
            y=y,
            grid=self.grid,
            crs=self.crs,
            input_rank=np.argsort(np.argsort(self.input_rank[subjects])).astype(np.int64),
            intake=self.intake,
            places=self.places,
            sensitive=self.sensitive,
        )
