//! Detection of commands that begin with `sleep`, and of their duration. It reads the policy's findings and
//! decides nothing.

use std::time::Duration;

use airlock_policy::{Decision, FoundCommand, Nesting};

/// Returns the duration of the `sleep` that a command begins with. `Some(None)` if the duration is unknown.
/// `None` if the command begins with another program.
pub(crate) fn leading_sleep(decision: &Decision) -> Option<Option<Duration>> {
    let is_outermost = |command: &&FoundCommand| command.nesting.iter().all(|one| *one == Nesting::Pipeline);
    let outermost = decision.commands.iter().filter(is_outermost);
    let first = outermost.min_by_key(|command| command.span.start)?;
    let name = first.argv.first()?.text.as_deref()?;
    matches!(name, b"sleep" | b"/bin/sleep" | b"/usr/bin/sleep").then(|| time_of(first))
}

/// Parses the operands as coreutils does: the sum of numbers with units.
fn time_of(sleep: &FoundCommand) -> Option<Duration> {
    let words = sleep.argv.get(1..).unwrap_or_default();
    let operands = words.iter().skip_while(|word| word.text.as_deref() == Some(b"--"));
    let mut seconds = 0.0;
    for word in operands {
        seconds += seconds_of(std::str::from_utf8(word.text.as_deref()?).ok()?)?;
    }
    Some(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}

fn seconds_of(word: &str) -> Option<f64> {
    let units = [("s", 1.0), ("m", 60.0), ("h", 3600.0), ("d", 86400.0)];
    let with_unit = units.iter().find_map(|(unit, factor)| Some((word.strip_suffix(unit)?, *factor)));
    let (number, factor) = with_unit.unwrap_or((word, 1.0));
    let number: f64 = number.parse().ok()?;
    (number >= 0.0).then_some(number * factor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profiles::Profiles;

    fn found(command: &str) -> Option<Option<f64>> {
        let profiles = Profiles::builtin();
        let profile = profiles.get("sandboxed").expect("a built-in profile");
        let shell = airlock_domain::Shell::Bash;
        let mode = (profile.default_mode(), None);
        let decision = super::super::ask_policy(
            profile,
            (command.as_bytes(), &Default::default()),
            (shell, false),
            mode,
            (b"/workspace", None),
            None,
        );
        leading_sleep(&decision).map(|time| time.map(|time| time.as_secs_f64()))
    }

    #[test]
    fn the_first_command_counts_as_bash_reads_it() {
        for (command, seconds) in [
            ("sleep 5", 5.0),
            ("sleep 2m", 120.0),
            ("  sleep .5 1.5s", 2.0),
            ("sleep 1h && make", 3600.0),
            ("sleep 3; sleep 9", 3.0),
            ("\\sleep 3", 3.0),
            ("'sle'ep 3 | cat", 3.0),
            ("/usr/bin/sleep -- 3", 3.0),
            ("X=1 sleep 1d", 86400.0),
            ("sleep", 0.0),
        ] {
            assert_eq!(found(command), Some(Some(seconds)), "{command}");
        }
        assert!(found("sleep infinity").flatten().is_some_and(|seconds| seconds > 1e15));
        for command in ["sleep $N", "sleep 0x9", "sleep -1", "sleep now", "sleep nan", "sleep $(cat n)"] {
            assert_eq!(found(command), Some(None), "{command}");
        }
    }

    #[test]
    fn a_sleep_elsewhere_is_none() {
        for command in ["echo sleep 5", "true; sleep 5", "echo $(sleep 5)", "sleepy 5", "", "(", "./sleep 5"]
        {
            assert_eq!(found(command), None, "{command}");
        }
    }
}
