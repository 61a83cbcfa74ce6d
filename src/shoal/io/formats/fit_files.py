"""FIT files of sports devices, through fitdecode (extra ``fit``); the person is the file."""

import struct
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Final

from shoal.errors import InputError, requiring_extra
from shoal.io.formats.input_table import Account, Table
from shoal.io.formats.row_files import Row, explain_damage, open_bytes, table_of_rows
from shoal.model.intake import Reading

NO_DATE: Final = "time of the device's clock before it knew the date"
# what the decoder raises beside its own errors
_BROKEN: Final = (ValueError, LookupError, TypeError, ArithmeticError, AssertionError, struct.error)
_PLACE: Final = ("position_lat", "position_long")
_DEGREES: Final = 180 / 2**31  # positions are counted in the 2^32nd part of a circle


def open_table(path: Path, _reading: Reading) -> Table:
    """Records of a whole file."""
    with requiring_extra("FIT files need fitdecode", "fit"):
        import fitdecode
    damaged = f"{path.name} is not a whole FIT file; it may be cut off: copy it again"

    def read(account: Account) -> Iterator[Row]:
        rows, device = [], ""
        with explain_damage(damaged, fitdecode.FitError, *_BROKEN):
            with open_bytes(path) as file:
                content = file.read()
            if not content:  # the decoder takes nothing for a file without records
                raise InputError(f"{path.name} is empty")
            strict = {"check_crc": fitdecode.CrcCheck.RAISE, "error_handling": fitdecode.ErrorHandling.RAISE}
            with fitdecode.FitReader(content, **strict) as fit:
                for frame in fit:
                    if not isinstance(frame, fitdecode.FitDataMessage):
                        continue
                    if frame.name == "file_id":
                        device = str(frame.get_value("serial_number", fallback="") or "")
                    if frame.name == "record":
                        time = frame.get_value("timestamp", fallback=None)
                        if isinstance(time, int):  # seconds since the device was switched on
                            account.unreadable[NO_DATE] += 1
                            continue
                        when = time.isoformat() if isinstance(time, datetime) else ""
                        pair = [frame.get_value(name, fallback=None) for name in _PLACE]
                        is_known = all(isinstance(value, int) for value in pair)
                        place = [str(value * _DEGREES) if is_known else "" for value in pair]
                        rows.append((device, when, *place))
        yield from rows

    return table_of_rows(path, ("device", "datetime", "lat", "lon"), read, settings={"id": "uid"})
