"""All that a run's topics and tables say, held against its ledgers."""

import datetime as dt
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import holidays
import numpy as np
from confluent_kafka import Message

from bench.chaos import read, tables
from bench.chaos.kept import Kept, newest
from bench.chaos.ledger import KINDS, Places, Sent, digest
from bench.chaos.letters import Letters
from bench.chaos.stage import Primed
from bench.chaos.verify import ORDER, Calendar, Final, Findings, InForce, Rule, Scored, key
from contracts import avro
from contracts.feeds import Feed
from stack.instance import Instance


@dataclass
class Verdict:
    """Of one topic. classes: by class of record, how many were acknowledged. figures: by name."""

    topic: str
    findings: Findings
    classes: Counter = field(default_factory=Counter)
    figures: dict[str, int] = field(default_factory=dict)


def source(instance: Instance, topic: str, sent: Sent) -> tuple[Sent, Findings]:
    """What the topic shows of what was sent: without what was not acknowledged, or was in a transaction that was aborted.

    A finding for what was acknowledged and is not there, or has other bytes.
    """
    findings, shown = Findings(), np.zeros(len(sent), bool)
    places = Places(sent)
    for batch in read.messages(instance.kafka, topic):
        for message in batch:
            if (row := places.row(message.partition(), message.offset())) >= 0:
                shown[row] = digest(message.key(), message.value()) == int(sent.digest[row])
    lost = (sent.partition >= 0) & ~sent.transactional.astype(bool) & ~shown
    findings.where("source_lost", lost, lambda n: f"{topic}-{sent.partition[n]}-{sent.offset[n]} was acknowledged, is not there")
    return sent.where(shown), findings


def _headers(message: Message) -> list[tuple[str, bytes | None]]:
    return message.headers() or []  # type: ignore[return-value] # of what Sundial writes, all are bytes


def letters(instance: Instance, topic: str, sent: Sent, known: Mapping[int, int] | None = None) -> Letters:
    judged = Letters(sent, topic, known=known)
    for batch in read.messages(instance.kafka, f"{topic}.dead-letter"):
        for message in batch:
            judged.judge(message.key(), message.value(), dict(_headers(message)))
    judged.missing()
    return judged


def feed(
    instance: Instance,
    declared: Feed,
    ledger: Sent,
    primed: Primed | None,
    tolerance: float,
    registered: Mapping[int, float] | None = None,
) -> Verdict:
    """primed: None for a feed without history, whose archive has not run either. tolerance: seconds until a stream must go by a
    new baseline or schema. registered: by id, when a schema of the topic was registered in the run, in seconds since the epoch.
    """
    sent, findings = source(instance, declared.topic, ledger)
    verdict = Verdict(declared.topic, findings, _classes(sent))
    services = {name: number for number, name in enumerate(sent.names)}
    table = instance.lake / "baseline" / declared.table
    scored = _scored(instance, declared, sent, services, table, tolerance)
    known = {schema_id: int(1000 * (at + tolerance)) for schema_id, at in (registered or {}).items()}
    dead = letters(instance, declared.topic, sent, known)
    _add(findings, scored.findings, dead.findings)
    verdict.figures |= {
        "records": len(sent),
        "readings": len(scored.keys),
        "scored_rows": scored.rows,
        "overtaken": scored.overtaken,
        "set_back": scored.set_back,
        "letters": dead.letters,
        "letters_again": dead.again,
        "letters_early": dead.early,
        "not_committed": len(ledger) - len(sent),
    }
    if primed:
        kept = history(instance, declared, sent, services, primed)
        _add(findings, kept.findings)
        verdict.figures["history_rows"] = kept.rows
    return verdict


def events(instance: Instance, topic: str, ledger: Sent, applications: Sequence[str]) -> Verdict:
    """Of a topic that queries read: its letters, and what the applications that run have made of the rest."""
    sent, findings = source(instance, topic, ledger)
    dead = letters(instance, topic, sent)
    _add(findings, dead.findings)
    figures = {
        "records": len(sent),
        "letters": dead.letters,
        "letters_again": dead.again,
        "not_committed": len(ledger) - len(sent),
    }
    if topic in tables.FOLDS:
        figures["table_rows"] = tables.judge(instance.kafka, topic, sent, findings)
    if topic == tables.LINES:
        figures["counted"] = tables.count(instance.kafka, topic, sent, findings)
    figures |= tables.results_of(instance.kafka, topic, applications, sent, findings)
    return Verdict(topic, findings, _classes(sent), figures)


def _classes(sent: Sent) -> Counter:
    return Counter({KINDS[number]: int((sent.kind == number).sum()) for number in np.unique(sent.kind)})


def _scored(instance: Instance, declared: Feed, sent: Sent, services: dict[str, int], table, tolerance: float) -> Scored:
    years = range(dt.date.today().year - 60, dt.date.today().year + 3)
    named = declared.holidays
    free = holidays.country_holidays(named.country, subdiv=named.subdivision, years=years) if named else ()
    calendar = Calendar(declared.zone, declared.interval_seconds * 1000, frozenset(free))
    promoted = read.promotions(table)
    in_force = InForce([at for _, at, _ in promoted], [version for version, _, _ in promoted], int(tolerance * 1000))

    def baseline(version: int):
        return read.baseline(table, version, services, declared.slots, declared.spread_windows)

    rule = declared.rule
    scored = Scored(sent, calendar, Rule(rule.percent, rule.spread, rule.minimum), in_force, baseline)
    for rows in read.rows(instance.kafka, declared.scored_topic, avro.schema("scored"), services):
        scored.judge(rows)
    scored.missing()
    anomalies = Anomalies(scored)
    for rows in read.rows(instance.kafka, declared.anomalies_topic, avro.schema("anomaly"), services):
        anomalies.judge(rows)
    anomalies.missing()
    return scored


class Anomalies:
    """Each anomaly record is one of its baseline's time, and each row that is anomalous in the end has its record."""

    def __init__(self, scored: Scored):
        self._scored = scored
        self._final = Final(len(scored.keys))

    def judge(self, rows) -> None:
        self._final.take(self._scored.judge(rows, anomalies=True), rows)

    def missing(self) -> None:
        scored = self._scored.final
        lacks = (scored["Anomalous"] == 1) & np.any([self._final[name] != scored[name] for name in ORDER], axis=0)
        self._scored.findings.where("missing_anomaly", lacks, lambda n: f"no anomaly record of key {self._scored.keys[n]}")


def history(instance: Instance, declared: Feed, sent: Sent, services: dict[str, int], primed: Primed) -> Kept:
    """After an archive that ran when all had been sent."""
    names = [*sent.names, *(name for name in primed.names if name not in services)]
    number = {name: index for index, name in enumerate(names)}
    good = sent.where(sent.service >= 0)
    order = np.lexsort((good.offset, good.taken))
    before = np.array([number[name] for name in primed.names], np.int64)[primed.service]
    keys = np.concatenate([key(before, primed.at), key(good.service, good.at)[order]])
    kept = Kept(*newest(keys, np.concatenate([primed.value, good.value[order]])), names)
    for rows in read.history(instance.lake / "history" / declared.table, number):
        kept.judge(*rows)
    kept.missing()
    return kept


def _add(all_: Findings, *more: Findings) -> None:
    for each in more:
        all_.counts.update(each.counts)
        for what, examples in each.examples.items():
            all_.examples[what].extend(examples)
