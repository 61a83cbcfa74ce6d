"""Toys to add to a copy of the package, by the steps of CONTRIBUTING.md."""

from package_copies import Addition, LastItem, Line, Row

FORMAT = Addition(
    new={
        "io/formats/toy_files.py": '''
            """Toy files: one sample a line, as who|seconds|latitude|longitude."""

            from collections.abc import Iterator, Sequence
            from pathlib import Path

            import pyarrow as pa

            from shoal.io.formats.input_table import Table
            from shoal.model.intake import Reading

            COLUMNS = ("uid", "t", "lat", "lon")


            def open_table(path: Path, reading: Reading) -> Table:
                """The samples of one file."""

                def batches(columns: Sequence[str]) -> Iterator[tuple[float, pa.RecordBatch]]:
                    rows = [line.split("|") for line in path.read_text().splitlines()]
                    held = dict(zip(COLUMNS, zip(*rows, strict=True), strict=True))
                    yield 1.0, pa.record_batch({name: pa.array(held[name], pa.string()) for name in columns})

                return Table(name=path.name, columns=COLUMNS, batches=batches)
        '''
    },
    changed={
        "io/formats/table.py": (
            Row(
                table="_READERS",
                text='toy_files.open_table: ".toy"',
                imports=("from shoal.io.formats import toy_files",),
            ),
        )
    },
    pages={
        "docs/formats.md": Line(
            below="with `--columns` | the id column |  | the layout | `[No header, named columns]` |\n",
            text="| Toy files (`.toy`) | the first column |  | the layout | `[Toy]` |\n",
        ),
        "tests/helpers/foreign_files.py": Row(
            table="FILES",
            text=(
                '"Toy": Foreign(write=text("calls.toy", "ann|1714564800|48.85|2.35\\n"), ids=("ann",), '
                "samples=1, first_s=NOON_S)"
            ),
        ),
    },
)

METRIC = Addition(
    new={
        "utility/toy.py": '''
            """A toy metric."""

            from shoal.utility.facts import Facts, Value


            def people_published(facts: Facts) -> Value:
                """How many people have a record."""
                return Value(value=float(facts.n_published))
        '''
    },
    changed={
        "utility/metrics.py": (
            Row(
                table="_ROWS",
                text=(
                    'Metric(name="toy-published", question="people with a record of a toy", unit="1", '
                    'better="higher", function=toy.people_published, in_record_of=("boxes",))'
                ),
                imports=("from shoal.utility import toy",),
            ),
        )
    },
    pages={
        "docs/utility.md": Line(
            below="| metric | says | better |\n|---|---|---|\n",
            text="| `toy-published` | people with a record of a toy | higher |\n",
        ),
    },
)

ATTACK = Addition(
    new={
        "attacks/toy.py": '''
            """A toy adversary, who always names the longest record."""

            from typing import Any

            import numpy as np

            from shoal.attacks.evaluation import Evaluation
            from shoal.attacks.rate import Rate


            def attack_longest(
                evaluation: Evaluation[Any], places: int, *, rng: np.random.Generator
            ) -> list[Rate]:
                """One of the longest records is right."""
                del rng
                longest = np.argsort(-np.diff(evaluation.target.offsets), kind="stable")[:places]
                return [
                    Rate.of(
                        np.isin(evaluation.records, longest) / places,
                        name="toy-linkage",
                        knowledge=f"one of {places}",
                        attacker="Someone who knows nothing and names one of the longest records.",
                        target=evaluation.label,
                        baseline=evaluation.guess_rate,
                        clusters=evaluation.clusters,
                    )
                ]
        '''
    },
    changed={
        "attacks/table.py": (
            Row(
                table="_ROWS",
                text=(
                    'Adversary(name="toy", form="toy:N", example="toy:3", sentence="Knows only toys.", '
                    'answers={"toy-linkage": "link"}, evaluate=attack_longest, parameters=(count(3),), '
                    'default=("3",), record=("3",))'
                ),
                imports=("from shoal.attacks.toy import attack_longest",),
            ),
        )
    },
    pages={
        "docs/attacks.md": (
            Line(
                below="| `--knowledge` | the attacker knows | and succeeds by |\n|---|---|---|\n",
                text="| `toy:N` | nothing at all | naming one of the N longest records |\n",
            ),
            LastItem(heading="## Sources", text="- `toy`: not published"),
        ),
    },
)

