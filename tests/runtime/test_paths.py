"""Paths and addresses: what of an address may be told."""

import pytest

from shoal.runtime.paths import without_keys


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
    assert without_keys(address) == told
    assert "cret" not in told
