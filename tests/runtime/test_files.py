"""Paths, settings in TOML, and what JSON has no word for."""

import math
from pathlib import Path

import pytest

from shoal.errors import InputError
from shoal.runtime.files import null_for_nan, read_settings, without_credentials


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("s3://bucket/a/b", "s3://bucket/a/b"),
        ("s3://key:secret@bucket/a?region=eu&secret=1", "s3://bucket/a"),
        ("s3://key:se@cr/et@bucket/a", "s3://bucket/a"),
        ("s3://key:se?cret@bucket/a", "s3://..."),
        ("gs://anonymous@bucket/a", "gs://bucket/a"),
        (
            "abfs://container@account.dfs.core.windows.net/a",
            "abfs://container@account.dfs.core.windows.net/a",
        ),
        ("abfs://account:secret@container/a", "abfs://container/a"),
        ("abfs://container@account/a?sas_token=se@cret", "abfs://..."),
        ("postgresql://user:secret@host/base#schema.table", "postgresql://host/base#schema.table"),
    ],
)
def test_an_address_is_told_without_what_may_be_a_key(address: str, told: str) -> None:
    assert without_credentials(address) == told
    assert "cret" not in told


def test_entries_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('k = 5\n[budget]\nutility = "within-2km-2h"\n')
    assert read_settings(tmp_path / "a.toml") == {"k": 5, "budget": {"utility": "within-2km-2h"}}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot read .*a.toml: No such file"),
        (b"k = ", "a.toml is not valid TOML"),
        (b"k = \xff", "valid TOML"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(content: bytes | None, message: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "a.toml").write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_settings(tmp_path / "a.toml")


def test_nan_becomes_null_wherever_it_stands() -> None:
    given = {"a": math.nan, "b": [1.0, (math.nan, "nan")], "c": {"d": math.nan, "e": math.inf}, "f": None}
    assert null_for_nan(given) == {
        "a": None,
        "b": [1.0, [None, "nan"]],
        "c": {"d": None, "e": math.inf},
        "f": None,
    }
    assert null_for_nan(math.nan) is None
