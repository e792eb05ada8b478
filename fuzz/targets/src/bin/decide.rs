//! Decides any bytes as a command, with every check and with different profiles, modes and shells.
#![no_main]

use airlock_fuzz_targets::{asked, decision};
use airlock_policy::Request;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    let (strict, sandboxed) = asked::strict_and_sandboxed();
    let plain = decision::checked(&Request::bash(text), strict);
    // The text selects one of the other checks each time: more inputs find more than more checks
    // per input.
    match text.iter().fold(text.len(), |sum, byte| sum + usize::from(*byte)) % 4 {
        0 => decision::is_monotone(text, sandboxed),
        1 => decision::quoting_changes_nothing(&plain, strict),
        _ => {
            let (request, profile) = asked::question(text);
            decision::checked(&request, profile);
        }
    }
});
