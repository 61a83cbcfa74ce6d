"""The kinds of findings about records, by what they are about; ``docs/findings.md`` says what each means."""

from typing import Literal

_Class = Literal["class-below-k", "class-without-subjects", "too-much-missing", "too-much-of-one-missing"]
_Box = Literal["malformed-box", "overlap-in-time", "sample-without-own-point", "box-not-tight", "small-box"]
_PlaceList = Literal["other-places", "too-few-kinds", "no-leaves", "off-list"]
_Hiding = Literal["too-few-candidates", "too-few-covers", "same-hiders", "too-few-owners"]
_Point = Literal["malformed-point", "invented-point", "doubled-point", "time-changed"]
_Company = Literal["alone-at-a-time", "company-changes", "exchanged-people", "points-not-accounted"]
_Threshold = Literal["beyond-threshold", "off-street", "path-too-long"]
_SwapSet = Literal["small-swap-set", "unswapped-point", "wrong-exchange", "trace-mismatch"]
_Shuffle = Literal["mixed-clusters", "biased-shuffle", "correlated-shuffle"]
_Record = Literal["nothing-checked", "not-decided", "empty-record", "duplicate-pseudonym"]
_Account = Literal["lost-samples-not-counted", "lost-subjects-not-counted", "lost-rows-not-counted"]
_Comparison = Literal["grid-mismatch", "unit-mismatch", "weaker-claim"]
_Subject = Literal["record-without-subject", "record-with-two-subjects", "subject-in-two-classes"]
_Linkage = Literal["doubled-link", "unknown-record", "unknown-subject"]
_Releases = Literal["fewer-than-k-together", "fewer-than-k-in-series"]
_Leak = Literal["raw-identifier", "raw-value", "look-alikes", "record-order", "seed", "metadata"]
_Page = Literal["active-page", "private-page"]
_Manifest = Literal["wrong-hash", "wrong-count", "false-statement", "respelled", "plane-not-in-meters"]
_Rows = Literal["row-order", "finer-than-claim", "stored-differently", "hidden-bytes"]
_Form = Literal["unexpected-pseudonym", "unexpected-type", "unexpected-column", "unexpected-file"]

_OfClaim = Literal[_Class, _Box, _PlaceList, _Hiding, _Point, _Company, _Threshold, _SwapSet, _Shuffle]
_OfFiles = Literal[_Leak, _Page, _Manifest, _Rows, _Form]
FindingKind = Literal[_OfClaim, _Record, _Account, _Comparison, _Subject, _Linkage, _Releases, _OfFiles]
