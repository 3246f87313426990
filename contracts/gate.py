"""What the gate asks of a baseline candidate, as a feed declares it."""

from typing import Annotated

from pydantic import Field

from contracts.declarations import Declared


class Gate(Declared):
    """What a baseline candidate must satisfy to be promoted; the expectations are in schemas/expectations/baseline.json."""

    services: Annotated[int, Field(ge=1)] = 1  # least number of services
    day_types: Annotated[int, Field(ge=1, le=7)] = 7  # least number of day types among them
    covered_share: Annotated[float, Field(ge=0, le=1)] = 0.9  # least share of a day's slots that have a baseline
    freshness_days: Annotated[int, Field(ge=1)] = 1  # greatest age of the newest date, counted back from the baseline's own
    highest: Annotated[float, Field(gt=0)] = 1e12  # greatest plausible average
    moved_percent: Annotated[float, Field(gt=0)] = 50.0  # an average that differs by more from the one in force has moved
    moved_share: Annotated[float, Field(ge=0, le=1)] = 0.5  # greatest share of a day's slots that may have moved
    holdout_tolerance: Annotated[float, Field(ge=0)] = 0.25  # by how much worse than in force it may predict the last day
    mostly: Annotated[float, Field(gt=0, le=1)] = 0.9  # share of services and day types that must satisfy a share
