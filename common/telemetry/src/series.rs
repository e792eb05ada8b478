//! The Prometheus names of a metric, by the rules of the OpenTelemetry Collector. The unit becomes a part of the name,
//! a monotonic sum ends in `_total`, and a histogram becomes three series.

use std::collections::BTreeSet;

use crate::{Description, Kind};

/// The labels that the collector adds to every series: the sender and its installation.
const OF_EVERY_SERIES: [&str; 3] = ["job", "instance", "service_namespace"];
/// The label for the upper bound of a bucket.
const BUCKET: &str = "le";

/// A Prometheus series of a metric.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Series {
    /// The name.
    pub name: String,
    /// The names of the labels.
    pub labels: BTreeSet<String>,
}

/// Returns the series of a metric.
#[must_use]
pub fn series_of(metric: &Description) -> Vec<Series> {
    let name = with_unit(metric.name, metric.unit);
    let labels: BTreeSet<String> =
        metric.attributes.iter().copied().map(plain).chain(OF_EVERY_SERIES.map(str::to_owned)).collect();
    let series = |name: String| Series { name, labels: labels.clone() };
    match metric.kind {
        Kind::Counter => vec![series(format!("{name}_total"))],
        Kind::Gauge | Kind::UpDown => vec![series(name)],
        Kind::Histogram => {
            let mut bucket = series(format!("{name}_bucket"));
            bucket.labels.insert(BUCKET.to_owned());
            vec![bucket, series(format!("{name}_sum")), series(format!("{name}_count"))]
        }
    }
}

/// Appends the unit, unless the name already contains it. Counted things are not a unit.
fn with_unit(name: &str, unit: &str) -> String {
    let name = plain(name);
    let word = match unit {
        "s" => "seconds",
        "By" => "bytes",
        _ => return name,
    };
    if name.split('_').any(|part| part == word) { name } else { format!("{name}_{word}") }
}

/// Returns letters and digits, with `_` between the parts.
fn plain(name: &str) -> String {
    let parts = name.split(|letter: char| !letter.is_ascii_alphanumeric());
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("_")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(name: &'static str, kind: Kind, unit: &'static str) -> Vec<String> {
        let metric = Description { name, kind, unit, attributes: &["rpc.method"], what: "" };
        series_of(&metric).into_iter().map(|series| series.name).collect()
    }

    #[test]
    fn names_are_those_that_the_collector_makes() {
        assert_eq!(
            names("airlock.queue.time", Kind::Histogram, "s"),
            [
                "airlock_queue_time_seconds_bucket",
                "airlock_queue_time_seconds_sum",
                "airlock_queue_time_seconds_count"
            ]
        );
        assert_eq!(names("airlock.output.bytes", Kind::Counter, "By"), ["airlock_output_bytes_total"]);
        assert_eq!(
            names("airlock.output.stored", Kind::Counter, "By"),
            ["airlock_output_stored_bytes_total"]
        );
        assert_eq!(names("airlock.first_byte.time", Kind::Gauge, "s"), ["airlock_first_byte_time_seconds"]);
        assert_eq!(names("airlock.readers", Kind::UpDown, "{reader}"), ["airlock_readers"]);
    }

    #[test]
    fn labels_are_the_attributes_and_who_sent_it() {
        let metric = Description {
            name: "a",
            kind: Kind::Histogram,
            unit: "s",
            attributes: &["rpc.method"],
            what: "",
        };
        let all = series_of(&metric);
        assert_eq!(
            all.iter()
                .map(|series| series.labels.iter().map(String::as_str).collect())
                .collect::<Vec<Vec<_>>>(),
            [
                vec!["instance", "job", "le", "rpc_method", "service_namespace"],
                vec!["instance", "job", "rpc_method", "service_namespace"],
                vec!["instance", "job", "rpc_method", "service_namespace"]
            ]
        );
    }
}
