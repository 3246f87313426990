// What the page's JavaScript gets from the API (serving/models.py, field by field) and from uPlot. Read by `make lint` only.

export interface Rule {
  normal: "plain" | "robust";
  percent: number | null;
  spread: number | null;
  minimum: number | null;
}

export interface FeedInfo {
  name: string;
  description: string;
  interval_seconds: number;
  timezone: string;
  rule: Rule;
  services: number;
  newest_at: string | null;
  anomalies: number;
  baseline_version: number | null;
}

export interface ServiceInfo {
  name: string;
  at: string | null;
  value: number | null;
  expected: number | null;
  pct: number | null;
  anomalous: boolean | null;
  in_baseline: boolean;
}

export interface Point {
  at: string;
  value: number;
  expected: number | null;
  low: number | null;
  high: number | null;
  pct: number | null;
  anomalous: boolean | null;
  baseline_version: number | null;
}

export interface ScoredPoint extends Point {
  service: string;
}

export interface ExpectedPoint {
  at: string;
  expected: number | null;
  low: number | null;
  high: number | null;
}

export interface Series {
  feed: string;
  service: string;
  interval_seconds: number;
  timezone: string;
  start: string;
  end: string;
  until: string;
  live: boolean;
  points: Point[];
  expected: ExpectedPoint[];
}

export interface AnomalyInfo {
  feed: string;
  service: string;
  at: string;
  at_local: string;
  value: number;
  expected: number;
  spread: number | null;
  pct: number | null;
  baseline_version: number | null;
}

export interface Verdict {
  statement: number;
  kind: "false" | "exclude";
  by: string;
  at: string;
  reason: string;
}

export interface IncidentInfo {
  feed: string;
  service: string;
  id: string;
  kind: string;
  state: string;
  start: string;
  start_local: string;
  last: string;
  at: string;
  end: string | null;
  score: number;
  cause: string;
  level_shift: boolean;
  readings: number;
  actual: number | null;
  expected: number | null;
  area: number | null;
  direction: string | null;
  peak_at: string | null;
  peak: number | null;
  peak_expected: number | null;
  peak_size: number | null;
  verdict: Verdict | null;
  group: string | null;
  services: number | null;
  members: string[];
}

export interface PromotionInfo {
  version: number;
  kind: "promotion" | "rollback" | "write";
  promoted_at: string;
  by: string | null;
  reason: string | null;
  gate: boolean | null;
  as_of: string | null;
  candidate_version: number | null;
  rolled_back_to: number | null;
  run_id: string | null;
}

export interface Baseline {
  version: number | null;
  in_force: PromotionInfo | null;
  history: PromotionInfo[];
}

export interface Expectation {
  expectation: string;
  severity: string;
  notes: string;
  success: boolean;
  observed: unknown;
  sample: unknown[];
}

export interface GateResultInfo {
  run_id: string;
  candidate_version: number;
  checked_at: string;
  success: boolean;
  expectations: Expectation[];
  docs_url: string | null;
}

export interface StreamHealth {
  measured_at: string | null;
  lag_records: number | null;
  lag_seconds: number | null;
  input_per_second: number | null;
  dead_letters: number | null;
  dead_letters_per_second: number | null;
  stalled_seconds: number | null;
}

export interface StreamInfo {
  feed: string;
  stream: string;
  state: "running" | "starting" | "swapping" | "stopping" | "stopped" | "dead" | "stale";
  problem: string | null;
  given_up: boolean;
  switched_off: boolean;
  launched_at: string | null;
  supervised_at: string | null;
  pid: number | null;
  started_at: string | null;
  heartbeat_at: string | null;
  heartbeat_age_seconds: number | null;
  baseline_version: number | null;
  generation: number | null;
  query_started_at: string | null;
  last_error: string | null;
  spark_application: string | null;
  spark_history: string | null;
  health: StreamHealth;
}

export interface KafkaHealth {
  state: "connecting" | "connected" | "unreachable";
  error: string | null;
  silent_seconds: number;
  as_of: string | null;
  caught_up: boolean;
  missing_topics: string[];
  records: number;
  undecodable: number;
  last_undecodable: string | null;
}

export interface CrowdedFeed {
  feed: string;
  evicted_services: number;
  turned_away_readings: number;
  example: string;
}

export interface Health {
  status: "ok" | "degraded";
  at: string;
  kafka: KafkaHealth;
  registry_error: string | null;
  declaration_mistakes: string[];
  crowded: CrowdedFeed[];
  listeners: number;
  remedies: string[];
}

/** A series as the page draws it: with the instant that was asked for, where it lies around one, and whether newer readings lack. */
export interface Shown extends Series {
  at: string | null;
  stale: boolean;
}

/** Seconds, value, low, high, expected, anomalous value. */
export type Columns = (number | null)[][];

/** What the page uses of uPlot, which is vendored without types. */
export interface Plot {
  data: Columns;
  ctx: CanvasRenderingContext2D;
  bbox: { left: number; top: number; width: number; height: number };
  destroy(): void;
  setData(data: Columns): void;
  setSize(size: { width: number; height: number }): void;
  valToPos(value: number, scale: string, canvas: boolean): number;
}

interface PlotClass {
  new (options: object, data: Columns, element: HTMLElement): Plot;
  tzDate(date: Date, timeZone: string): Date;
}

declare global {
  const uPlot: PlotClass;
  var sundial: unknown;
}
