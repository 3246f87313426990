"""The systems that the benchmark of detection compares: each gives a score for each reading, from those before it only."""

from collections import deque
from collections.abc import Callable

import numpy as np
from river import anomaly, preprocessing

from bench.detection_series import DAY, Series
from jobs.transforms.detector import detector
from jobs.transforms.detector.moments import Moment, Pace

Scores = list[np.ndarray]
HISTORY_DAYS = 14  # of the seasonal residuals


def sundial(series: list[Series]) -> Scores:
    """Sundial's detector. Series of one interval are walked side by side, each by its own clock."""
    found: Scores = [np.zeros(0)] * len(series)
    for interval in {each.interval for each in series}:
        of = [number for number, each in enumerate(series) if each.interval == interval]
        rows, pace = max(len(series[each].times) for each in of), Pace(interval)
        times, values = np.zeros((rows, len(of)), np.int64), np.full((rows, len(of)), np.nan)
        for column, number in enumerate(of):
            length = len(series[number].times)
            times[:length, column], values[:length, column] = series[number].times, series[number].values
        state, scores = detector.new_state(len(of), pace), np.zeros(values.shape)
        for row in range(rows):
            moment = Moment(times[row].astype(float), times[row] % DAY, (times[row] // DAY + 3) % 7, False)
            state, score = detector.advance(state, values[row], moment, pace)
            scores[row] = score.score
        for column, number in enumerate(of):
            found[number] = scores[: len(series[number].times), column]
    return found


def plain_rule(series: list[Series]) -> Scores:
    """|100 * value / average - 100|, the average being that of the last four dates of the weekday; 0 with fewer than two."""
    return [_plain(each) for each in series]


def _plain(series: Series) -> np.ndarray:
    known: dict[tuple[int, int], deque[float]] = {}
    scores = np.zeros(len(series.times))
    for row, (time, value) in enumerate(zip(series.times.tolist(), series.values.tolist(), strict=True)):
        past = known.setdefault((time // DAY % 7, time % DAY // series.interval), deque(maxlen=4))
        average = sum(past) / len(past) if len(past) > 1 else 0.0
        scores[row] = abs(100 * value / average - 100) if average else 0.0
        past.append(value)
    return scores


def rolling_z(series: list[Series]) -> Scores:
    """|value - mean| / standard deviation, both of the day before."""
    return [_rolling(each) for each in series]


def _rolling(series: Series) -> np.ndarray:
    window = max(12, DAY // series.interval)
    sums, squares = (np.concatenate([[0], np.cumsum(each)]) for each in (series.values, np.square(series.values)))
    end = np.arange(len(series.values))
    start = np.maximum(end - window, 0)
    number = np.maximum(end - start, 1)
    mean = (sums[end] - sums[start]) / number
    deviation = np.sqrt(np.maximum((squares[end] - squares[start]) / number - mean**2, 0))
    return np.where(number >= 12, np.abs(series.values - mean) / np.maximum(deviation, 1e-3 * np.abs(mean) + 1e-9), 0)


def seasonal_esd(series: list[Series]) -> Scores:
    """The test statistic of seasonal hybrid ESD, made causal (Vallis, Hochenbaum & Kejariwal, "A novel technique for long-term
    anomaly detection in the cloud", 2014): the value without the median of its time of day over two weeks, by median and MAD of
    all such residuals of these weeks, which are taken anew each hour."""
    return [_seasonal(each) for each in series]


def _seasonal(series: Series) -> np.ndarray:
    kept = HISTORY_DAYS * DAY // series.interval
    slots: dict[int, deque[float]] = {}
    residuals: deque[float] = deque(maxlen=kept)
    scores, centre, spread, level = np.zeros(len(series.times)), 0.0, 0.0, 0.0
    each_hour = max(1, 3600 // series.interval)
    for row, (time, value) in enumerate(zip(series.times.tolist(), series.values.tolist(), strict=True)):
        past = slots.setdefault(
            time % DAY // max(series.interval, 1800), deque(maxlen=HISTORY_DAYS * max(1, 1800 // series.interval))
        )
        if row % each_hour == 0 and len(residuals) >= 12:
            values = np.array(residuals)
            centre = float(np.median(values))
            spread = 1.4826 * float(np.median(np.abs(values - centre)))
            level = float(values.std())
        seasonal = sorted(past)[len(past) // 2] if past else value
        if spread or level:
            scores[row] = abs(value - seasonal - centre) / max(spread, 0.05 * level, 1e-9)
        residuals.append(value - seasonal)
        past.append(value)
    return scores


def river_trees(series: list[Series]) -> Scores:
    """river's half-space trees (Tan, Ting & Liu, "Fast anomaly detection for streaming data", 2011) on value, change and hour."""
    return [_trees(each) for each in series]


def _trees(series: Series) -> np.ndarray:
    model = preprocessing.MinMaxScaler() | anomaly.HalfSpaceTrees(n_trees=10, height=8, window_size=250, seed=7)
    scores, last = np.zeros(len(series.times)), float(series.values[0])
    for row, (time, value) in enumerate(zip(series.times.tolist(), series.values.tolist(), strict=True)):
        features = {"value": value, "change": value - last, "hour": time % DAY / DAY}
        scores[row] = model.score_one(features)
        model.learn_one(features)
        last = value
    return scores


def river_gaussian(series: list[Series]) -> Scores:
    """river's Gaussian scorer over the readings of a week."""
    return [_gaussian(each) for each in series]


def _gaussian(series: Series) -> np.ndarray:
    model = anomaly.GaussianScorer(window_size=7 * DAY // series.interval, grace_period=50)
    scores = np.zeros(len(series.times))
    for row, value in enumerate(series.values.tolist()):
        scores[row] = -np.log10(max(1 - model.score_one(None, value), 1e-300))
        model.learn_one(None, value)
    return scores


SYSTEMS: dict[str, Callable[[list[Series]], Scores]] = {
    "sundial": sundial,
    "plain_rule": plain_rule,
    "rolling_z": rolling_z,
    "seasonal_esd": seasonal_esd,
    "river_trees": river_trees,
    "river_gaussian": river_gaussian,
}
