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
  unreadable: string | null;
}

export interface Me {
  name: string | null;
  role: "viewer" | "operator" | null;
}

export interface ProviderInfo {
  name: string | null;
}

export interface ActInfo {
  dag: string;
  run: string;
  state: "queued" | "running" | "success" | "failed";
  url: string;
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
  anomalous: boolean;
  baseline_version: number | null;
}

export interface ScoredPoint extends Point {
  feed: string;
  service: string;
}

export interface Buckets {
  count: number[];
  min: (number | null)[];
  max: (number | null)[];
  mean: (number | null)[];
  anomalies: number[];
  expected: (number | null)[];
  low: (number | null)[];
  high: (number | null)[];
}

export interface Series {
  feed: string;
  service: string;
  interval_seconds: number;
  bucket_seconds: number;
  timezone: string;
  start: string;
  end: string;
  until: string;
  live: boolean;
  loading: boolean;
  newest: Point | null;
  buckets: Buckets;
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

export interface DeadLetterInfo {
  feed: string;
  at: string;
  reason: string;
  partition: number | null;
  offset: number | null;
  key: string | null;
  size: number;
  begins: string;
}

export interface Verdict {
  statement: number;
  kind: "false" | "exclude";
  by: string;
  at: string;
  reason: string;
}

export interface Acknowledgement {
  statement: number;
  by: string;
  at: string;
  reason: string;
}

export interface Note {
  statement: number;
  by: string;
  at: string;
  text: string;
}

export interface StatementInfo {
  feed: string;
  statement: number;
  kind: "acknowledge" | "false" | "exclude" | "note";
  service: string | null;
  start: string | null;
  end: string | null;
  incident: string | null;
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
  acknowledgement: Acknowledgement | null;
  verdict: Verdict | null;
  notes: Note[];
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

export interface SpecialDay {
  date: string;
  name: string;
  like: "sunday" | "weekday" | "itself";
  reason: string;
}

export interface Baseline {
  version: number | null;
  in_force: PromotionInfo | null;
  history: PromotionInfo[];
  special_days: SpecialDay[];
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
  compared_with: number | null;
  checked_at: string;
  success: boolean;
  expectations: Expectation[];
  docs_url: string | null;
}

export interface BaselineRow {
  day_type: number;
  slot: number;
  local_time: string;
  expected: number | null;
  last4avg: number | null;
  samples: number | null;
  growth: number;
  spread: number | null;
  level: number | null;
  scale: number | null;
}

export interface BaselineChange {
  service: string;
  day_type: number;
  change: "added" | "removed" | "changed";
  slots: number | null;
  mean_before: number | null;
  mean_after: number | null;
  pct: number | null;
  largest: number | null;
  largest_at: string | null;
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
  since: string | null;
  problem: string | null;
  given_up: boolean;
  switched_off: boolean;
  restarts: number;
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

export interface NextStep {
  kind: "repair" | "decide" | "load" | "collect" | "build" | "switch_on" | "produce" | "none";
  text: string;
  command: string | null;
}

export interface GateVerdict {
  candidate_version: number;
  checked_at: string;
  success: boolean;
  awaits_approval: boolean;
}

export interface FeedProgress {
  newest_at: string | null;
  archived_until: string | null;
  archived_dates: number | null;
  first_baseline: FirstBaseline | null;
  baseline_version: number | null;
  baseline_as_of: string | null;
  promoted_at: string | null;
  gate: GateVerdict | null;
  nightly: string | null;
}

export interface StreamOverview {
  name: string;
  stream: "score" | "queries";
  description: string | null;
  queries: string[];
  standing: "failing" | "attention" | "unfinished" | "well" | "off";
  troubles: string[];
  info: StreamInfo | null;
  supervision: string | null;
  feed: FeedProgress | null;
  next_step: NextStep | null;
}

export interface Overview {
  streams: StreamOverview[];
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

export interface Standstill {
  name: string;
  seconds: number;
  died: boolean;
}

export interface Health {
  status: "ok" | "degraded";
  at: string;
  kafka: KafkaHealth;
  registry_error: string | null;
  declaration_mistakes: string[];
  crowded: CrowdedFeed[];
  standstills: Standstill[];
  listeners: number;
  remedies: string[];
}

export interface FirstBaseline {
  dates: number;
  needed: number;
}

export interface FleetFeed {
  name: string;
  description: string;
  interval_seconds: number;
  timezone: string;
  newest_at: string | null;
  start: string;
  first_baseline: FirstBaseline | null;
}

export type Status = "incident" | "anomalous" | "silent" | "unknown" | "no_baseline" | "normal";

export interface FleetService {
  feed: string;
  name: string;
  status: Status;
  since: string | null;
  at: string | null;
  value: number | null;
  expected: number | null;
  pct: number | null;
  anomalous: boolean | null;
  incident: IncidentInfo | null;
  values: (number | null)[];
  low: (number | null)[];
  high: (number | null)[];
  flagged: number[];
}

export interface Fleet {
  as_of: string | null;
  feeds: FleetFeed[];
  services: FleetService[];
  groups: IncidentInfo[];
}

/** One reading of a sparkline; `number` is that of its interval since the epoch. */
export interface SparkPoint {
  number: number;
  value: number;
  low: number | null;
  high: number | null;
  flagged: boolean;
}

/** A service as the fleet's page keeps it. */
export interface FleetRow extends FleetService {
  key: string;
  points: SparkPoint[];
}

/** What the fleet's page is to show: of an empty text, everything. */
export interface FleetFilter {
  search: string;
  status: string;
  feed: string;
}

/** What the page of incidents is to show: of an empty text, everything; without a span, the minutes that end now. */
export interface IncidentFilter {
  feed: string;
  search: string;
  state: string;
  kind: string;
  minutes: number;
  span: Span | null;
}

/** One line of the list: of a service, or of a group with its members, of which `row` is the first. */
export interface FleetLine {
  key: string;
  row: FleetRow;
  members: FleetRow[];
  member: boolean;
}

/** A part of time that does not move on. */
export interface Span {
  from: string;
  to: string;
}

/** A series as the page draws it: the span that it is of, if any, whether newer readings lack, and by how many milliseconds its window has
 * moved on since its first bucket did. */
export interface Shown extends Series {
  span: Span | null;
  stale: boolean;
  late: number;
}

/** A line of a chart of one's own: one column of the readings of a service (`of` is "feed"), or of a query's table `topic`. `key`: the
 * service, or the key in the table; `key|*` is the windows of a key. `column` is one name, or for a band two with `..` between them. */
export interface ChartLine {
  of: "feed" | "query";
  source: string;
  topic: string;
  key: string;
  column: string;
  right: boolean;
}

/** What a chart of one's own shows: lines, and which part of time. */
export interface OwnChart {
  lines: ChartLine[];
  minutes: number;
  span: Span | null;
}

/** Seconds, value, low, high, expected, anomalous value, lowest, highest, earlier value, and the values of each service beside it. */
export type Columns = (number | null)[][];

/** What the page uses of uPlot, which is vendored without types. */
export interface Plot {
  data: Columns;
  ctx: CanvasRenderingContext2D;
  bbox: { left: number; top: number; width: number; height: number };
  over: HTMLElement;
  cursor: { idx?: number | null; left?: number };
  scales: { y: { max: number } };
  destroy(): void;
  redraw(again: boolean): void;
  setData(data: Columns): void;
  setSize(size: { width: number; height: number }): void;
  select: { left: number; width: number };
  setCursor(place: { left: number; top: number }): void;
  setSelect(select: { left: number; top: number; width: number; height: number }, fire: boolean): void;
  posToVal(position: number, scale: string): number;
  valToPos(value: number, scale: string, canvas: boolean): number;
}

interface PlotClass {
  new (options: object, data: Columns, element: HTMLElement): Plot;
  join(tables: Columns[], nulls: number[][]): Columns;
}

declare global {
  const uPlot: PlotClass;
  var sundial: unknown;
  /** Of display.js: empty texts where nothing was chosen. */
  var display: { chosen: Record<"theme" | "zone", string>; choose(name: "theme" | "zone", value: string): void };
}

export interface OutputInfo {
  topic: string;
  record: string;
  encoding: string;
  table: boolean;
}

export interface QueryInfo {
  name: string;
  description: string;
  application: string;
  inputs: string[];
  outputs: OutputInfo[];
}

export interface QueryRow {
  key: string;
  partition: number;
  offset: number;
  at: string;
  value: unknown;
  problem: string | null;
}

export interface QueryTable {
  query: string;
  topic: string;
  offsets: Record<string, number>;
  rows: QueryRow[];
}
