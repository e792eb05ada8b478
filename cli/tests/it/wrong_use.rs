//! Tests of wrong usage of each option of each subcommand. The exit code is 2, standard output is empty, and the
//! message states the problem, its place and the remedy. An option without a case fails the test.

use std::collections::BTreeSet;

use clap::{Arg, ArgAction, Command};

use crate::support::{airlock, stderr};

/// Wrong values and a part of the expected message, by the option's long name or the argument's value name.
const BAD: &[(&str, &str, &str)] = &[
    ("after-context", "many", "whole number"),
    ("before-context", "many", "whole number"),
    ("client", "lead", "FILE=NAME"),
    ("context", "many", "whole number"),
    ("count", "many", "whole number"),
    ("cursor", "?", "base64"),
    ("cwd", "src", "such as /workspace/src"),
    ("detach-keys", "ctrl-1", "such as ctrl-p,ctrl-q"),
    ("from-offset", "x", "whole number"),
    ("head", "x", "whole number"),
    ("http", "here", "such as 127.0.0.1:7443"),
    ("idle-timeout", "soon", "such as 30s"),
    ("inline-limit", "0", "whole number"),
    ("label", "x", "KEY=VALUE"),
    ("last", "0", "whole number"),
    ("listen", "here", "such as 127.0.0.1:7443"),
    ("max-count", "0", "whole number"),
    ("max-sessions", "0", "whole number"),
    ("max-timeout", "soon", "such as 30s"),
    ("range", "x", "such as"),
    ("runner-label", "x", "KEY=VALUE"),
    ("session", "", "session list"),
    ("signal", "NONE", "use one of"),
    ("tail", "x", "whole number"),
    ("timeout", "soon", "such as 30s"),
    ("token", "a/b", "such as lead"),
    ("umask", "8", "such as 027"),
    ("wait", "soon", "such as 30s"),
    ("yield-after", "later", "such as 30s"),
];

/// Options that accept any text or are checked later: paths, names, IDs, patterns. Their errors are tested
/// with the subcommands.
const ANY: &[&str] = &[
    "address",
    "base",
    "bind",
    "bwrap",
    "ca",
    "cases",
    "cert",
    "description",
    "env",
    "exclude",
    "grep",
    "host",
    "http-token-file",
    "key",
    "log",
    "name",
    "network-allow",
    "otlp",
    "output",
    "prefix",
    "profile",
    "profiles",
    "reason",
    "request-id",
    "rootfs",
    "rule",
    "server",
    "state",
    "token-file",
    "upload",
    "COMMAND",
    "DIR",
    "DST",
    "ID",
    "NAME",
    "NAME|FILE",
    "SESSION",
    "SESSION[:PATH]",
    "SETTINGS",
    "SRC",
    "[LOCAL:]PORT",
];

/// Terms of Rust that a message must not contain.
const FOREIGN: [&str; 9] =
    ["Some(", "Err(", "ParseIntError", "invalid digit", "u16", "u32", "u64", "usize", "not in 1.."];

/// Runs a wrong command line, checks the properties of every such error, and returns the message.
fn refused(line: &[&str]) -> String {
    let output = airlock(line).output().unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{line:?}: {said}");
    assert!(output.stdout.is_empty(), "{line:?} writes to standard output");
    assert!(said.starts_with("error: ") || said.starts_with("airlock: "), "{line:?}: {said}");
    let foreign = FOREIGN.iter().find(|word| said.contains(**word));
    assert!(foreign.is_none(), "{line:?} says `{foreign:?}`: {said}");
    said
}

/// The refusals of wrong command lines. Many subcommands share options: a process starts for the first subcommand with an
/// option, and for the others only the parser runs.
struct Refusals {
    parser: Command,
    seen: BTreeSet<(String, String)>,
}

impl Refusals {
    fn new() -> Self {
        Self { parser: airlock_cli::command::command_line(), seen: BTreeSet::new() }
    }

