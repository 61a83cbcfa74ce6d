"""What a round costs each member, by count.

The paper's own formulas (Sec. 5.2.2), and what this protocol really does.
"""


def paper_messages(n: int, place: int) -> int:
    """Messages that the paper's member at this place (from 0) sends.

    4n, 4n + 1 in the middle, 5n - 1 for the last.
    """
    group, keys, trimmed = 1 + (n - 1), 2 * (n - 1), 1
    to_first, forward, to_server, answers = int(place > 0), 1 if place < n - 1 else n - 1, 1, n - 1
    return group + keys + to_first + forward + to_server + answers + trimmed


def paper_exponentiations(n: int, n_records: int) -> int:
    """The paper's count, which leaves out re-masking."""
    return 1 + 2 * n_records + n * n_records


def exponentiations(n: int, n_records: int, place: int) -> int:
    """Key, encryption, stripping, and re-masking of all but the last; without proofs and checks."""
    return 1 + 2 * n_records + (3 if place < n - 1 else 1) * n * n_records


def mix_messages(n: int) -> int:
    """Messages of one member in one sound run of the mix, a broadcast counted as n - 1: seven broadcasts."""
    return 7 * (n - 1)
