"""Which column of a sample has the readings, and what they are multiplied by."""

import pytest

from stack.sample.files import read_sample
from stack.sample.inference import Given, found_in, shown


def found(folder, header: str, cells: list[str], **given):
    """As a file whose rows are a minute apart."""
    path = folder / "sample.csv"
    path.write_text("\n".join([f"at,{header}", *(f"{1_700_000_000 + 60 * row},{cell}" for row, cell in enumerate(cells))]) + "\n")
    return found_in(read_sample(path), Given(**given), pytest.fail)


@pytest.mark.parametrize(
    ("cells", "scale", "median"),
    [
        (["1", "2.0", "3."], None, 2),
        (["1", "2.5", "3"], 10, 25),
        (["21.537", "", "NaN", "0.1", "30.25"], 1000, 21537),
        (["0.000001", "1", "2"], 1_000_000, 1_000_000),
        (["0.1341234567", "0.25", "1.9876543219"], 10_000, 2500),  # half of them are at least 1,000 by it
        (["0.00000001", "0.00000002", "0.00000003"], 1_000_000, 0),
        (["400000000000.25", "1", "2"], 1, 2),  # by more it were no plausible average
        (["1e-3", "2e-3", "3e-3"], 1000, 2),
    ],
)
def test_decimals_tell_the_scale(tmp_path, cells, scale, median):
    read = found(tmp_path, "watts", cells)
    assert (read.scale, read.median) == (scale, median)
    [row] = [row for row in shown(read) if row[0] == "value"]
    assert row[1] == (f"watts times {scale}" if scale else "watts")
    assert ("it has decimals, --value-scale names another factor" in row[2]) == bool(scale)


def test_an_option_names_the_scale_of_any_numbers(tmp_path):
    assert found(tmp_path, "watts", ["1.26", "2", "3"], value_scale=10).median == 20
    read = found(tmp_path, "watts", ["1", "2", "3"], value_scale=60)
    assert (read.scale, read.median, read.why["value"]) == (60, 120, "the only column of whole numbers")


@pytest.mark.parametrize(
    ("header", "cell", "column", "why"),
    [
        ("requests,latency", "7,0.25", "requests", "the only column of whole numbers"),
        ("latency,count", "0.25,7", "count", "its name, among columns of numbers"),
        (
            "id,value",
            "7,0.25",
            "value",
            "its name, among columns of numbers; it has decimals, --value-scale names another factor",
        ),
        ("id,count", "7,8", "count", "its name, among columns of whole numbers"),
    ],
)
def test_a_name_or_whole_numbers_tell_the_column(tmp_path, header, cell, column, why):
    read = found(tmp_path, header, [cell] * 3)
    assert (read.value, read.why["value"]) == (column, why)
