"""How well the places of two sets of records agree, feature by feature."""

from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.compiled import compiled


@compiled
def add_agreement(
    starts: Integers,
    records: Integers,
    shares: Floats,
    surprises: Floats,
    other_starts: Integers,
    other_records: Integers,
    other_shares: Floats,
    other_surprises: Floats,
    scores: Floats,
) -> None:
    """Add to scores [r, o]: for each feature of both, the share of one times the surprise of the other.

    Feature f is shown by records[starts[f] : starts[f + 1]], with a share of the record's presence and the
    log-odds by which the record shows it more than records do on average.
    """
    for feature in range(len(starts) - 1):
        for i in range(starts[feature], starts[feature + 1]):
            row = scores[records[i]]
            for j in range(other_starts[feature], other_starts[feature + 1]):
                row[other_records[j]] += shares[i] * other_surprises[j] + other_shares[j] * surprises[i]
