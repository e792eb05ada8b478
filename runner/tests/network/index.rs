//! The list of the ways that were tried, with their results.

use std::collections::BTreeSet;

/// The rows that the list must have.
const LEAST: usize = 120;

/// The result of a row.
pub(crate) struct Tried {
    /// The place of the attempt, such as `proxy: addresses`.
    pub(crate) group: &'static str,
    pub(crate) name: String,
    /// The target that the attempt reached. `None`: the attempt was stopped.
    pub(crate) attempt: Option<String>,
    /// The target that the control reached. `None`: the control failed, so the result of the attempt has no value.
    pub(crate) control: Option<String>,
}

/// The rows that ran.
#[derive(Default)]
pub(crate) struct Index {
    rows: BTreeSet<(&'static str, String)>,
    problems: Vec<String>,
}

impl Index {
    /// Prints and counts a row.
    pub(crate) fn record(&mut self, tried: Tried) {
        let Tried { group, name, attempt, control } = tried;
        let (stopped, proven) = (attempt.is_none(), control.is_some());
        println!(
            "{:>3} {group}: {name}: {}, {}",
            self.rows.len() + 1,
            attempt.map_or("stopped".to_owned(), |reached| format!("REACHED {reached}")),
            control
                .map_or("WITHOUT A CONTROL".to_owned(), |reached| format!("the control reached {reached}")),
        );
        if !stopped || !proven {
            self.problems.push(format!("{group}: {name}: stopped {stopped}, control {proven}"));
        }
        if !self.rows.insert((group, name.clone())) {
            self.problems.push(format!("{group}: {name}: this row is there twice"));
        }
    }

    /// Fails if a row got through or has no control, or if there are too few rows.
    #[track_caller]
    pub(crate) fn assert_complete(&self) {
        println!("{} ways were tried", self.rows.len());
        assert!(self.problems.is_empty(), "{:#?}", self.problems);
        assert!(self.rows.len() >= LEAST, "{} of {LEAST} ways", self.rows.len());
    }
}
