//! Tests of command building: every command behaves like a separate script, inside the sandbox and outside.
//!
//! Each row runs twice in equal sandboxes with the same snapshot: as Airlock runs it, and as a file that is passed to
//! `bash +H -O expand_aliases`. Output, exit code and last directory must be equal. Only the path of the script may
//! differ. The rows are harmless on a host: outside the sandbox they run as a session's user, in its directories.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod rows;

use std::fs;
use std::path::{Path, PathBuf};

use airlock_sandbox::{Cause, LaunchSpec, Session, Shell, env::outside};

use crate::support::{Host, finish};

/// The script of the reference, and that of Airlock.
const REFERENCE: &str = "/tmp/reference-script";
const OURS: &str = "/run/airlock/run/command";

/// The format of a session's snapshot: functions, options, aliases.
const SNAPSHOT: &[u8] = br#"greeting () 
{ 
    echo "greeting $1 from ${FUNCNAME[0]}"
}
up () 
{ 
    builtin cd ..
}
picky () 
{ 
    case "$1" in 
        +([0-9]))
            echo number
        ;;
        *)
            echo other
        ;;
    esac
}
shopt -s expand_aliases
shopt -s nullglob
set -o pipefail
alias greet='echo hello '
alias ll='ls -l'
alias two='echo one; echo two'
alias world='everyone'
"#;

#[derive(Debug, PartialEq)]
struct Outcome {
    output: String,
    cause: Cause,
    directory: Option<PathBuf>,
}

struct Site {
    host: Host,
    session: Session,
}

impl Site {
    fn new() -> Self {
        let host = Host::new();
        let session = host.session();
        Self { host, session }
    }

    /// Runs a command as Airlock does.
    fn built(&self, command: &[u8], snapshot: Option<&[u8]>) -> Outcome {
        self.empty();
        let spec = LaunchSpec { snapshot: snapshot.map(Into::into), ..self.host.spec(command) };
        self.seen(&spec, OURS)
    }

    /// Runs a command as a file that is passed to bash.
    fn reference(&self, command: &[u8], snapshot: Option<&[u8]>) -> Outcome {
        self.empty();
        let tmp = &self.session.directories.tmp;
        let name = |path: &str| tmp.join(Path::new(path).file_name().unwrap());
        fs::write(name(REFERENCE), command).unwrap();
        let mut driver = String::new();
        if let Some(snapshot) = snapshot {
            fs::write(tmp.join("reference-snapshot"), snapshot).unwrap();
            let sourced = "unset BASH_ENV\nshopt -s extglob\n. /tmp/reference-snapshot\nshopt -u extglob\n";
            fs::write(tmp.join("reference-env"), sourced).unwrap();
            driver.push_str("export BASH_ENV=/tmp/reference-env; ");
        }
        driver.push_str("exec bash --noprofile --norc +H -O expand_aliases ");
        driver.push_str(REFERENCE);
        self.seen(&self.host.spec(driver), REFERENCE)
    }

    fn seen(&self, spec: &LaunchSpec, script: &str) -> Outcome {
        let output = finish(self.host.start(&self.session, spec));
        let ended = output.ended;
        Outcome { output: output.stdout.replace(script, "SCRIPT"), cause: ended.cause, directory: ended.cwd }
    }

    /// Removes everything that the previous row left.
    fn empty(&self) {
        let directories = &self.session.directories;
        for directory in [&directories.workspace, &directories.home, &directories.tmp] {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                let is_directory = fs::symlink_metadata(&path).unwrap().is_dir();
                if is_directory {
                    airlock_mounts::remove_tree(path).unwrap();
                } else {
                    fs::remove_file(path).unwrap();
                }
            }
        }
    }
}

