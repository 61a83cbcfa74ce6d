"""The examples for pipelines: commands that exist, and a model that runs."""

import ast
import shlex
from pathlib import Path

import click
import duckdb
import jinja2
import pyarrow as pa
import pyarrow.parquet as pq

import shoal
from shoal.cli.main import shoal as commands
from shoal.publishing.exporting import export

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "pipelines"


def test_the_commands_of_the_dag_exist_with_their_options() -> None:
    tree = ast.parse((EXAMPLES / "dag.py").read_text())
    table = next(node.value for node in tree.body if isinstance(node, ast.Assign))
    lines = [shlex.split(line) for line in ast.literal_eval(table).values()]
    assert [line[:2] for line in lines] == [["shoal", "anonymize"], ["shoal", "verify"], ["shoal", "publish"]]
    known = {
        line[1]: {name for option in commands.commands[line[1]].params if isinstance(option, click.Option)
                  for name in option.opts}
        for line in lines
    }  # fmt: skip
    unknown = {word for line in lines for word in line if word.startswith("--")} - set().union(
        *known.values()
    )
    assert unknown <= {"--k"}  # of the method


def test_the_model_counts_records_in_squares(tmp_path: Path) -> None:
    pq.write_table(pa.table(shoal.synthesize(40, 2, 1)), tmp_path / "raw.parquet")
    people = shoal.read(tmp_path / "raw.parquet")
    rng = shoal.Randomness.from_system()
    made = shoal.publish(people, shoal.Glove(k=5), tmp_path / "release", rng=rng, tries=0)
    export(made.folder, tmp_path / "out", "parquet-by-day")
    template = jinja2.Template((EXAMPLES / "released_visits.sql").read_text())
    query = template.render(config=lambda **_: "", var=lambda _: str(tmp_path / "out"))
    rows = duckdb.sql(query).fetchall()
    boxes = made.release.boxes
    x, y = rows[0][1], rows[0][2]
    lengths = (made.release.offsets[1:] - made.release.offsets[:-1]).tolist()
    ids = made.release.trajectory_ids
    record = [name for name, length in zip(ids, lengths, strict=True) for _ in range(length)]
    touching = {
        name
        for name, day, west, east, south, north in zip(
            record, boxes.t_start // 1440, boxes.x_min, boxes.x_max, boxes.y_min, boxes.y_max, strict=True
        )
        if east - west <= 100 and north - south <= 100 and west < 10 * x + 10 and east > 10 * x
        and south < 10 * y + 10 and north > 10 * y
        and day == (rows[0][0].toordinal() - 719_163)
    }  # fmt: skip
    assert rows[0][3] == len(touching) >= 5
    assert min(row[3] for row in rows) >= 5
