"""FIT files of sports devices, through fitdecode (extra ``fit``); the person is the file."""

import struct
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from shoal.errors import InputError, MissingExtraError
from shoal.io.columns.owners import owners_of_file, stem_of
from shoal.io.formats.input_table import Table, text_batch
from shoal.io.formats.xml_files import BROKEN_GZIP, open_bytes
from shoal.model.intake import Reading

COLUMNS: Final = ("uid", "folder", "device", "datetime", "lat", "lon")
NO_DATE: Final = "time of the device's clock before it knew the date"
# what the decoder raises beside its own errors
_BROKEN: Final = (ValueError, LookupError, TypeError, ArithmeticError, AssertionError, struct.error)
_DEGREES: Final = 180 / 2**31  # positions are counted in the 2^32nd part of a circle


def open_table(path: Path, _reading: Reading) -> Table:
    """Records of a whole file."""
    try:
        import fitdecode
    except ImportError as error:
        raise MissingExtraError(
            "FIT files need fitdecode; install it with: pip install 'shoal[fit]'"
        ) from error
    owner = (stem_of(path.name), path.resolve().parent.name)
    unreadable: dict[str, int] = {}

    def batches(columns: Sequence[str]) -> Iterator[tuple[float, pa.RecordBatch]]:
        rows: list[tuple[str, ...]] = []
        device = ""
        try:
            with open_bytes(path) as file:
                content = file.read()
                if not content:  # the decoder takes nothing for a file without records
                    raise InputError(f"{path.name} is empty")
                fit = fitdecode.FitReader(
                    content, check_crc=fitdecode.CrcCheck.RAISE, error_handling=fitdecode.ErrorHandling.RAISE
                )
            with fit:
                for frame in fit:
                    if not isinstance(frame, fitdecode.FitDataMessage):
                        continue
                    if frame.name == "file_id":
                        device = str(frame.get_value("serial_number", fallback="") or "")
                    if frame.name == "record":
                        time = frame.get_value("timestamp", fallback=None)
                        if isinstance(time, int):  # seconds since the device was switched on
                            unreadable[NO_DATE] = unreadable.get(NO_DATE, 0) + 1
                            continue
                        when = time.isoformat() if isinstance(time, datetime) else ""
                        rows.append((*owner, device, when, *_place(frame)))
        except (fitdecode.FitError, *BROKEN_GZIP, *_BROKEN) as error:
            raise InputError(
                f"{path.name} is not a whole FIT file; it may be cut off: copy it again"
            ) from error
        yield 1.0, text_batch(rows, COLUMNS, columns)

    return Table(
        name=path.name,
        columns=COLUMNS,
        batches=batches,
        owners=owners_of_file(path),
        settings={"id": "uid"},
        unreadable=unreadable,
    )


def _place(frame: Any) -> tuple[str, str]:
    pair = [frame.get_value(name, fallback=None) for name in ("position_lat", "position_long")]
    if not all(isinstance(value, int) for value in pair):
        return "", ""
    return str(pair[0] * _DEGREES), str(pair[1] * _DEGREES)