#[track_caller]
fn every_row_is_as_its_file(snapshot: Option<&[u8]>) {
    let site = Site::new();
    let rows = rows::all();
    assert!(rows.len() >= 120, "{} rows", rows.len());
    let mut wrong = Vec::new();
    for row in &rows {
        let (wanted, got) = (site.reference(row, snapshot), site.built(row, snapshot));
        if wanted != got {
            let shown = String::from_utf8_lossy(row.get(..200).unwrap_or(row)).into_owned();
            wrong.push(format!("{shown:?}\n  as a file: {wanted:?}\n  built:     {got:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

#[test]
fn every_command_does_what_it_does_as_a_file() {
    every_row_is_as_its_file(None);
}

#[test]
fn every_command_does_what_it_does_as_a_file_behind_the_same_snapshot() {
    every_row_is_as_its_file(Some(SNAPSHOT));
}

#[test]
fn a_snapshot_is_in_force_and_extended_globs_are_not() {
    let site = Site::new();
    let said = |command: &str| site.built(command.as_bytes(), Some(SNAPSHOT)).output;
    assert_eq!(said("greet world"), "hello everyone\n");
    assert_eq!(said("greeting you"), "greeting you from greeting\n");
    // The function was parsed with extended globs, but the command is matched without them.
    assert_eq!(said("picky 12; picky x"), "other\nother\n");
    assert_eq!(said("shopt -q extglob || echo off; echo ${BASH_ENV-none}"), "off\nnone\n");
    assert_eq!(said("false | true; echo $?"), "1\n");
    // The control.
    assert!(site.built(b"greeting you", None).output.contains("greeting: command not found"));
}

#[test]
fn a_read_only_command_has_no_aliases() {
    let site = Site::new();
    let command = "alias ls='echo aliased'\nls -d /workspace\nshopt -q expand_aliases || echo off";
    let output = site.host.run(&site.session, &site.host.read_only_spec(command));
    assert_eq!(output.stdout, "/workspace\noff\n");
    assert_eq!(site.built(command.as_bytes(), None).output, "aliased -d /workspace\n", "the control");
    let spec = LaunchSpec { snapshot: Some(SNAPSHOT.to_vec()), ..site.host.read_only_spec("ll") };
    assert_eq!(site.host.refused(&site.session, &spec).step(), "request");
}

#[test]
fn the_prefix_stands_in_front_and_its_words_are_data() {
    let site = Site::new();
    let with = |prefix: &[&str], command: &str| {
        let prefix = prefix.iter().map(|word| word.as_bytes().to_vec()).collect();
        LaunchSpec { prefix, ..site.host.spec(command) }
    };
    let seen = site.seen(&with(&["/usr/bin/env", "A=x y; echo $HOME"], "echo \"$A\"; mkdir d; cd d"), OURS);
    assert_eq!(seen.output, "x y; echo $HOME\n");
    assert_eq!(seen.directory, Some("/workspace/d".into()), "env becomes the shell");
    let seen = site.seen(&with(&["/usr/bin/setpriv", "--no-new-privs", "--"], "exit 7"), OURS);
    assert_eq!(seen.cause, Cause::Exited(7));
    // A prefix that does not become the shell does not change its directory.
    let seen = site.seen(&with(&["/usr/bin/timeout", "--foreground", "60"], "mkdir e; cd e"), OURS);
    assert_eq!(seen.directory, None);
    let gone = site.host.refused(&site.session, &with(&["/usr/bin/no-such-prefix"], "true"));
    assert_eq!(gone.step(), "prefix");
    assert!(!gone.is_shell_unavailable() && gone.hint().unwrap().contains("shell.prefix"), "{gone}");
}

/// A row that names this path would write to the host's own directory.
const HOSTS_OWN: &[u8] = b"/tmp/";

impl Site {
    fn outside(&self, command: &[u8], script: &str) -> Outcome {
        let spec = self.host.spec(command);
        let spec = LaunchSpec { env: outside(spec.env.clone(), &self.session.directories), ..spec };
        let running = self.host.launcher.start_outside(&self.session, &self.host.limits, &spec);
        let output = finish(running.unwrap_or_else(|error| panic!("{}: {error}", error.step())));
        let ended = output.ended;
        Outcome { output: output.stdout.replace(script, "SCRIPT"), cause: ended.cause, directory: ended.cwd }
    }

    fn built_outside(&self, command: &[u8]) -> Outcome {
        self.empty();
        self.outside(command, &self.session.directories.root.join("run/command").to_string_lossy())
    }

    fn reference_outside(&self, command: &[u8]) -> Outcome {
        self.empty();
        let script = self.session.directories.tmp.join("reference-script");
        fs::write(&script, command).unwrap();
        let script = script.to_string_lossy();
        let driver = format!("exec bash --noprofile --norc +H -O expand_aliases {script}");
        self.outside(driver.as_bytes(), &script)
    }
}

#[test]
fn every_command_does_outside_what_it_does_as_a_file() {
    let site = Site::new();
    let rows: Vec<_> = rows::all()
        .into_iter()
        .filter(|row| !row.windows(HOSTS_OWN.len()).any(|part| part == HOSTS_OWN))
        .collect();
    assert!(rows.len() >= 320, "{} rows", rows.len());
    let mut wrong = Vec::new();
    for row in &rows {
        let (wanted, got) = (site.reference_outside(row), site.built_outside(row));
        if wanted != got {
            let shown = String::from_utf8_lossy(row.get(..200).unwrap_or(row)).into_owned();
            wrong.push(format!("{shown:?}\n  as a file: {wanted:?}\n  built:     {got:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

#[test]
fn zsh_reads_the_command_as_a_file_and_nothing_before_it() {
    let host = Host::new();
    let session = host.session();
    fs::write(session.directories.home.join(".zshrc"), "echo read-zshrc\n").unwrap();
    fs::write(session.directories.home.join(".zshenv"), "echo read-zshenv\n").unwrap();
    let zsh = |command: &str| LaunchSpec { shell: Shell::Zsh, ..host.spec(command) };
    let output =
        host.run(&session, &zsh("print -r -- ${(U):-zsh} $ZSH_VERSION[1] 'a\\b'; mkdir d; cd d; exit 3"));
    assert_eq!((output.stdout.as_str(), output.ended.cause), ("ZSH 5 a\\b\n", Cause::Exited(3)));
    assert_eq!(output.ended.cwd, Some("/workspace/d".into()));
    for (command, wanted) in [
        ("cat <<E\n$((1 + 1))\nE\n# the end", "2\n"),
        ("trap 'echo bye' EXIT; exit 4", "bye\n"),
        ("alias ls='echo aliased'\nls -d /", "/\n"),
        ("exec echo gone", "gone\n"),
        ("read line; echo \"$? $line\"", "1 \n"),
    ] {
        assert_eq!(host.run(&session, &zsh(command)).stdout, wanted, "`{command}`");
    }
}
