//! The options of a run.

use std::path::PathBuf;

/// The options of a run.
#[derive(Debug, Clone)]
pub struct Options {
    /// The seed that determines every command.
    pub seed: u64,
    /// The minimum number of commands to generate in total. Each construct gets an equal share.
    pub count: usize,
    /// How many commands of each construct bash runs, of those with a claim. Allowed commands
    /// continue to run beyond this number until `enough` of them ran.
    pub tried: usize,
    /// How many commands of a construct must be complete, and how many allowed, if there are any.
    pub enough: usize,
    /// The number of workers.
    pub jobs: usize,
    /// Limits the run to the construct of this name.
    pub only: Option<String>,
    /// The program that contains the worker.
    pub worker: PathBuf,
    /// Whether to print progress.
    pub progress: bool,
    /// Removes the last command from each prediction, so that the check must fail.
    pub drop_last_prediction: bool,
}
