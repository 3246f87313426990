"""Prometheus's and Grafana's files: they load, ask for metrics that exist, and lead to a runbook."""

import json
import re

import pytest
import yaml

from tests.docker.compose import ROOT, SERVICES

ALERTS = [
    rule for group in yaml.safe_load((ROOT / "docker/prometheus/alerts.yml").read_text())["groups"] for rule in group["rules"]
]
PROMETHEUS = yaml.safe_load((ROOT / "docker/prometheus/prometheus.yml").read_text())
RECORDED = [
    recorded for file in (ROOT / "tests/docker/alerts").glob("*.yml") for recorded in yaml.safe_load(file.read_text())["tests"]
]
DASHBOARD = json.loads((ROOT / "docker/grafana/sundial.json").read_text())
STREAM = (
    "up",
    "lag_records",
    "lag_seconds",
    "input_per_second",
    "dead_letters_total",
    "stalled_seconds",
    "heartbeat_age_seconds",
    "given_up",
    "switched_off",
    "launched_timestamp_seconds",
    "unattended_seconds",
    "query_started_timestamp_seconds",
)
BASELINE = ("version", "age_seconds", "as_of_timestamp_seconds")
GATE = ("passed", "awaits_approval", "checked_timestamp_seconds", "expectations_failed")
KNOWN = {
    *(f"sundial_stream_{name}" for name in (*STREAM, "baseline_version")),
    *(f"sundial_baseline_{name}" for name in BASELINE),
    *(f"sundial_gate_{name}" for name in GATE),
    "sundial_feed_newest_reading_timestamp_seconds",
    "sundial_feed_tables_unreadable",
    *("sundial_alerts_given_up_total", "sundial_alerts_oldest_seconds"),
    *("airflow_scheduler_heartbeat_total", "airflow_ti_successes_total", "airflow_ti_failures_total"),
    *("up", "ALERTS"),
}
WORDS = {"and", "or", "unless", "on", "group_left", "sum", "rate", "increase", "changes", "clamp_max", "time", "vector"}
WORDS |= {"absent_over_time"}
EXPRESSIONS = [rule["expr"] for rule in ALERTS]
EXPRESSIONS += [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression_asks_for_metrics_that_exist(expression):
    bare = re.sub(r"\{[^}]*\}|\[[^\]]*\]|\boffset \w+|\b(?:on|group_left) \([^)]*\)", "", expression)
    assert expression.count("(") == expression.count(")")
    assert set(re.findall(r"[A-Za-z_]\w*", bare)) - WORDS <= KNOWN


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: rule["alert"])
def test_an_alert_says_how_bad_it_is_and_what_to_do(rule):
    assert rule["labels"]["severity"] in ("critical", "warning")
    assert rule["annotations"]["summary"]
    file, section = rule["annotations"]["runbook_url"].split("#")
    headings = re.findall(r"^#+ (.*)$", (ROOT / file).read_text(), re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    assert section in anchors


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: rule["alert"])
def test_an_alert_has_recorded_metrics_with_which_it_fires_and_others_with_which_it_does_not(rule):
    """promtool evaluates them: see test_alerts_fire.py."""
    metric = next(name for name in re.findall(r"\w+", rule["expr"]) if name in KNOWN)
    cases = [
        bool(case["exp_alerts"])
        for recorded in RECORDED
        for case in recorded["alert_rule_test"]
        if case["alertname"] == rule["alert"] and any(each["series"].startswith(metric) for each in recorded["input_series"])
    ]
    assert set(cases) == {True, False}


def test_alerts_are_told_apart_by_their_names():
    assert len({rule["alert"] for rule in ALERTS}) == len(ALERTS)


def test_prometheus_asks_services_that_it_can_reach_on_ports_that_they_listen_on():
    networks = set(SERVICES["prometheus"]["networks"])
    assert PROMETHEUS["rule_files"] == ["alerts.yml"]
    for job in PROMETHEUS["scrape_configs"]:
        for target in (target for static in job["static_configs"] for target in static["targets"]):
            host, port = target.split(":")
            if host == "127.0.0.1":
                continue
            assert networks & set(SERVICES[host]["networks"]), target
            assert re.search(rf"\b{port}\b", " ".join(SERVICES[host]["command"])), target


def test_airflow_sends_to_prometheus_which_takes_it():
    assert "--web.enable-otlp-receiver" in SERVICES["prometheus"]["command"]
    environment = SERVICES["airflow-scheduler"]["environment"]
    assert environment["OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"] == "http://prometheus:9090/api/v1/otlp/v1/metrics"
    assert set(SERVICES["airflow-scheduler"]["networks"]) & set(SERVICES["prometheus"]["networks"])


def test_the_dashboard_is_whole():
    (source,) = yaml.safe_load((ROOT / "docker/grafana/datasources.yml").read_text())["datasources"]
    (provider,) = yaml.safe_load((ROOT / "docker/grafana/dashboards.yml").read_text())["providers"]
    mounts = [volume.split(":")[1] for volume in SERVICES["grafana"]["volumes"]]
    assert any(mount.startswith(provider["options"]["path"]) for mount in mounts)
    assert source["url"] == "http://prometheus:9090"
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert {panel["datasource"]["uid"] for panel in panels} == {source["uid"]}
    cells = [
        (x, y)
        for at in (panel["gridPos"] for panel in panels)
        for x in range(at["x"], at["x"] + at["w"])
        for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(set(cells)) == len(cells), "panels lie upon each other"
    assert max(x for x, _ in cells) < 24
