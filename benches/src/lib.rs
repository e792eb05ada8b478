//! Measures alternative implementations of the same work in turns, so that a noisy host affects all of them equally.
//! Prints medians and ratios, and makes no assertions.

#![forbid(unsafe_code)]

use std::time::{Duration, Instant};

/// The measured times of one alternative.
#[derive(Debug)]
pub struct Alternative {
    name: String,
    times: Vec<Duration>,
}

impl Alternative {
    /// Creates an alternative without measurements.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), times: Vec::new() }
    }

    /// Runs the work once and records its time.
    pub fn measure<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        self.note(start.elapsed());
        result
    }

    /// Records a time that was measured elsewhere.
    pub fn note(&mut self, time: Duration) {
        self.times.push(time);
    }

    /// Returns the median; zero before the first measurement.
    #[must_use]
    pub fn median(&self) -> Duration {
        self.quantile(50)
    }

    /// Returns the given percentile of the times; zero before the first measurement.
    #[must_use]
    pub fn quantile(&self, of_hundred: usize) -> Duration {
        let mut times = self.times.clone();
        times.sort();
        let last = times.len().saturating_sub(1);
        times.get((times.len() * of_hundred / 100).min(last)).copied().unwrap_or_default()
    }
}

/// Prints the median of each alternative, and its ratio to that of the first one.
pub fn print(title: &str, alternatives: &[Alternative]) {
    println!("{title}");
    let base = alternatives.first().map(Alternative::median).unwrap_or_default().as_secs_f64();
    for alternative in alternatives {
        let median = alternative.median();
        let ratio = median.as_secs_f64() / base.max(f64::MIN_POSITIVE);
        println!("  {:<44} {:>12} {ratio:>8.2} x", alternative.name, format!("{median:.1?}"));
    }
}

/// Prints a row for each alternative: the median, the 90th and 99th percentile, the number of measurements, and the
/// ratio of the median to that of the first alternative.
pub fn print_quantiles(title: &str, alternatives: &[Alternative]) {
    let [median, p90, p99, count] = ["median", "p90", "p99", "of"];
    println!("{title}\n  {:<44} {median:>12} {p90:>12} {p99:>12} {count:>8}   ratio", "");
    let base = alternatives.first().map(Alternative::median).unwrap_or_default().as_secs_f64();
    for alternative in alternatives {
        let ratio = alternative.median().as_secs_f64() / base.max(f64::MIN_POSITIVE);
        let [median, p90, p99] =
            [50, 90, 99].map(|of_hundred| format!("{:.1?}", alternative.quantile(of_hundred)));
        let count = alternative.times.len();
        println!("  {:<44} {median:>12} {p90:>12} {p99:>12} {count:>8} {ratio:>8.2} x", alternative.name);
    }
}
