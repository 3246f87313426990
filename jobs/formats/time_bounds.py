"""How far a record's own time may be from the broker's clock, by declaration (`most_ahead`, `most_behind`).

A producer that sends microseconds as milliseconds, or whose clock is wrong, sends times of other centuries. One time ahead of all
others moves a watermark for ever, and most libraries know no year 58375.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from contracts.declarations import Duration


def within(time: Column, taken_at: Column, ahead: Duration, behind: Duration) -> Column:
    """Whether `time` is near enough to `taken_at`, the time at which the broker took the record (both timestamps)."""
    return time.between(taken_at - _interval(behind), taken_at + _interval(ahead))


def reason(name: str, time: Column, taken_at: Column, ahead: Duration, behind: Duration) -> Column:
    """Why the time `name` is not within the bounds; null where it is."""
    shown = F.concat(F.lit(f"{name} "), time.cast("string"))
    too_early = F.concat(shown, F.lit(f" is more than {behind} behind the broker's clock (most_behind)"))
    too_late = F.concat(shown, F.lit(f" is more than {ahead} ahead of the broker's clock (most_ahead)"))
    return F.when(time > taken_at + _interval(ahead), too_late).when(time < taken_at - _interval(behind), too_early)


def _interval(duration: Duration) -> Column:
    return F.expr(f"INTERVAL {duration}")
