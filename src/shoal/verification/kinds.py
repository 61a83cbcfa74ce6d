"""Every way in which a release can fail a check: one literal table of finding kinds, one sentence each."""

from typing import Final

KINDS: Final[dict[str, str]] = {
    # the claim (boxes.py, k_anonymity.py, kte.py)
    "class-below-k": "Fewer records than the claim's k are identical to each other, sample for sample.",
    "too-few-candidates": "Fewer than k records fit what is known of a subject in some interval of length "
    "tau.",
    "too-few-covers": "Around suppressed samples, fewer than k records hold what is published of a subject "
    "in some interval of length tau.",
    "not-decided": "Subjects were not looked at to the end, because more boxes lie around their samples "
    "than can be looked through.",
    "alone-at-a-time": "At some published time fewer than k - 1 other records are within delta of a record.",
    "company-changes": "Others are near a record at every time, but no k - 1 that stay within delta of it "
    "and of each other all along.",
    "points-not-accounted": "Raw samples, less the suppressed and with the created ones, are not as many as "
    "the published points.",
    "malformed-box": "A box has no extent: it ends where it starts, or before.",
    "malformed-point": "A published point is no number, or the points of a record do not ascend by time, or "
    "one stands there twice.",
    "empty-record": "A record holds no box and no point.",
    "duplicate-pseudonym": "Two records carry the same pseudonym.",
    "overlap-in-time": "Two boxes of one record share a moment, which the claim excludes.",
    "sample-without-own-point": "A published box holds no raw sample of the subject it is published for.",
    "box-not-tight": "A box is not the hull of the raw samples, of the members of its class (or of "
    "anybody), that lie wholly inside it.",
    "class-without-subjects": "Checked without linkage: fewer subjects than members have a raw sample in "
    "every box of a class.",
    "record-without-subject": "The linkage gives a record no subject.",
    "record-with-two-subjects": "The linkage gives a record more than one subject.",
    "subject-in-two-classes": "The linkage gives a subject more than one record.",
    "unknown-record": "The linkage names a record that the release does not hold.",
    "unknown-subject": "The linkage names a subject that the raw data does not hold.",
    "lost-samples-not-counted": "The raw samples that no box of their own subject's record covers are not "
    "as many as the losses say.",
    "lost-subjects-not-counted": "The subjects without a record are not as many as the losses say.",
    "lost-rows-not-counted": "The input rows dropped, by reason, are not those that the losses count.",
    "grid-mismatch": "Cell, slot or plane of the release are not those of the raw data, so the two cannot "
    "be compared.",
    "unit-mismatch": "The release names another unit of protection, or another screening of subjects, than "
    "the raw data was read with.",
    "fewer-than-k-together": "Each release by itself leaves k people who could be this one, all of them "
    "together leave fewer.",
    "invented-point": "A published triple, or place where times stay, stands nowhere in the raw data.",
    "doubled-point": "A raw triple or place is published more often than it occurs.",
    "time-changed": "A record has a time that its subject lacks, where times stay; or a time without its "
    "place, where triples move.",
    "beyond-threshold": "A swap set holds a point beyond the claim's time or space threshold from the one "
    "that leads it.",
    "small-swap-set": "A swap set holds fewer than k points, two of one trajectory, or one place twice "
    "where they must differ.",
    "unswapped-point": "A published point was in no swap set.",
    "wrong-exchange": "The points of a swap set did not end where an exchange among its members leads.",
    "trace-mismatch": "The trace of the run is not that of this release.",
    "biased-shuffle": "Points end at some places of their swap sets far more often than a fair shuffle "
    "allows.",
    "off-street": "A swapped point is farther from every street than the parameters allow.",
    "path-too-long": "An exchange needs a path along the streets that is longer than the claim's space "
    "threshold.",
    "nothing-checked": "No record was examined.",
    # what leaks around the claim (identifiers.py, order.py)
    "raw-identifier": "A raw identifier, or a plain hash of one, stands in what is published.",
    "record-order": "The order of the records, or of their pseudonyms, follows the order of the input or of "
    "the raw identifiers.",
    "seed": "A parameter holds a seed, with which the shuffle can be undone.",
    # the folder (folder.py, leaks.py, precision.py)
    "wrong-hash": "The manifest gives another SHA-256 than the boxes' file has.",
    "wrong-count": "The manifest gives other numbers of records or samples than the boxes' file holds.",
    "row-order": "The rows of the boxes' file are not grouped by record and in canonical order, so that "
    "their order can carry information.",
    "finer-than-claim": "A coordinate, time or outline is finer than the cells and slots of the claim.",
    "unexpected-column": "The boxes' file has a column that does not belong there.",
    "unexpected-file": "The folder holds a file that does not belong there.",
    "metadata": "Something in the folder names this machine, its user, or a path on it.",
}
