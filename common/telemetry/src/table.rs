//! The definition of metrics. A crate defines each of its metrics once, with [`metrics!`](crate::metrics). Tests
//! compare the documentation, the dashboards and the alerts with these tables.

use opentelemetry::metrics::{Counter, Gauge, Histogram, Meter, UpDownCounter};

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
