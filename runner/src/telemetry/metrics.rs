//! The runner's metrics: every name, once. Attribute values come from closed sets.

use std::time::Duration;

use opentelemetry::{
    KeyValue, global,
    metrics::{Counter, Histogram, UpDownCounter},
};

/// One metric, as the documentation lists it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// As collectors see it.
    pub name: &'static str,
    /// UCUM.
    pub unit: &'static str,
    /// Names of attributes.
    pub attributes: &'static [&'static str],
    /// What it counts.
    pub what: &'static str,
}

const JOBS: Metric = Metric {
    name: "airlock.runner.jobs",
    unit: "{job}",
    attributes: &["cause"],
    what: "Accepted jobs that have ended, by cause",
};
const REFUSALS: Metric = Metric {
    name: "airlock.runner.refusals",
    unit: "{job}",
    attributes: &["reason"],
    what: "Offers that were refused, by reason",
};
const ACTIVE: Metric = Metric {
    name: "airlock.runner.jobs.active",
    unit: "{job}",
    attributes: &[],
    what: "Accepted jobs without an end",
};
const LAUNCH_TIME: Metric = Metric {
    name: "airlock.runner.launch.time",
    unit: "s",
    attributes: &[],
    what: "From an accepted offer to the running command",
};
const OUTPUT_BYTES: Metric = Metric {
    name: "airlock.runner.output.bytes",
    unit: "By",
    attributes: &[],
    what: "Output that commands wrote, whether kept or not",
};
const OUTPUT_CUT: Metric = Metric {
    name: "airlock.runner.output.cut",
    unit: "By",
    attributes: &[],
    what: "Output that was cut from the middle",
};
const LINKS: Metric =
    Metric { name: "airlock.runner.links", unit: "{link}", attributes: &[], what: "Links that are up" };

/// Every metric of the runner.
pub const METRICS: &[Metric] = &[JOBS, REFUSALS, ACTIVE, LAUNCH_TIME, OUTPUT_BYTES, OUTPUT_CUT, LINKS];

/// Of launches, in seconds.
const SHORT: [f64; 10] = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0];

/// The instruments.
#[derive(Debug)]
pub(crate) struct Metrics {
    jobs: Counter<u64>,
    refusals: Counter<u64>,
    active: UpDownCounter<i64>,
    launch_time: Histogram<f64>,
    output_bytes: Counter<u64>,
    output_cut: Counter<u64>,
    links: UpDownCounter<i64>,
}

impl Metrics {
    /// Of the process's meter provider, as it is now.
    pub(crate) fn new() -> Self {
        let meter = global::meter("airlock-runner");
        let counter =
            |of: Metric| meter.u64_counter(of.name).with_unit(of.unit).with_description(of.what).build();
        let gauge = |of: Metric| {
            meter.i64_up_down_counter(of.name).with_unit(of.unit).with_description(of.what).build()
        };
        Self {
            jobs: counter(JOBS),
            refusals: counter(REFUSALS),
            active: gauge(ACTIVE),
            launch_time: meter
                .f64_histogram(LAUNCH_TIME.name)
                .with_unit(LAUNCH_TIME.unit)
                .with_description(LAUNCH_TIME.what)
                .with_boundaries(SHORT.to_vec())
                .build(),
            output_bytes: counter(OUTPUT_BYTES),
            output_cut: counter(OUTPUT_CUT),
            links: gauge(LINKS),
        }
    }

    pub(crate) fn accepted(&self) {
        self.active.add(1, &[]);
    }

    pub(crate) fn refused(&self, reason: &'static str) {
        self.refusals.add(1, &[KeyValue::new("reason", reason)]);
    }

    pub(crate) fn running(&self, launch: Duration) {
        self.launch_time.record(launch.as_secs_f64(), &[]);
    }

    pub(crate) fn ended(&self, cause: &'static str, output: u64, cut: u64) {
        self.active.add(-1, &[]);
        self.jobs.add(1, &[KeyValue::new("cause", cause)]);
        self.output_bytes.add(output, &[]);
        self.output_cut.add(cut, &[]);
    }

    pub(crate) fn link_up(&self) {
        self.links.add(1, &[]);
    }

    pub(crate) fn link_down(&self) {
        self.links.add(-1, &[]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_of_one_form_and_unique() {
        let mut names: Vec<_> = METRICS.iter().map(|metric| metric.name).collect();
        assert!(names.iter().all(|name| name.starts_with("airlock.runner.")));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), METRICS.len());
    }
}
