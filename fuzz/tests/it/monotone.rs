//! Tests that verdicts are monotone. Neither tighter rules nor a larger text loosens a verdict. Another spelling of the
//! same words gets the same verdict. The texts come from the fuzzers and the policy's own cases; the rules are made at
//! random from their words.
//!
//! `AIRLOCK_TEST_COMMANDS=DIR` adds the commands of `*.jsonl` files in a directory, each line with a `command` or a
//! `cmd`. Input checks that are not part of the policy, such as the one for a leading `sleep`, are not tested here.

#![expect(clippy::unwrap_used, reason = "a test stops at the first unexpected result")]

mod change;
mod law;
mod spelling;
mod texts;

use std::{
    collections::BTreeMap, ffi::OsStr, fmt::Write as _, os::unix::ffi::OsStrExt as _, process::Command,
};

use airlock_policy::{Decision, Verdict};
use fastrand::Rng;

use change::{CHANGES, Change, Changed};
use law::Law;
use texts::Texts;

/// The maximum number of kinds of findings to print. They have few causes.
const MOST_TOLD: usize = 40;

/// A text and rules, before and after a change.
struct Finding {
    text: Vec<u8>,
    changed: Vec<u8>,
    law: String,
}

/// Pairs that violate the order, with the shortest of each kind.
#[derive(Default)]
struct Findings(BTreeMap<String, (usize, Finding)>);

impl Findings {
    fn add(&mut self, change: Change, before: &Decision, after: &Decision, finding: Finding) {
        let said = |decision: &Decision| {
            format!("{:?} {}", decision.verdict, decision.reasons.first().map_or("", |first| first.code))
        };
        let kind = format!("{change:?}: {} becomes {}", said(before), said(after));
        let (times, known) = self.0.entry(kind).or_insert_with(|| (0, finding_of(&finding)));
        *times += 1;
        if finding.text.len() < known.text.len() {
            *known = finding;
        }
    }

    fn told(&self) -> String {
        let mut out = String::new();
        for (kind, (times, Finding { text, changed, law })) in self.0.iter().take(MOST_TOLD) {
            let (text, changed) = (String::from_utf8_lossy(text), String::from_utf8_lossy(changed));
            writeln!(out, "{kind}, {times} times\n  {text:?}\n  {changed:?}\n  {law}").unwrap();
        }
        out
    }
}

fn finding_of(finding: &Finding) -> Finding {
    Finding { text: finding.text.clone(), changed: finding.changed.clone(), law: finding.law.clone() }
}

/// Returns whether bash finds a syntax error in the text. Such text is never allowed. It has no correct reading, so
/// that another rule may stop it in a larger text. Parentheses around it can pair with its own, as in `(2); a=(1 rm)`.
fn bash_refuses(text: &[u8]) -> bool {
    let read =
        Command::new("bash").args(["--norc", "-n", "-c"]).arg(OsStr::from_bytes(text)).output().unwrap();
    !read.status.success()
}

/// Compares this number of pairs.
fn compare(seed: u64, pairs: usize) {
    let mut texts = Texts::new(seed);
    let mut rng = Rng::with_seed(seed);
    let mut findings = Findings::default();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut made = 0;
    while made < pairs {
        let text = texts.next();
        let law = Law::about(&text, &mut rng);
        let before = law.decide(&text);
        for change in CHANGES {
            let Some(Changed { text: changed, law: after_law }) = change.of(&text, &law, &before, &mut rng)
            else {
                continue;
            };
            let after = after_law.decide(&changed);
            made += 1;
            *seen.entry(format!("{change:?} {:?}", before.verdict)).or_default() += 1;
            let may_differ = after.verdict == Verdict::Ask || *change == Change::InASubshell;
            if change.holds(&before, &after) || (may_differ && bash_refuses(&text)) {
                continue;
            }
            let law = format!("{law}; then {after_law}");
            findings.add(*change, &before, &after, Finding { text: text.clone(), changed, law });
        }
    }
    println!("{made} pairs: {seen:#?}");
    // A property that was tested on one verdict only proves little. No verdict is looser than ALLOW.
    for change in CHANGES {
        for verdict in [Verdict::Allow, Verdict::Ask, Verdict::Deny] {
            let times = seen.get(&format!("{change:?} {verdict:?}")).copied().unwrap_or_default();
            assert!(
                times * 400 > pairs / CHANGES.len(),
                "{change:?} was tried on {times} texts that are {verdict:?}"
            );
        }
    }
    assert!(findings.0.is_empty(), "{} kinds:\n{}", findings.0.len(), findings.told());
}

mod sample {
    use super::compare;

    #[test]
    fn verdicts_are_monotone() {
        compare(airlock_sampling::seed(), airlock_sampling::extent(20_000, 250_000));
    }
}

mod long {
    use super::compare;

    /// Four parts are a million pairs.
    const EACH: usize = 250_000;

    #[test]
    fn verdicts_are_monotone_first_part() {
        compare(1, EACH);
    }

    #[test]
    fn verdicts_are_monotone_second_part() {
        compare(2, EACH);
    }

    #[test]
    fn verdicts_are_monotone_third_part() {
        compare(3, EACH);
    }

    #[test]
    fn verdicts_are_monotone_fourth_part() {
        compare(4, EACH);
    }
}
