//! The scripts that Airlock gives to PowerShell are PowerShell: the parser understands every part of them.

use std::fs;
use std::path::Path;

use airlock_policy::{Profile, Request, Shell, decide};

#[test]
fn every_script_of_airlock_is_powershell() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for script in [
        "sandbox/src/launcher/powershell/run.ps1",
        "sandbox/src/launcher/powershell/text.ps1",
        "runner/src/job/snapshot.ps1",
    ] {
        let text = fs::read_to_string(root.join(script)).unwrap();
        let complete = |text: &str| {
            let request = Request { shell: Shell::Pwsh, ..Request::bash(text.as_bytes()) };
            decide(&request, &Profile::blank("p")).parse_complete
        };
        assert!(complete(&text), "{script}");
        assert!(!complete(&text.replacen('}', "", 1)), "the control: {script}");
        // The form for a text with lines of input.
        assert!(complete(
            &text.replace(". \"$PSScriptRoot/text.ps1\"", "$input | . \"$PSScriptRoot/text.ps1\"")
        ));
    }
}
