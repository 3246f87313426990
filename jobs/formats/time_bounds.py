"""How far a record's own time may be from the broker's clock, by declaration (`most_ahead`, `most_behind`).

A producer that sends microseconds as milliseconds, or whose clock is wrong, sends times of other centuries. One time ahead of all
others moves a watermark for ever, and most libraries know no year 58375.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from contracts.declarations import Duration, seconds_of


def within(time: Column, taken_at: Column, ahead: Duration, behind: Duration) -> Column:
    """Whether `time` is near enough to `taken_at`, the time at which the broker took the record (both timestamps)."""
    # Spark adds an interval by way of the calendar of a time zone, which costs a reading a tenth of all its CPU time.
    at, taken = F.unix_micros(time), F.unix_micros(taken_at)
    return at.between(taken - _micros(behind), taken + _micros(ahead))


def reason(name: str, time: Column, taken_at: Column, ahead: Duration, behind: Duration) -> Column:
    """Why the time `name` is not within the bounds; null where it is."""
    shown = F.concat(F.lit(f"{name} "), time.cast("string"))
    too_early = F.concat(shown, F.lit(f" is more than {behind} behind the broker's clock (most_behind)"))
    too_late = F.concat(shown, F.lit(f" is more than {ahead} ahead of the broker's clock (most_ahead)"))
    at, taken = F.unix_micros(time), F.unix_micros(taken_at)
    return F.when(at > taken + _micros(ahead), too_late).when(at < taken - _micros(behind), too_early)


def _micros(duration: Duration) -> int:
    return round(seconds_of(duration) * 1_000_000)
