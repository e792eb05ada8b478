//! Tests of the help pages: every example of every subcommand runs exactly as written. Also of `airlock completions`: bash
//! completes with the script; zsh and fish parse theirs where they are installed.

use std::{fs, path::Path, process::Command};

use nix::sys::signal::Signal;

use crate::support::{Site, airlock, end, eventually, send, stderr};

/// Returns each subcommand that performs an action, with its path and its examples.
fn examples() -> Vec<(String, Vec<String>)> {
    fn visit(command: &clap::Command, path: &str, found: &mut Vec<(String, Vec<String>)>) {
        for child in command.get_subcommands().filter(|child| child.get_name() != "help") {
            let path = format!("{path} {}", child.get_name()).trim().to_owned();
            visit(child, &path, found);
            if child.get_subcommands().next().is_none() || child.get_after_help().is_some() {
                let text = child.get_after_help().map(ToString::to_string).unwrap_or_default();
                let lines = text.lines().skip_while(|line| !line.starts_with("Example"));
                let lines = lines.skip(1).take_while(|line| line.starts_with("  ")).map(str::trim);
                found.push((path, lines.map(str::to_owned).collect()));
            }
        }
    }
    let mut found = Vec::new();
    visit(&airlock_cli::command::command_line(), "", &mut found);
    found
}

/// Runs the lines as one script in an empty directory with an empty HOME, against a dev.
fn run(site: &Site, path: &str, lines: &[String]) {
    let directory = tempfile::Builder::new().prefix("airlock-test-help-").tempdir().unwrap();
    fs::copy(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/examples/team.toml"),
        directory.path().join("team.toml"),
    )
    .unwrap();
    // The exit code of a check is its verdict, so only wrong usage fails the test.
    let verdict = |line: &String| match path {
        "check" => format!("{line} || [ $? -ge 10 ]\n"),
        _ => format!("{line}\n"),
    };
    let script: String = lines.iter().map(verdict).collect();
    let programs = Path::new(env!("CARGO_BIN_EXE_airlock")).parent().unwrap().display();
    let output = Command::new("timeout")
        .args(["120", "bash", "-eu", "-c", &script])
        .current_dir(directory.path())
        .env("HOME", directory.path())
        .env("PATH", format!("{programs}:{}", std::env::var("PATH").unwrap()))
        .env("AIRLOCK_STATE", site.state())
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "the examples of {path}:\n{script}\n{text}\n{}", stderr(&output));
}

#[test]
fn every_example_of_every_subcommand_runs() {
    let site = Site::with_dev(&[]);
    let all = examples();
    assert!(all.len() > 20, "{}", all.len());
    for (path, lines) in &all {
        assert!(
            lines.iter().any(|line| line.contains(&format!("airlock {path}"))),
            "{path} has an example that calls it: {lines:?}"
        );
        if path != "dev" {
            run(&site, path, lines);
        }
    }
}

/// A dev runs until it is stopped, so each example runs separately.
#[test]
fn every_example_of_dev_starts_one() {
    let (_, lines) = examples().into_iter().find(|(path, _)| path == "dev").unwrap();
    for line in lines {
        let home = tempfile::Builder::new().prefix("airlock-test-help-").tempdir().unwrap();
        for shown in ["src/repo", ".cargo/bin", "images/debian"] {
            fs::create_dir_all(home.path().join(shown)).unwrap();
        }
        let line = line.replace("/tmp/", &format!("{}/", home.path().display()));
        let line = line.replacen("airlock dev", &format!("exec {} dev", env!("CARGO_BIN_EXE_airlock")), 1);
        let log = home.path().join("log");
        let mut child = Command::new("bash")
            .args(["-c", &line])
            .env("HOME", home.path())
            .env_remove("XDG_STATE_HOME")
            .env_remove("AIRLOCK_STATE")
            .stdout(fs::File::create(&log).unwrap())
            .spawn()
            .unwrap();
        eventually("it is up", || {
            assert!(child.try_wait().unwrap().is_none(), "{line} ended");
            fs::read_to_string(&log).unwrap().contains("Ctrl-C stops it")
        });
        send(&child, Signal::SIGTERM);
        assert_eq!(end(&mut child), Some(0), "{line}");
    }
}

#[test]
fn the_first_page_shows_every_subcommand_once_in_a_group() {
    let output = airlock(&["--help"]).output().unwrap();
    let page = String::from_utf8(output.stdout).unwrap();
    for command in airlock_cli::command::command_line().get_subcommands() {
        let name = format!("  {} ", command.get_name());
        let lines = page.lines().filter(|line| line.starts_with(&name)).count();
        assert_eq!(lines, 1, "{name}: {page}");
        assert!(command.get_about().is_some_and(|about| about.to_string().len() > 10), "{name}");
    }
    assert!(!page.contains("\nMore:"), "every subcommand is in a group:\n{page}");
}

#[test]
fn every_long_help_is_longer_than_the_short_one_and_neither_needs_a_server() {
    for (path, _) in examples() {
        let words: Vec<&str> = path.split(' ').collect();
        let long = airlock(&[&words[..], &["--help"]].concat()).output().unwrap();
        let short = airlock(&[&words[..], &["-h"]].concat()).output().unwrap();
        assert_eq!((long.status.code(), short.status.code()), (Some(0), Some(0)), "{path}");
        assert!(long.stdout.len() >= short.stdout.len() && !short.stdout.is_empty(), "{path}");
    }
}

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
        fs::write(&file, text).unwrap();
        match Command::new(shell).arg("-n").arg(&file).output() {
            Ok(output) => assert!(output.status.success(), "{shell}: {output:?}"),
            Err(error) => {
                println!("not run: {shell} is not installed, so its script was not tested: {error}");
            }
        }
    }
}
