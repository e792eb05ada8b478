//! Tests of `airlock completions`: bash completes with the script; zsh and fish parse theirs where they
//! are installed.

use std::process::Command;

use crate::support::airlock;

fn script(shell: &str) -> String {
    let output = airlock(&["completions", shell]).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the words that bash offers after `line`, using its own `complete`.
fn completed(line: &str) -> Vec<String> {
    let ask = r#"
        set -eu
        source /dev/stdin <<< "$SCRIPT"
        entry=$(complete -p airlock)
        function=${entry#*-F }
        COMP_WORDS=($LINE)
        [[ $LINE == *' ' ]] && COMP_WORDS+=('')
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        COMP_LINE=$LINE COMP_POINT=${#LINE}
        set +eu
        "${function%% *}" airlock "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let output = Command::new("bash")
        .args(["--norc", "-c", ask])
        .env("SCRIPT", script("bash"))
        .env("LINE", line)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_subcommands_options_and_values() {
    for (line, offered, withheld) in [
        ("airlock ", &["run", "session", "doctor", "profile"][..], &["create"][..]),
        ("airlock se", &["session"], &["run"]),
        ("airlock session ", &["create", "list", "close"], &["drain"]),
        ("airlock session create --pr", &["--profile"], &["--json"]),
        ("airlock run --on-ask ", &["fail", "wait"], &["bash"]),
        ("airlock completions ", &["bash", "zsh", "fish"], &["tcsh"]),
        ("airlock runners dr", &["drain"], &["undrain"]),
    ] {
        let found = completed(line);
        for word in offered {
            assert!(found.iter().any(|one| one == word), "`{line}` offers {word}: {found:?}");
        }
        for word in withheld {
            assert!(!found.iter().any(|one| one == word), "`{line}` does not offer {word}: {found:?}");
        }
    }
}

#[test]
fn the_scripts_are_read_by_their_shells() {
    let directory = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        let text = script(shell);
        assert!(text.contains("doctor") && text.contains("airlock"), "{shell}");
        let file = directory.path().join(shell);
        std::fs::write(&file, text).unwrap();
        match Command::new(shell).arg("-n").arg(&file).output() {
            Ok(output) => assert!(output.status.success(), "{shell}: {output:?}"),
            Err(error) => {
                println!("not run: {shell} is not installed, so its script was not tested: {error}");
            }
        }
    }
}