METHOD_OF_BOXES = Addition(
    new={
        "methods/toy_boxes.py": '''
            """A toy: everybody in one class, with one box around them all."""

            from dataclasses import dataclass
            from typing import Any, ClassVar

            import numpy as np

            from shoal.methods.assembly import EquivalenceClass, assemble
            from shoal.methods.method import About, local_generalization
            from shoal.methods.parameters import at_least, k_parameter, parameter
            from shoal.methods.parameters import parameter_values, require_declared
            from shoal.model.claims import KAnonymity
            from shoal.model.argument_checks import require_method_inputs
            from shoal.model.release import Boxes, Linkage, Release
            from shoal.model.trajectories import Trajectories
            from shoal.runtime.randomness import Randomness
            from shoal.runtime.run import Run


            @dataclass(frozen=True, kw_only=True)
            class ToyBoxes:
                """One box for all.

                Parameters
                ----------
                k
                    Records that are equal, at least.
                left_out
                    People who are left out.

                Examples
                --------
                >>> ToyBoxes(k=3).k
                3
                """

                about: ClassVar[About] = About(
                    name="toy-boxes",
                    title="One Toy Box",
                    techniques=(local_generalization("all samples become one toy box"),),
                    claim=KAnonymity,
                    publishes="boxes",
                    page="toy-boxes",
                )

                k: int = k_parameter(meaning="the fewest records that are equal")
                left_out: int = parameter(
                    default=0,
                    unit="people",
                    bound=at_least(0),
                    help="Leave out so many toy people.",
                    meaning="so many toy people were left out",
                )

                def __post_init__(self) -> None:
                    self.claim()
                    require_declared(self)

                def claim(self) -> KAnonymity:
                    """All records are equal."""
                    return KAnonymity(k=self.k)

                def parameters(self) -> dict[str, Any]:
                    """All parameters, as a manifest holds them."""
                    return parameter_values(self)

                def anonymize(
                    self, original: Trajectories, rng: Randomness, run: Run | None = None
                ) -> tuple[Release, Linkage]:
                    """The release and who became which record."""
                    require_method_inputs(original, rng)
                    members = np.arange(self.left_out, original.n_subjects)
                    t, x, y = (np.concatenate(part) for part in zip(*original.keep(members), strict=True))
                    ends = {
                        name: np.array([value])
                        for name, value in (
                            ("t_start", t.min()), ("t_end", t.max() + 1),
                            ("x_min", x.min()), ("x_max", x.max() + 1),
                            ("y_min", y.min()), ("y_max", y.max() + 1),
                        )
                    }
                    return assemble(
                        original,
                        [EquivalenceClass(members=members, boxes=Boxes(**ends))],
                        self,
                        rng,
                    )
        '''
    },
    changed={
        "methods/__init__.py": (
            Row(
                table="_ROWS",
                text="ToyBoxes",
                imports=("from shoal.methods.toy_boxes import ToyBoxes",),
            ),
        )
    },
    pages={
        "docs/toy-boxes.md": """
            # toy-boxes

            | option | means | default |
            |---|---|---|
            | `--k` | records | 5 |
            | `--left-out` | toys | 0 |
        """,
        "docs/index.md": Line(below="\nglove\n", text="toy-boxes\n"),
        "README.md": Line(
            below="| method | what is published | what is promised | what it is for |\n|---|---|---|---|\n",
            text="| [`toy-boxes`](docs/toy-boxes.md) | boxes | nothing | a toy |\n",
        ),
    },
)

