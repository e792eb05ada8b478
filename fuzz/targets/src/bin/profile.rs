//! Loads any text as a profile: it loads or reports the position of an error, and never panics.
#![no_main]

use airlock_fuzz_targets::{bounds, decision};
use airlock_policy::{Profile, Request};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    let text = String::from_utf8_lossy(text);
    match bounds::bounded(|| Profile::from_toml(&text, "fuzzed.toml", &|_| None)) {
        Ok(profile) => {
            decision::checked(&Request::bash(b"git status && rm -rf x > f"), &profile);
        }
        Err(error) => {
            let lines = text.lines().count().max(1) + 1;
            assert!(!error.problems.is_empty(), "an error names the problem");
            for problem in &error.problems {
                assert!((1..=lines).contains(&problem.line), "line {} of {lines}", problem.line);
            }
            let shown = error.to_string();
            assert_eq!(shown.lines().count(), error.problems.len(), "one line each: {shown:?}");
        }
    }
});
