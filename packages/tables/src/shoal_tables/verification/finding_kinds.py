"""The kinds of findings about tables, by what they are about; the README says what they mean."""

from typing import Literal

from shoal.model import verdicts

_Cells = Literal["cells-differ", "columns-differ", "zones-differ", "days-differ", "hours-overlap"]
_Counts = Literal["bound-not-applied", "bound-by-day", "counts-too-large", "counts-differ", "totals-differ"]
_Scale = Literal["noise-scale", "noise-scale-by-size", "noise-scale-by-key", "noise-mean", "noise-shape"]
_NoNoise = Literal["cells-without-noise", "empty-cells-without-noise", "negatives-removed"]
_Dependence = Literal["noise-repeated", "noise-shared", "noise-follows-counts", "noise-rounded"]
_Budget = Literal["budget-differs", "granularity-differs", "bound-differs", "sampler-differs"]
_Reading = Literal["trips-differ", "reading-depends-on-others", "reading-differs", "unit-differs"]
_Estimate = Literal["estimate-differs", "interval-differs", "interval-does-not-cover", "shown-differs"]
_Number = Literal["count-between-units", "no-number"]
_Ledger = Literal["not-in-ledger", "ledger-differs", "other-people", "over-budget"]
_File = Literal["changed-file", "further-file", "further-metadata", "record-differs"]
_Leak = Literal["raw-identifiers", "secret-published", "zones-from-data"]

_OfNoise = Literal[_Scale, _NoNoise, _Dependence]
_OfStatements = Literal[_Budget, _Reading, _Ledger]
_OfFolder = Literal[_File, _Leak]
FindingKind = Literal[_Cells, _Counts, _OfNoise, _OfStatements, _Estimate, _Number, _OfFolder]

Finding = verdicts.Finding[FindingKind]