    /// Reports whether no subcommand before had this option.
    fn is_new(&mut self, arg: &Arg) -> bool {
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        self.seen.insert((arg.get_long().unwrap_or_default().to_owned(), help))
    }

    fn of(&self, line: &[&str], is_new: bool) -> String {
        if is_new {
            return refused(line);
        }
        let words = std::iter::once("airlock").chain(line.iter().copied());
        self.parser.clone().try_get_matches_from(words).unwrap_err().to_string()
    }

    fn are_of_many_options(&self) {
        assert!(self.seen.len() > 60, "{} different options", self.seen.len());
    }
}

/// Returns each subcommand with its path.
fn subcommands(command: &Command, path: &[String], found: &mut Vec<(Vec<String>, Command)>) {
    for child in command.get_subcommands().filter(|child| child.get_name() != "help") {
        let path = [path, &[child.get_name().to_owned()]].concat();
        subcommands(child, &path, found);
        found.push((path, child.clone()));
    }
}

fn all() -> Vec<(Vec<String>, Command)> {
    let mut found = Vec::new();
    let mut root = airlock_cli::command::command_line();
    root.build();
    subcommands(&root, &[], &mut found);
    assert!(found.len() > 20, "{}", found.len());
    found
}

fn options(command: &Command) -> impl Iterator<Item = (&Arg, &str)> {
    command
        .get_arguments()
        .filter_map(|arg| Some((arg, arg.get_long()?)))
        .filter(|(_, long)| !matches!(*long, "help" | "version"))
}

fn takes_value(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Set | ArgAction::Append)
}

/// Returns a value that an option accepts.
fn good(arg: &Arg, long: &str) -> String {
    if let Some(value) = arg.get_possible_values().first() {
        return value.get_name().to_owned();
    }
    let table = [
        ("cursor", "AA=="),
        ("cwd", "/workspace"),
        ("http", "127.0.0.1:0"),
        ("idle-timeout", "5m"),
        ("label", "a=b"),
        ("listen", "127.0.0.1:0"),
        ("max-timeout", "5m"),
        ("range", "0-1"),
        ("runner-label", "a=b"),
        ("signal", "TERM"),
        ("timeout", "5m"),
        ("umask", "027"),
        ("wait", "5m"),
        ("yield-after", "15s"),
    ];
    let numbers = [
        "after-context",
        "before-context",
        "context",
        "count",
        "from-offset",
        "head",
        "inline-limit",
        "last",
        "max-count",
        "max-sessions",
        "tail",
    ];
    let listed = table.iter().find(|(name, _)| *name == long).map(|(_, value)| (*value).to_owned());
    listed.unwrap_or_else(|| if numbers.contains(&long) { "1" } else { "x" }.to_owned())
}

