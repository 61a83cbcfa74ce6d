"""Every way in which a release can fail a check: one literal table of finding kinds, one sentence each."""

from typing import Final

KINDS: Final[dict[str, str]] = {
    # the claim, on boxes
    "class-below-k": "Fewer records than the claim's k are identical to each other, sample for sample.",
    "too-few-candidates": "In some interval of length tau, fewer than k records fit what is known of a "
    "subject.",
    "too-few-covers": "Around suppressed samples, in some interval of length tau, fewer than k records hold "
    "what is published of a subject.",
    "not-decided": "Some subjects or records were not fully examined, because too many boxes or records lie "
    "around them.",
    # the claim, on points
    "alone-at-a-time": "At some published time, fewer than k - 1 other records are within delta of a record.",
    "company-changes": "Others are near a record at every time, but no k - 1 of them stay within delta of "
    "it and of each other all along.",
    "points-not-accounted": "Raw samples, less the suppressed and with the created ones, are not as many as "
    "the published points.",
    "invented-point": "A published triple, or a place where times stay, stands nowhere in the raw data.",
    "doubled-point": "A raw triple or place is published more often than it occurs.",
    "time-changed": "A record has a time that its subject lacks, where times stay; or a time without its "
    "place, where triples move.",
    "beyond-threshold": "A swap set holds a point farther than the claim's time or space threshold from the "
    "one that leads it.",
    "small-swap-set": "A swap set holds fewer than k points, two of one trajectory, or one place twice "
    "where places must differ.",
    "unswapped-point": "A published point was in no swap set.",
    "wrong-exchange": "The points of a swap set did not end where an exchange among its members leads.",
    "trace-mismatch": "The trace of the run does not belong to this release.",
    "biased-shuffle": "Points end at some places of their swap sets far more often than a fair shuffle "
    "allows.",
    "correlated-shuffle": "Points of different swap sets go the same way far more, or less, often than "
    "independent draws let them.",
    "mixed-clusters": "A trajectory swaps with some trajectories in one set and with others in another, so "
    "that its own record keeps the largest share of it.",
    "off-street": "A swapped point is farther from every street than the claim allows.",
    "path-too-long": "An exchange needs a path along the streets longer than the claim's space threshold.",
    # records, linkage and losses
    "malformed-box": "A box has no extent: it ends where it starts, or before.",
    "malformed-point": "A published point is not a number, or the points of a record do not ascend by time, "
    "or one occurs twice.",
    "empty-record": "A record holds no box and no point.",
    "duplicate-pseudonym": "Two records carry the same pseudonym.",
    "overlap-in-time": "Two boxes of one record share a moment, which the claim excludes.",
    "sample-without-own-point": "A published box holds no raw sample of the subject it is published for.",
    "box-not-tight": "A box is not the hull of the raw samples, of its class's members (or of anybody), "
    "that lie wholly inside it, or reaches farther beyond that hull than the claim says.",
    "too-few-owners": "Fewer records than k hold all published samples of a person, with one in every box, "
    "and could each be the person's own.",
    "class-without-subjects": "Checked without linkage: fewer subjects than members have a raw sample in "
    "every box of a class.",
    "record-without-subject": "The linkage gives a record no subject, or records are far more than people.",
    "record-with-two-subjects": "The linkage gives a record more than one subject.",
    "subject-in-two-classes": "The linkage gives a subject more than one record.",
    "unknown-record": "The linkage names a record that the release does not hold.",
    "unknown-subject": "The linkage names a subject that the raw data does not hold.",
    "lost-samples-not-counted": "The raw samples that no box of their own subject's record covers are not "
    "as many as the losses say.",
    "too-much-missing": "More raw samples, or more people, are missing than the claim allows.",
    "too-much-of-one-missing": "More of one person's samples are missing than the claim allows.",
    "lost-subjects-not-counted": "The subjects without a record are not as many as the losses say.",
    "lost-rows-not-counted": "The input rows dropped, by reason, are not those that the losses count.",
    "grid-mismatch": "The release's cell, slot or plane is not that of the raw data, so the two cannot be "
    "compared.",
    "unit-mismatch": "The release names another unit of protection, or another screening of subjects, than "
    "the raw data was read with.",
    "fewer-than-k-together": "Each release by itself leaves k people who could be this one; all together "
    "leave fewer.",
    "nothing-checked": "No record was examined.",
    # leaks around the claim
    "raw-identifier": "A raw identifier, or a plain hash of one, stands in what is published.",
    "record-order": "The order of the records, or of their pseudonyms, follows the order of the input or of "
    "the raw identifiers.",
    "seed": "A parameter holds a seed, with which the shuffle can be undone.",
    # what was expected
    "weaker-claim": "The release claims less than was expected, or less than the releases of its method do.",
    # the folder
    "false-statement": "The manifest states something that the check derives otherwise: its verdict, the "
    "rows repaired, a parameter that the claim has too or that the table shows, or its losses.",
    "respelled": "The manifest, or an export's list of files, says what it says in other letters than shoal "
    "writes: blanks, escapes, the order of its entries; or the list says more.",
    "hidden-bytes": "The table's file holds bytes that are no row: an unused value of a dictionary, a false "
    "statistic, an index, metadata, or what stands between pages and footer.",
    "plane-not-in-meters": "Distances in the manifest's plane are not those on the earth, so that no length "
    "of the claim means what it says.",
    "private-page": "The folder's page is not marked as one for publication.",
    "wrong-hash": "The manifest gives another SHA-256 than the table's file or the page has.",
    "wrong-count": "The manifest gives other numbers of records or samples than the table holds.",
    "row-order": "The rows of the table are not grouped by record and in canonical order, so that their "
    "order can carry information.",
    "finer-than-claim": "A coordinate, time or geometry is finer than the release's cells and slots.",
    "stored-differently": "Records with the same boxes are not stored byte for byte alike, which could tell "
    "the members of a class apart.",
    "unexpected-pseudonym": "A pseudonym is not 16 hexadecimal digits, and so could say anything.",
    "unexpected-type": "A column is stored in another type than a release has, such as numbers as text.",
    "unexpected-column": "The table has a column that does not belong there.",
    "unexpected-file": "The folder holds a file that does not belong there.",
    "metadata": "Something in the folder names this machine, its user, or a path on it.",
}
