"""A client of Sundial's API for notebooks and scripts.

    from sundial.client import Client

    with Client("http://127.0.0.1:18000") as sundial:
        readings = sundial.readings("service-use", "search-us", minutes=1440).to_pandas()

It has a room of its own, beside `serving`, so that what people import is as short as the command that they type. It shares the
API's models: fields and units of a row are those of the models in `serving`.
"""

import datetime as dt
import time
from collections.abc import Generator, Iterable
from typing import Literal
from urllib.parse import quote

from serving.baseline_models import Baseline, BaselineChange, BaselineRow, GateResultInfo, PromotionInfo
from serving.health_models import Health, StreamInfo
from serving.models import AnomalyInfo, Bucket, DeadLetterInfo, EventKind, FeedInfo, IncidentInfo, Point, ServiceInfo
from serving.overview_models import Overview
from serving.query_tables.models import QueryInfo, QueryRow
from serving.statement_models import InForce, StatementInfo
from sundial.addresses import events_query, feed_path, service_path, span_query, window_query
from sundial.asking import Asking
from sundial.errors import ApiError
from sundial.events import Event, followed
from sundial.rows import Rows

__all__ = ["ApiError", "Client", "Event", "Rows"]


class Client(Asking):
    """Every method asks the API once, or once for each page, and raises ApiError where that fails.

    url: address of serving. timeout: seconds without a byte after which a request has failed. http: a client of the caller's own,
    for example with the login of a proxy; it stays open. token: of a user (docs/access.md); by default that of SUNDIAL_API_TOKEN.
    """

    def feeds(self) -> Rows[FeedInfo]:
        """Every declared feed."""
        return self._rows(FeedInfo, "/api/feeds")

    def services(self, feed: str) -> Rows[ServiceInfo]:
        """The feed's services by name, with their newest readings."""
        return self._rows(ServiceInfo, f"{feed_path(feed)}/services")

    def newest(self, feed: str, service: str) -> ServiceInfo:
        """The service with its newest reading."""
        return ServiceInfo.model_validate_json(self._get(f"{service_path(feed, service)}/newest", "application/json").content)

    def readings(
        self,
        feed: str,
        service: str,
        minutes: int = 60,
        start: dt.datetime | None = None,
        end: dt.datetime | None = None,
        limit: int | None = None,
    ) -> Rows[Point]:
        """The service's readings with their expected values, oldest first: of the last `minutes`, or from start to end."""
        window = window_query(minutes, start, end)
        return self._rows(Point, f"{service_path(feed, service)}/readings", limit, page=10_000, **window)

    def series(
        self,
        feed: str,
        service: str,
        minutes: int = 60,
        start: dt.datetime | None = None,
        end: dt.datetime | None = None,
        width: int = 1500,
    ) -> Rows[Bucket]:
        """The same in at most `width` buckets, with what is expected of intervals without a reading: the data of a chart."""
        return self._rows(Bucket, f"{service_path(feed, service)}/series", width=width, **window_query(minutes, start, end))

    def anomalies(self, feed: str, service: str | None = None, limit: int | None = None) -> Rows[AnomalyInfo]:
        """The latest anomalies, newest first."""
        return self._rows(AnomalyInfo, f"{feed_path(feed)}/anomalies", limit, page=500, service=service)

    def incidents(
        self,
        feed: str,
        service: str | None = None,
        only_open: bool = False,
        group: str | None = None,
        limit: int | None = None,
        start: dt.datetime | None = None,
        end: dt.datetime | None = None,
    ) -> Rows[IncidentInfo]:
        """The incidents that last between start and end, at most 45 days; without them the latest. Newest first. Members of
        groups are left out unless `service` or `group` asks for them."""
        query = {"service": service, "open": "true" if only_open else None, "group": group} | span_query(start, end)
        return self._rows(IncidentInfo, f"{feed_path(feed)}/incidents", limit, page=500, **query)

    def all_incidents(
        self,
        feed: str | None = None,
        service: str | None = None,
        search: str | None = None,
        state: Literal["open", "closed"] | None = None,
        kind: Literal["deviation", "silence", "group"] | None = None,
        limit: int | None = None,
        start: dt.datetime | None = None,
        end: dt.datetime | None = None,
    ) -> Rows[IncidentInfo]:
        """The incidents of all feeds, open ones first, then the newest first: those that last between start and end, at most 45
        days; without them the latest. Members of groups are left out unless `service` or `search`, a part of the name, asks for
        services."""
        query = {"feed": feed, "service": service, "search": search, "state": state, "kind": kind} | span_query(start, end)
        return self._rows(IncidentInfo, "/api/incidents", limit, page=500, **query)

    def statements(
        self,
        feed: str,
        service: str | None = None,
        kind: InForce | None = None,
        limit: int | None = None,
        start: dt.datetime | None = None,
        end: dt.datetime | None = None,
    ) -> Rows[StatementInfo]:
        """What people said of incidents and of readings, and nobody took back, newest first: all, or what is about a time between
        start and end, at most 45 days. With `service`, also what is about all services."""
        query = {"service": service, "kind": kind} | span_query(start, end)
        return self._rows(StatementInfo, f"{feed_path(feed)}/statements", limit, page=500, **query)

    def dead_letters(self, feed: str, limit: int = 100) -> Rows[DeadLetterInfo]:
        """The newest records that could not be read, at most 100, with the reasons."""
        return self._rows(DeadLetterInfo, f"{feed_path(feed)}/dead-letters", page=100, limit=limit)

    def baseline(self, feed: str) -> Baseline:
        """The baseline in force, and what put the newest 50 versions in force."""
        return Baseline.model_validate_json(self._get(f"{feed_path(feed)}/baseline", "application/json").content)

    def baseline_versions(self, feed: str, limit: int | None = None) -> Rows[PromotionInfo]:
        """What put each version of the baseline in force, by whom and from which candidate, newest first."""
        return self._rows(PromotionInfo, f"{feed_path(feed)}/baseline", limit, page=500)

    def baseline_of(
        self,
        feed: str,
        service: str,
        version: int | None = None,
        day_type: int | None = None,
        limit: int | None = None,
        candidate: int | None = None,
    ) -> Rows[BaselineRow]:
        """What a version, that in force or a candidate knows of the service, by day type and slot."""
        query = {"version": version, "candidate": candidate, "day_type": day_type}
        return self._rows(BaselineRow, f"{service_path(feed, service)}/baseline", limit, page=10_000, **query)

    def baseline_diff(
        self,
        feed: str,
        before: int | None = None,
        after: int | None = None,
        limit: int | None = None,
        candidate: int | None = None,
    ) -> Rows[BaselineChange]:
        """Services and day types whose expected values differ between two versions, by default the one in force and the one
        before; or between a version, by default the one that the gate compared it with, and a candidate."""
        query = {"from": before, "to": after, "candidate": candidate}
        return self._rows(BaselineChange, f"{feed_path(feed)}/baseline/diff", limit, page=10_000, **query)

    def gate_results(self, feed: str, limit: int | None = None) -> Rows[GateResultInfo]:
        """What the gate found of each candidate, newest first. `observed` and `sample` are JSON as text."""
        return self._rows(GateResultInfo, f"{feed_path(feed)}/gate-results", limit, page=500)

    def queries(self) -> Rows[QueryInfo]:
        """Every declared query with the topics that it reads and writes."""
        return self._rows(QueryInfo, "/api/queries")

    def query_rows(
        self,
        query: str,
        topic: str | None = None,
        key: str | None = None,
        prefix: str | None = None,
        first: str | None = None,
        last: str | None = None,
        limit: int | None = None,
    ) -> Rows[QueryRow]:
        """The last row of each key of a query's table, by key: of one key, of keys that begin with a text, or of a range. topic:
        which of the query's tables, if it has several. `value` is JSON as text. Waits for at most `timeout` seconds while serving
        reads the table for the first time."""
        which = {"topic": topic, "key": key, "prefix": prefix, "from": first, "to": last}
        until = time.monotonic() + self._timeout
        while True:
            try:
                return self._rows(QueryRow, f"/api/queries/{quote(query, safe='')}/rows", limit, page=500, **which)
            except ApiError as error:
                if error.kind != "sundial:loading" or time.monotonic() > until:
                    raise

    def streams(self) -> Rows[StreamInfo]:
        """State and health of the streams."""
        return self._rows(StreamInfo, "/api/streams")

    def overview(self) -> Overview:
        """Every declared stream, also one that never ran, with what its feed needs next. What is wrong is first."""
        return Overview.model_validate_json(self._get("/api/overview", "application/json").content)

    def health(self) -> Health:
        """Whether serving works, and what to do about what does not."""
        return Health.model_validate_json(self._get("/health", "application/json").content)

    def events(
        self,
        feed: str | None = None,
        service: str | Iterable[str] | None = None,
        kinds: Iterable[EventKind] = (),
        queries: Iterable[str] = (),
    ) -> Generator[Event, None, None]:
        """What is new as it comes, without end. service: one or several of `feed`, at most 20, of which scored readings come;
        None: of all. kinds: events of these kinds only; none: of all. queries: also the rows of their tables as they change.
        After a lost connection it goes on where it was. Where serving no longer has what was missed, an event of the kind
        `resync` says so."""
        query = events_query(feed, service) | {"event": list(kinds), "query": list(queries)}
        return followed(self._http, f"{self._url}/api/events", query, self._timeout)
