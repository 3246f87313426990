"""Times of a capture that are text of another format, as ISO 8601."""

from pyspark.sql import Column
from pyspark.sql import functions as F

from contracts.time_formats import FIRST_SHORT_YEAR, MONTHS, TimeFormat


def iso_text(text: Column, form: TimeFormat) -> Column:
    """Text of that format as ISO 8601; null, or no time either, where it is of another."""
    parts = {name: F.regexp_extract(text, form.pattern(), number) for number, name in enumerate(form.directives, 1)}

    def padded(number: Column) -> Column:
        return F.lpad(number.cast("string"), 2, "0")

    year = parts.get("%Y")
    if year is None:
        year = parts["%y"].cast("int") + F.when(parts["%y"].cast("int") < FIRST_SHORT_YEAR, 2000).otherwise(1900)
    named = "%b" in parts
    month = F.array_position(F.array(*map(F.lit, MONTHS)), F.lower(parts["%b"])) if named else parts["%m"]
    date = F.concat_ws("-", year.cast("string"), padded(month), padded(parts["%d"]))
    if "%M" not in parts:
        return F.when(text.rlike(form.pattern()), date)
    hour = parts.get("%H")
    if hour is None:
        twelve, after_noon = parts["%I"].cast("int"), F.lower(parts["%p"]) == "pm"
        hour = F.when(twelve.between(1, 12), twelve % 12 + F.when(after_noon, 12).otherwise(0)).otherwise(99)
    clock = F.concat_ws(":", padded(hour), parts["%M"], parts.get("%S", F.lit("00")))
    fraction = [F.lit("."), parts["%f"]] if "%f" in parts else []
    zone = [parts["%z"]] if "%z" in parts else []
    return F.when(text.rlike(form.pattern()), F.concat(date, F.lit("T"), clock, *fraction, *zone))
