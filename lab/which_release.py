"""What each kind of release is good for, and what the strongest attack wins: the table of docs/which.md.

    .venv/bin/python lab/which_release.py NAME=FILE ... [--time-zone ZONE]

The trial releases of ``shoal advise``, and before them the default of ``shoal anonymize --k 5``, of samples.
"""

import argparse

from shoal.attacks.questions import TRIES, assess_release
from shoal.comparison.advice import PURPOSES, Trial, advice_for, try_releases
from shoal.io import read
from shoal.methods.glove.glove import Glove
from shoal.model.trajectories import Trajectories
from shoal.publishing.estimate import size_of_sample
from shoal.report.facts.evidence import publishable_rate
from shoal.runtime.randomness import Randomness
from shoal.utility import Facts
from shoal.utility.usefulness import usefulness_of

SHOWN = {  # besides what is proposed
    "--k 2 --refine --hull grid:500m",
    "--k 5",
    "--k 5 --refine",
    "--k 5 --refine --hull grid:500m",
    "--k 11 --refine --hull grid:500m",
    "--per-day --k 5 --refine --hull grid:500m",
}


def default_release(people: Trajectories) -> Trial:
    sample = people.keep(range(size_of_sample(people, 5)))
    released = Glove(k=5).anonymize(sample, Randomness.for_research(44))
    facts = Facts(sample, *released)
    return Trial(
        options=("--k 5",),
        k=5,
        people=sample.n_subjects,
        left_out=facts.accuracy.samples_suppressed / sample.n_samples,
        usefulness=usefulness_of(facts),
        strongest=publishable_rate(assess_release(sample, *released, tries=TRIES)),
    )


def row(data: str, trial: Trial, proposed_for: list[str]) -> str:
    strongest = trial.strongest
    attack = "unknown"
    if strongest is not None:
        attack = f"{100 * strongest.rate:.0f} % ({100 * strongest.baseline:.0f} %), `{strongest.name}`"
    cells = [
        data,
        f"`{trial.name}`",
        trial.usefulness.within,
        f"{100 * trial.left_out:.1f} %",
        attack,
        trial.usefulness.good_for,
        ", ".join(proposed_for),
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="+", metavar="NAME=FILE")
    parser.add_argument("--time-zone")
    arguments = parser.parse_args()
    for text in arguments.data:
        name, _, file = text.partition("=")
        people = read(file, time_zone=arguments.time_zone)
        days = read(file, time_zone=arguments.time_zone, per_day=True)
        trials = try_releases(people, days if days.n_subjects > people.n_subjects else None)
        proposed = {use: advice_for(trials, [use]).trial for use in PURPOSES}
        print(f"{name}: {people.n_subjects} people, {days.n_subjects} days, {people.n_samples} samples")
        for trial in (default_release(people), *trials.trials):
            uses = [use for use, chosen in proposed.items() if chosen is trial]
            if uses or trial.name in SHOWN:
                print(row(name, trial, uses), flush=True)
        for options, reason in trials.failed:
            print(f"no release: {options}: {reason}", flush=True)


if __name__ == "__main__":
    main()
