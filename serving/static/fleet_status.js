// The statuses of a service on the page of all services: their names, in their order, and which of them need attention.

/** @import { FleetRow, Status } from "../page.d.ts" */

/** @type {[Status, string][]} */
export const STATUSES = [
  ["incident", "Incident"],
  ["anomalous", "Anomalous"],
  ["silent", "Silent"],
  ["unknown", "Unknown"],
  ["no_baseline", "No baseline"],
  ["normal", "Normal"],
];
export const NAMES = /** @type {Record<Status, string>} */ (Object.fromEntries(STATUSES));
const WRONG = new Set(["incident", "anomalous", "silent"]);

/** @type {(row: FleetRow) => boolean} */
export const wrong = (row) => WRONG.has(row.status);
