//! Shrinks the text of a finding so that a person can read it.

use std::io;

use super::claim;
use super::decider::{Decider, Judged};
use super::tally::Finding;
use super::workers::Worker;
use crate::trace::Exec;

/// The maximum number of runs for one finding.
const MOST_RUNS: usize = 400;

/// Returns the finding with the smallest text that still starts an unpredicted program.
pub(super) fn finding(
    (text, snapshot): (&[u8], bool),
    exec: &Exec,
    decider: &Decider,
    worker: &mut Worker,
) -> io::Result<Finding> {
    let mut small = text.to_vec();
    let mut started = words(&exec.argv);
    let mut size = small.len() / 2;
    let mut runs = 0;
    while size > 0 && runs < MOST_RUNS {
        let mut at = 0;
        while at < small.len() && runs < MOST_RUNS {
            let mut shorter = small.clone();
            shorter.drain(at..(at + size).min(small.len()));
            let judged = decider.judge(&shorter, snapshot);
            let seen = if judged.claimed {
                runs += 1;
                let trace = worker.run(&shorter, judged.mode)?;
                claim::unpredicted(&trace, &judged.commands).map(|exec| words(&exec.argv))
            } else {
                None
            };
            match seen {
                Some(seen) => (small, started) = (shorter, seen),
                None => at += size,
            }
        }
        size /= 2;
    }
    let judged = decider.judge(&small, snapshot);
    Ok(Finding { text: text.to_vec(), small, snapshot, started, predicted: predicted(&judged) })
}

fn words(argv: &[Vec<u8>]) -> String {
    let words: Vec<String> = argv.iter().map(|word| format!("`{}`", word.escape_ascii())).collect();
    words.join(" ")
}

fn predicted(judged: &Judged) -> String {
    let word = |word: &airlock_policy::Word| match (&word.text, word.exactly_one) {
        (Some(text), _) => format!("`{}`", text.escape_ascii()),
        (None, true) => "one".to_owned(),
        (None, false) => "any".to_owned(),
    };
    let commands: Vec<String> = judged
        .commands
        .iter()
        .map(|command| command.argv.iter().map(word).collect::<Vec<_>>().join(" "))
        .collect();
    format!("{} (complete: {}, allowed: {})", commands.join("; "), judged.complete, judged.allowed)
}
