/**
 * Names of enums, and times.
 *
 * A value of an enum is lower-case text, such as `running` or `timed_out`. A value of a later version of the contract is
 * `unknown_` and its number.
 */

import type { Duration, Timestamp } from "@bufbuild/protobuf/wkt";
import { durationMs, timestampDate } from "@bufbuild/protobuf/wkt";

/** Returns the lower-case name of an enum's value. */
export function nameOf(names: Readonly<Record<number, string>>, value: number): string {
  return names[value]?.toLowerCase() ?? `unknown_${value}`;
}

/** Returns a duration in milliseconds. */
export function millis(duration: Duration | undefined): number {
  return duration === undefined ? 0 : durationMs(duration);
}

/** Returns a point in time. */
export function moment(stamp: Timestamp | undefined): Date {
  return stamp === undefined ? new Date(0) : timestampDate(stamp);
}
