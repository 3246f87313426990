// The anomalies and incidents of a feed, and the incidents and excluded ranges of the chosen service: loading them, and taking those
// that come.

import { chosen, path } from "./choice.js";
import { byId } from "./dom.js";
import { ExcludedRanges } from "./excluded.js";
import { soon } from "./frames.js";
import { incidents, withIncident } from "./incidents.js";
import { KeptRows } from "./kept_rows.js";
import { get, run } from "./loads.js";
import { Meanwhile } from "./meanwhile.js";
import { incidentActs } from "./operator.js";
import * as panels from "./panels.js";

/** @import { AnomalyInfo, IncidentInfo } from "../page.d.ts" */
/** @import { Chart } from "./chart.js" */

const [ANOMALIES, INCIDENTS] = [100, 50]; // that are shown

export class Flagged {
  /**
   * @param {{ left: () => AbortSignal, lookAt: (service: string, at: string) => void, lookAtIncident: (incident: IncidentInfo) => void, chart: Chart }} page
   * `left` ends the requests of a choice that was left
   */
  constructor(page) {
    this.page = page;
    this.forget();
    this.anomalyRows = new KeptRows(byId("anomalies"), "tr");
    this.incidentRows = new KeptRows(byId("incidents"));
    this.newAnomalies = /** @type {Meanwhile<AnomalyInfo>} */ (new Meanwhile());
    this.newIncidents = /** @type {Meanwhile<IncidentInfo>} */ (new Meanwhile());
    this.excluded = new ExcludedRanges(page.chart, page.left, () => this.load());
  }

  /** Another feed is chosen. */
  forget() {
    this.anomalies = /** @type {AnomalyInfo[]} */ ([]);
    this.incidents = /** @type {IncidentInfo[]} */ ([]);
    this.own = /** @type {IncidentInfo[]} */ ([]); // of the service, also those that a group has as members
  }

  /** Loads each part by itself, so that one that fails stops no other. */
  load() {
    void run("anomalies", () => this.loadAnomalies());
    void run("incidents", () => this.loadIncidents());
    void run("own", () => this.loadOwn());
    void run("excluded", () => this.excluded.load());
  }

  async loadAnomalies() {
    const [found, since] = await this.newAnomalies.since(this.get(path(`/anomalies?limit=${ANOMALIES}`)));
    this.anomalies = since.reduce(withAnomaly, found);
    this.drawAnomalies();
  }

  async loadIncidents() {
    const [found, since] = await this.newIncidents.since(this.get(path(`/incidents?limit=${INCIDENTS}`)));
    this.incidents = since.reduce(withIncident, found).slice(0, INCIDENTS);
    this.drawIncidents();
  }

  async loadOwn() {
    const query = new URLSearchParams({ service: chosen.service ?? "", limit: String(INCIDENTS), ...(chosen.span ?? { minutes: String(chosen.minutes) }) });
    const [found, since] = !chosen.known ? [[], []] : await this.newIncidents.since(this.get(path(`/incidents?${query}`)));
    this.own = since.filter(isOwn).reduce(withOwn, found);
    this.page.chart.mark(this.own);
  }

  /** @param {string} address */
  get(address) {
    return get(address, this.page.left());
  }

  /** @param {AnomalyInfo} anomaly */
  takeAnomaly(anomaly) {
    this.newAnomalies.take(anomaly);
    this.anomalies = withAnomaly(this.anomalies, anomaly);
    soon("anomalies", () => this.drawAnomalies());
  }

  /** @param {IncidentInfo} incident */
  takeIncident(incident) {
    this.newIncidents.take(incident);
    this.incidents = withIncident(this.incidents, incident).slice(0, INCIDENTS);
    soon("incidents", () => this.drawIncidents());
    if (!isOwn(incident)) return;
    this.own = withOwn(this.own, incident);
    soon("own", () => this.page.chart.mark(this.own));
  }

  draw() {
    this.drawAnomalies();
    this.drawIncidents();
  }

  drawAnomalies() {
    panels.anomalies(this.anomalyRows, this.anomalies, chosen.feed, chosen.service, ({ service, at }) => this.page.lookAt(service, at));
  }

  drawIncidents() {
    const { lookAt, lookAtIncident } = this.page;
    incidents(this.incidentRows, this.incidents, chosen.feed, chosen.service, lookAtIncident, ({ service, start }) => lookAt(service, start), incidentActs(chosen.feed, () => this.load()));
  }
}

/** @type {(list: AnomalyInfo[], anomaly: AnomalyInfo) => AnomalyInfo[]} Newest first. */
function withAnomaly(list, anomaly) {
  const others = list.filter((each) => each.at !== anomaly.at || each.service !== anomaly.service);
  return [anomaly, ...others].sort((a, b) => Date.parse(b.at) - Date.parse(a.at)).slice(0, ANOMALIES);
}

/** @type {(incident: IncidentInfo) => boolean} */
const isOwn = ({ service }) => service === chosen.service;

/** @type {(list: IncidentInfo[], incident: IncidentInfo) => IncidentInfo[]} */
const withOwn = (list, incident) => [incident, ...list.filter((each) => each.id !== incident.id)];
