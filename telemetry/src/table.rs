//! The one form of a table of metrics. A crate names each of its metrics once, with [`metrics!`](crate::metrics); the
//! documentation, the dashboards and the alerts are compared with these tables.

use opentelemetry::metrics::{Counter, Gauge, Histogram, Meter, UpDownCounter};

/// What sort of instrument a metric is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Only grows.
    Counter,
    /// The distribution of what was measured.
    Histogram,
    /// A value as it was last seen.
    Gauge,
    /// A sum that grows and shrinks.
    UpDown,
}

impl Kind {
    /// Its name in the documentation.
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
    /// As collectors see it.
    pub name: &'static str,
    /// The sort of instrument.
    pub kind: Kind,
    /// UCUM; what is counted stands in braces.
    pub unit: &'static str,
    /// Names of attributes, whose values come from closed sets.
    pub attributes: &'static [&'static str],
    /// What it counts.
    pub what: &'static str,
}

impl Description {
    /// An instrument that only grows.
    #[must_use]
    pub fn counter(self, meter: &Meter) -> Counter<u64> {
        meter.u64_counter(self.name).with_unit(self.unit).with_description(self.what).build()
    }

    /// An instrument that grows and shrinks.
    #[must_use]
    pub fn updown(self, meter: &Meter) -> UpDownCounter<i64> {
        meter.i64_up_down_counter(self.name).with_unit(self.unit).with_description(self.what).build()
    }

    /// An instrument of whole values as they were last seen.
    #[must_use]
    pub fn gauge(self, meter: &Meter) -> Gauge<u64> {
        meter.u64_gauge(self.name).with_unit(self.unit).with_description(self.what).build()
    }

    /// An instrument of times as they were last seen, in seconds.
    #[must_use]
    pub fn seconds(self, meter: &Meter) -> Gauge<f64> {
        meter.f64_gauge(self.name).with_unit(self.unit).with_description(self.what).build()
    }

    /// An instrument of a distribution, with these upper bounds of its buckets.
    #[must_use]
    pub fn histogram(self, meter: &Meter, boundaries: &[f64]) -> Histogram<f64> {
        let histogram = meter.f64_histogram(self.name).with_unit(self.unit).with_description(self.what);
        histogram.with_boundaries(boundaries.to_vec()).build()
    }
}

/// Makes a constant of each metric, and `TABLE` of all of them.
#[macro_export]
macro_rules! metrics {
    ($($constant:ident = $name:literal, $kind:ident, $unit:literal, [$($attribute:literal),*], $what:literal;)+) => {
        $(const $constant: $crate::Description = $crate::Description {
            name: $name, kind: $crate::Kind::$kind, unit: $unit, attributes: &[$($attribute),*], what: $what,
        };)+

        /// Every metric of this crate.
        pub const TABLE: &[$crate::Description] = &[$($constant),+];
    };
}
