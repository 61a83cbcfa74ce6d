"""One claim of each type, with numbers that no other text of a claim holds."""

from typing import Any

from shoal.model.claims import (
    Blurred,
    KAnonymity,
    KDeltaAnonymity,
    KteAnonymity,
    LocationPrivacy,
    TrajectoryPrivacy,
)

EXAMPLES: dict[type, Any] = {
    KAnonymity: KAnonymity(k=17, missing_at_most=0.4, missing_of_one_at_most=0.25),
    KteAnonymity: KteAnonymity(k=17, tau_s=7200.0, epsilon_s=3600.0, hiders_stay=True),
    KDeltaAnonymity: KDeltaAnonymity(k=17, delta_m=750.0),
    TrajectoryPrivacy: TrajectoryPrivacy(k=17, time_threshold_s=90.0, space_threshold_m=4000.0),
    LocationPrivacy: LocationPrivacy(
        k=17, time_threshold_s=90.0, space_threshold_m=4000.0, most_off_street_m=60.0
    ),
    Blurred: Blurred(width_m=17000.0, duration_s=1800.0),
}
