"""Commands do without pandas, which Arrow loads wherever it is installed."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
from shoal.cli.main import main
try:
    main(["synthesize", sys.argv[1], "--subjects", "20", "--days", "1", "--quiet"])
except SystemExit as ended:
    print(ended.code, "pandas" in sys.modules)
import pyarrow as pa
frame = pa.table({"number": [1, 2]}).to_pandas()
import pandas as pd
print(pa.array(pd.Series(frame["number"])).to_pylist(), pa.table(frame).num_rows)
"""


def test_a_command_loads_no_pandas_and_takes_it_from_nobody(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "city.parquet")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == ["0 False", "[1, 2] 2"]
