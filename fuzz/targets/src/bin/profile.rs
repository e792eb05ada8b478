//! Any text as a profile: it loads or says where it is wrong, and never panics.
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
            let lines = text.bytes().filter(|byte| *byte == b'\n').count() + 1;
            assert!((1..=lines).contains(&error.line), "line {} of {lines}", error.line);
            let shown = error.to_string();
            assert!(!shown.contains('\n'), "an error is one line: {shown:?}");
        }
    }
});
