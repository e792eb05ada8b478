//! Parses and decides any bytes as a PowerShell text. The parser stays within its text, and the policy keeps the
//! invariants of every decision.
#![no_main]

use airlock_fuzz_targets::{asked, bounds::bounded, decision, powershell};
use airlock_policy::{Request, Shell};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    let (strict, sandboxed) = asked::strict_and_sandboxed();
    let request = Request { shell: Shell::Pwsh, ..Request::bash(text) };
    let plain = decision::checked(&request, strict);
    let Ok(words) = std::str::from_utf8(text) else {
        assert!(!plain.parse_complete, "a text that is not UTF-8 is not understood");
        return;
    };
    let script = bounded(|| airlock_powershell::parse(words));
    powershell::lies_inside(&script, words);
    if script.fault.is_some() {
        assert!(!plain.parse_complete && !plain.read_only, "a text that PowerShell refuses is never proven");
    }
    match text.iter().fold(text.len(), |sum, byte| sum + usize::from(*byte)) % 3 {
        0 => powershell::rules_hold(words, &plain, sandboxed),
        1 => powershell::spelling_changes_nothing(&plain, strict),
        _ => powershell::in_a_block_is_the_same(words, &plain, strict),
    }
});
