"""k-anonymity over a series of releases. No release carries it: it is about several of them."""

from dataclasses import dataclass

from shoal.model.claims.common import require_k


@dataclass(frozen=True, kw_only=True)
class SeriesAnonymity:
    """For each person, at least k people share her crowd in every release that holds a record of her.

    k: the least k of the releases, at least 2.

    >>> from shoal.model.claims.series import SeriesAnonymity
    >>> SeriesAnonymity(k=5, releases=8).name
    'k-anonymity over the series, k = 5'
    """

    k: int
    releases: int

    def __post_init__(self) -> None:
        require_k(self.k)

    @property
    def name(self) -> str:
        """Title with its number."""
        return f"k-anonymity over the series, k = {self.k}"

    @property
    def promise(self) -> str:
        """The promise in a sentence."""
        return (
            f"Whatever is known of a person in any of the {self.releases} releases, at least {self.k} people "
            "fit in all of them."
        )