METHOD_OF_POINTS = Addition(
    new={
        "model/claims/true_points.py": '''
            """A toy claim: every published point is true."""

            from dataclasses import dataclass, field
            from typing import ClassVar

            from shoal.model.claims.common import MORE, PayloadKind, for_pairs, require_k


            @dataclass(frozen=True, kw_only=True)
            class TruePoints:
                """Every published point is a raw point."""

                type: ClassVar[str] = "true-points"
                payload: ClassVar[PayloadKind] = "points"
                in_classes: ClassVar[bool] = False
                privacy_model: ClassVar[str] = "none but a toy"
                no_anonymity: ClassVar[str] = "it is a toy"
                vanished: ClassVar[str] = "A toy sample vanished when it came late."
                truthful: ClassVar[bool] = True
                disjoint_in_time: ClassVar[bool] = False
                hull: ClassVar[str | None] = None
                diverse_places: ClassVar[int] = 1
                k: int = field(metadata=MORE)

                def __post_init__(self) -> None:
                    require_k(self.k)

                @property
                def name(self) -> str:
                    """The property and its numbers."""
                    return f"toy truth of {self.k}"

                @property
                def promise(self) -> str:
                    """What is promised, in a sentence."""
                    return "Every toy point is true."

                @property
                def cautions(self) -> tuple[str, ...]:
                    """What somebody who chooses these numbers is told at once."""
                    return for_pairs(self.k, "where the other played")

                @property
                def limits(self) -> tuple[str, ...]:
                    """What the claim does not promise."""
                    return ("A toy protects nobody.", *self.cautions)
        ''',
        "verification/points/true_points.py": '''
            """The check of the toy claim."""

            from shoal.model.claims import TruePoints
            from shoal.model.trajectories import Trajectories
            from shoal.model.verdicts import Finding
            from shoal.runtime.run import Run
            from shoal.verification.examination import Examination


            def examine_true_points(claim: TruePoints, case: Examination[Trajectories], run: Run) -> None:
                """No point is invented."""
                original, points = case.original, case.release.points
                raw = set(zip(original.t, original.x, original.y, strict=True))
                invented = set(zip(points.t, points.x, points.y, strict=True)) - raw
                case.add([Finding("invented-point", f"{len(invented)} toy points")] if invented else [])
                case.mark_checked("true-points")
                case.compare_accounts()
                case.count_subjects(case.link())
        ''',
        "methods/toy_points.py": '''
            """A toy: the first points of everybody."""

            from dataclasses import dataclass
            from typing import Any, ClassVar

            import numpy as np

            from shoal.methods.assembly import PointRecords, assemble_points
            from shoal.methods.method import About, permutation
            from shoal.methods.parameters import at_least, k_parameter, parameter
            from shoal.methods.parameters import parameter_values, require_declared
            from shoal.model.argument_checks import require_method_inputs
            from shoal.model.claims import TruePoints
            from shoal.model.release import Linkage, Points, Release
            from shoal.model.trajectories import Trajectories
            from shoal.runtime.randomness import Randomness
            from shoal.runtime.run import Run


            @dataclass(frozen=True, kw_only=True)
            class ToyPoints:
                """The first points of everybody.

                Parameters
                ----------
                k
                    Nothing, in a toy.
                most_points
                    Points of everybody.

                Examples
                --------
                >>> ToyPoints(k=3).k
                3
                """

                about: ClassVar[About] = About(
                    name="toy-points",
                    title="First Toy Points",
                    techniques=(permutation("toy points stay where they are"),),
                    claim=TruePoints,
                    publishes="points",
                    page="toy-points",
                )

                k: int = k_parameter(meaning="nothing, in a toy")
                most_points: int = parameter(
                    default=5,
                    unit="records",
                    bound=at_least(1),
                    help="Publish so many toy points of everybody.",
                    meaning="so many toy points of everybody were published",
                )

                def __post_init__(self) -> None:
                    self.claim()
                    require_declared(self)

                def claim(self) -> TruePoints:
                    """Every published point is true."""
                    return TruePoints(k=self.k)

                def parameters(self) -> dict[str, Any]:
                    """All parameters, as a manifest holds them."""
                    return parameter_values(self)

                def anonymize(
                    self, original: Trajectories, rng: Randomness, run: Run | None = None
                ) -> tuple[Release, Linkage]:
                    """The release and who became which record."""
                    require_method_inputs(original, rng)
                    original.require_points_as_given()
                    lengths = np.minimum(original.lengths, self.most_points)
                    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
                    given = zip(original.offsets, lengths, strict=False)
                    rows = np.concatenate([begin + np.arange(length) for begin, length in given])
                    points = Points(
                        t=original.t, x=original.x, y=original.y, lat=original.lat, lon=original.lon
                    )
                    release, linkage, _ = assemble_points(
                        original,
                        PointRecords(
                            members=np.arange(original.n_subjects),
                            offsets=offsets,
                            points=points.take(rows),
                            stands_for=rows,
                        ),
                        self,
                        rng,
                    )
                    return release, linkage
        ''',
    },
    changed={
        "model/claims/__init__.py": (
            Row(
                table="Claim",
                text="TruePoints",
                imports=("from shoal.model.claims.true_points import TruePoints",),
            ),
        ),
        "verification/checks.py": (
            Row(
                table="CHECKS",
                text=(
                    'TruePoints: Check(parts=("account", "subjects", "order", "true-points"), '
                    "examine=examine_true_points, streamed=None, "
                    'candidates=Candidates(fitting=None, why_none="toys stand for nobody"))'
                ),
                imports=(
                    "from shoal.model.claims import TruePoints",
                    "from shoal.verification.composition.candidates import Candidates",
                    "from shoal.verification.points.true_points import examine_true_points",
                ),
            ),
        ),
        "methods/__init__.py": (
            Row(
                table="_ROWS",
                text="ToyPoints",
                imports=("from shoal.methods.toy_points import ToyPoints",),
            ),
        ),
    },
    pages={
        "docs/toy-points.md": """
            # toy-points

            | option | means | default |
            |---|---|---|
            | `--k` | records | 5 |
            | `--most-points` | toys | 5 |
        """,
        "docs/index.md": Line(below="\nglove\n", text="toy-points\n"),
        "README.md": Line(
            below="| method | what is published | what is promised | what it is for |\n|---|---|---|---|\n",
            text="| [`toy-points`](docs/toy-points.md) | points | nothing | a toy |\n",
        ),
        "tests/helpers/claim_examples.py": Row(
            table="EXAMPLES",
            text="TruePoints: TruePoints(k=17)",
            imports=("from shoal.model.claims import TruePoints",),
        ),
        "packages/desk/tests/test_library.py": Row(
            table="VARIANTS",
            text="*(TruePoints(k=k) for k in (2, 7))",
            imports=("from shoal.model.claims import TruePoints",),
        ),
    },
)

FIGURE = Addition(
    changed={
        "report/figures/record.py": (
            Row(
                table="FIGURES",
                text='"toy": _toy',
            ),
            Line(
                below="""    return {name: figure for name, figure in drawn.items() if figure is not None}
""",
                text='''

def _toy(_inputs: FigureInputs) -> Drawing:
    """A toy."""
    x, y = axes.from_zero("toys", [1]), axes.from_zero("people", [2])
    return Drawing(x=x, y=y, layers=[Bars(name="toys", x=[1], heights=[2], number=0)])
''',
            ),
        ),
        "report/templates/record.html.j2": (
            Line(
                below="{% block accuracy %}{% endblock %}\n",
                text='{% call plot(drawings, "toy", "A toy figure") %}Toys.{% endcall %}\n',
            ),
        ),
    },
)
