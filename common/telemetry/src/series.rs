//! The definition of metrics, which a crate makes once with [`metrics!`](crate::metrics), and the Prometheus names of a
//! metric, by the rules of the OpenTelemetry Collector. The unit becomes a part of the name, a monotonic sum ends in
//! `_total`, and a histogram becomes three series.

use std::collections::BTreeSet;

use opentelemetry::metrics::{Counter, Gauge, Histogram, Meter, UpDownCounter};

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

/// The type of a metric's instrument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A monotonic sum.
    Counter,
    /// The distribution of measured values.
    Histogram,
    /// The last value.
    Gauge,
    /// A sum that can decrease.
    UpDown,
}

impl Kind {
    /// Returns the name in the documentation.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Histogram => "histogram",
            Self::Gauge => "gauge",
            Self::UpDown => "updown",
        }
    }
}

/// One metric, as the documentation lists it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Description {
    /// The name for collectors.
    pub name: &'static str,
    /// The type of the instrument.
    pub kind: Kind,
    /// The UCUM unit; counted things are in braces.
    pub unit: &'static str,
    /// The names of attributes, which have values from closed sets.
    pub attributes: &'static [&'static str],
    /// The description of the metric.
    pub what: &'static str,
}

impl Description {
    /// Creates a monotonic counter.
    #[must_use]
    pub fn counter(self, meter: &Meter) -> Counter<u64> {
        meter.u64_counter(self.name).with_unit(self.unit).with_description(self.what).build()
    }

    /// Creates a counter that can decrease.
    #[must_use]
    pub fn updown(self, meter: &Meter) -> UpDownCounter<i64> {
        meter.i64_up_down_counter(self.name).with_unit(self.unit).with_description(self.what).build()
    }

    /// Creates a gauge of integers.
    #[must_use]
    pub fn gauge(self, meter: &Meter) -> Gauge<u64> {
        meter.u64_gauge(self.name).with_unit(self.unit).with_description(self.what).build()
    }

    /// Creates a gauge of durations in seconds.
    #[must_use]
    pub fn seconds(self, meter: &Meter) -> Gauge<f64> {
        meter.f64_gauge(self.name).with_unit(self.unit).with_description(self.what).build()
    }

    /// Creates a histogram with these upper bounds of its buckets.
    #[must_use]
    pub fn histogram(self, meter: &Meter, boundaries: &[f64]) -> Histogram<f64> {
        let histogram = meter.f64_histogram(self.name).with_unit(self.unit).with_description(self.what);
        histogram.with_boundaries(boundaries.to_vec()).build()
    }
}

/// Defines a constant for each metric, and `TABLE` with all of them.
#[macro_export]
macro_rules! metrics {
    ($($constant:ident = $name:literal, $kind:ident, $unit:literal, [$($attribute:literal),*], $what:literal;)+) => {
        $(const $constant: $crate::Description = $crate::Description {
            name: $name, kind: $crate::Kind::$kind, unit: $unit, attributes: &[$($attribute),*], what: $what,
        };)+

        /// All metrics of this crate.
        pub const TABLE: &[$crate::Description] = &[$($constant),+];
    };
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