fn with<'a>(path: &'a [String], more: &[&'a str]) -> Vec<&'a str> {
    path.iter().map(String::as_str).chain(more.iter().copied()).collect()
}

#[test]
fn a_wrong_port_is_told_with_a_remedy() {
    for (ports, what) in [
        ("a:8000", "`a` is not a port"),
        ("65536", "`65536` is not a port"),
        ("0", "the port of the session is 0"),
    ] {
        let said = refused(&["port-forward", "session", ports]);
        assert!(said.contains(what) && said.contains("; use "), "{ports}: {said}");
    }
}

#[test]
fn every_option_has_a_case_and_each_wrong_value_is_told_with_a_remedy() {
    let (mut without, mut seen) = (Vec::new(), Vec::new());
    let mut refusals = Refusals::new();
    for (path, command) in all() {
        for (arg, long) in options(&command).filter(|(arg, _)| takes_value(arg)) {
            seen.push(long.to_owned());
            let is_new = refusals.is_new(arg);
            let option = format!("--{long}");
            let last = with(&path, &[&option]);
            let said = refusals.of(&last, is_new);
            assert!(said.contains(&option) && said.contains("value"), "{last:?}: {said}");
            if !arg.get_possible_values().is_empty() {
                let line = with(&path, &[&option, "quite-unknown"]);
                let said = refusals.of(&line, is_new);
                assert!(
                    said.contains("quite-unknown") && said.contains("possible values"),
                    "{line:?}: {said}"
                );
            } else if let Some((_, value, says)) = BAD.iter().find(|(name, ..)| *name == long) {
                let line = with(&path, &[&option, value]);
                let said = refusals.of(&line, is_new);
                assert!(said.contains(&option) && said.contains(says), "`{says}` in {line:?}: {said}");
            } else if !ANY.contains(&long) {
                without.push(format!("{} --{long}", path.join(" ")));
            }
        }
        for arg in command.get_positionals() {
            let name = arg.get_value_names().and_then(|names| names.first()).map(ToString::to_string);
            let name = name.unwrap_or_default();
            if arg.get_possible_values().is_empty() && !ANY.contains(&name.as_str()) {
                without.push(format!("{} {name}", path.join(" ")));
            }
            seen.push(name);
        }
    }
    refusals.are_of_many_options();
    let stale: Vec<&&str> = ANY.iter().filter(|name| !seen.iter().any(|one| one == *name)).collect();
    assert!(stale.is_empty(), "no command has the old name {stale:?}");
    assert!(without.is_empty(), "no case for:\n  {}", without.join("\n  "));
}

#[test]
fn every_misspelt_option_is_answered_with_the_one_that_was_meant() {
    let mut refusals = Refusals::new();
    for (path, command) in all() {
        for (arg, long) in options(&command) {
            let is_new = refusals.is_new(arg);
            let wrong = format!("--{long}x");
            let line = with(&path, &[&wrong, "y"]);
            let said = refusals.of(&line, is_new);
            assert!(said.contains(&format!("'{wrong}'")), "{line:?}: {said}");
            assert!(said.contains(&format!("'--{long}'")), "{line:?} suggests it: {said}");
            // The program removes this part of the parser's answer.
            assert!(!is_new || !said.contains("as a value"), "{line:?}: {said}");
            if !takes_value(arg) {
                let given = format!("--{long}=yes");
                let line = with(&path, &[&given]);
                assert!(refusals.of(&line, is_new).contains(&format!("--{long}")), "{line:?}");
            } else if matches!(arg.get_action(), ArgAction::Set) {
                let (option, value) = (format!("--{long}"), good(arg, long));
                let line = with(&path, &[&option, &value, &option, &value]);
                assert!(refusals.of(&line, is_new).contains("cannot be used multiple times"), "{line:?}");
            }
        }
    }
    refusals.are_of_many_options();
}

#[test]
fn every_pair_that_contradicts_itself_is_named() {
    let mut pairs = 0;
    for (path, command) in all() {
        for (arg, long) in options(&command) {
            for other in command.get_arg_conflicts_with(arg) {
                let Some(second) = other.get_long() else { continue };
                let mut line = with(&path, &[]).into_iter().map(str::to_owned).collect::<Vec<_>>();
                for (arg, long) in [(arg, long), (other, second)] {
                    line.push(format!("--{long}"));
                    line.extend(takes_value(arg).then(|| good(arg, long)));
                }
                let line: Vec<&str> = line.iter().map(String::as_str).collect();
                let said = refused(&line);
                assert!(
                    said.contains("cannot be used with") || said.contains("required"),
                    "{line:?}: {said}"
                );
                pairs += 1;
            }
        }
    }
    assert!(pairs > 10, "{pairs}");
}

#[test]
fn every_missing_argument_is_named() {
    for (path, command) in all() {
        let required: Vec<String> = command
            .get_positionals()
            .filter(|arg| arg.is_required_set())
            .filter_map(|arg| Some(arg.get_value_names()?.first()?.to_string()))
            .collect();
        if required.is_empty() {
            continue;
        }
        let said = refused(&with(&path, &[]));
        for name in required {
            assert!(said.contains(&name), "{path:?} asks for {name}: {said}");
        }
        assert!(said.contains("--help"), "{said}");
    }
}

#[test]
fn a_misspelt_subcommand_is_answered_with_the_one_that_was_meant() {
    for (path, command) in all() {
        let Some((last, parents)) = path.split_last() else { continue };
        let wrong = format!("{last}x");
        let line = with(parents, &[&wrong]);
        // If a subcommand is optional, the word can also be an argument.
        let said = refused(&line);
        assert!(
            said.contains(&wrong) && said.contains(&format!("'{}'", command.get_name())),
            "{line:?}: {said}"
        );
    }
    for line in [&["nonsense"][..], &["--nonsense"], &["session", "nonsense"]] {
        assert!(refused(line).contains("--help"), "{line:?}");
    }
}

#[test]
fn an_empty_command_line_prints_the_help() {
    let output = airlock(&[]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty() && stderr(&output).contains("Run commands:"), "{}", stderr(&output));
}

/// Subcommands and options of other tools get a tip with the Airlock equivalent.
#[test]
fn words_of_other_tools_are_answered_with_the_ones_of_here() {
    let id = "01234567-89ab-7def-8123-456789abcdef";
    for (line, piece) in [
        (&["exec", "-it", id, "--", "bash"][..], "airlock run -s SESSION"),
        (&["stop", id], "airlock kill"),
        (&["describe", id], "airlock show"),
        (&["cat", "x"], "airlock cp SESSION:PATH -"),
        (&["start", "-t", "--", "bash"], "airlock run -it"),
        (&["run", "-d", "--", "sleep 1"], "airlock start"),
        (&["run", "--rm", "--", "ls"], "always removed"),
        (&["run", id, "--", "ls"], "--session 01234567"),
        (&["start", id, "ls"], "--session 01234567"),
        (&["kill", "-9", id], "airlock signal -s"),
        (&["logs", "-n", "5", id], "--tail COUNT"),
        (&["logs", "--since", "5m", id], "airlock show"),
        (&["ps", "--format", "json"], "--json"),
        (&["cp", "a", "b", "01234567-89ab-7def-8123-456789abcdef:"], "one SRC at a time"),
        (&["cp", "src", id], "use: 01234567-89ab-7def-8123-456789abcdef:"),
    ] {
        let said = refused(line);
        assert!(said.contains(piece), "`{piece}` in {line:?}: {said}");
        assert!(!said.contains("as a value"), "{line:?}: {said}");
    }
}

/// Combinations that clap cannot check.
#[test]
fn conflicting_options_are_reported() {
    for (line, piece) in [
        (&["ps", "--token-file", "t"][..], "--address"),
        (&["ps", "--address", "https://h:1", "--cert", "c"], "--key"),
        (
            &[
                "ps",
                "--address",
                "https://h:1",
                "--ca",
                "/dev/null",
                "--token-file",
                "t",
                "--cert",
                "c",
                "--key",
                "k",
            ],
            "no certificate in PEM format",
        ),
        (&["doctor", "--bwrap", "/bin/true"], "--host"),
        (&["approve", "x", "--reason", "r"], "--deny"),
        (&["approve", "--remember", "session"], "<ID>"),
        (&["approve", "x", "--remember", "world"], "[possible values: session, tenant]"),
        (&["approve", "x", "--rule", "Bash(ls)"], "--remember"),
        (&["rules", "list", "--json", "--quiet"], "cannot be used with"),
        (&["rules", "remove"], "<ID>"),
        (&["runners", "--json", "drain", "x"], "cannot be used with"),
        (&["completions", "tcsh"], "[possible values: bash, zsh, fish]"),
        (&["run", "--env", "=x", "--", "true"], "the name before `=` is empty"),
        (&["dev", "--base", "repo"], "NAME=DIR"),
    ] {
        let output = airlock(line).env("HOME", "/nonexistent").output().unwrap();
        let said = stderr(&output);
        assert!(matches!(output.status.code(), Some(1 | 2)), "{line:?}: {said}");
        assert!(output.stdout.is_empty() && said.contains(piece), "`{piece}` in {line:?}: {said}");
    }
}
