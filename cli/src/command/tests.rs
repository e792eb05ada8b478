//! Tests of argument parsing: accepted arguments, and the errors for invalid arguments.

use clap::error::ErrorKind;

use super::*;

fn parse(line: &[&str]) -> Result<Command, clap::Error> {
    Cli::try_parse_from(std::iter::once(&"airlock").chain(line)).map(|cli| cli.command)
}

#[test]
fn the_arguments_do_not_contradict_each_other() {
    Cli::command().debug_assert();
}

#[test]
fn wrong_arguments_are_named() {
    for (line, kind, says) in [
        (&["run"][..], ErrorKind::MissingRequiredArgument, "COMMAND"),
        (&["run", "--nonsense", "--", "ls"], ErrorKind::UnknownArgument, "--nonsense"),
        (&["run", "--timeout", "soon", "--", "ls"], ErrorKind::ValueValidation, "such as 30s"),
        (&["run", "--timeout", "0s", "--", "ls"], ErrorKind::ValueValidation, "longer than zero"),
        (&["run", "--mode", "loose", "--", "ls"], ErrorKind::InvalidValue, "accept_edits"),
        (&["run", "--on-ask", "maybe", "--", "ls"], ErrorKind::InvalidValue, "wait"),
        (
            &["run", "--on-ask", "fail", "--wait-approval", "ls"],
            ErrorKind::ArgumentConflict,
            "--wait-approval",
        ),
        (&["run", "--label", "x", "--", "ls"], ErrorKind::ValueValidation, "KEY=VALUE"),
        (&["run", "--session", "s", "--profile", "p", "ls"], ErrorKind::ArgumentConflict, "--profile"),
        (&["run", "--session", "s", "--local", "ls"], ErrorKind::ArgumentConflict, "--local"),
        (&["attach"], ErrorKind::MissingRequiredArgument, "ID"),
        (&["attach", "x", "--cursor", "?"], ErrorKind::ValueValidation, "base64"),
        (
            &["attach", "x", "--cursor", "AA==", "--from-offset", "1"],
            ErrorKind::ArgumentConflict,
            "--from-offset",
        ),
        (&["attach", "x", "--from-offset", "-1"], ErrorKind::UnknownArgument, "-1"),
        (&["wait", "x", "--timeout", "x"], ErrorKind::ValueValidation, "5m"),
        (&["kill"], ErrorKind::MissingRequiredArgument, "ID"),
        (&["ps", "--last", "0"], ErrorKind::ValueValidation, "0"),
        (&["ps", "--quiet", "--json"], ErrorKind::ArgumentConflict, "--json"),
        (&["check", "--profil", "x", "ls"], ErrorKind::UnknownArgument, "--profil"),
        (&["check"], ErrorKind::MissingRequiredArgument, "COMMAND"),
        (&["check", "--jsonl", "ls"], ErrorKind::ArgumentConflict, "--jsonl"),
        (&["check", "--shell", "fish", "ls"], ErrorKind::InvalidValue, "bash"),
        (&["approve", "x", "--yes", "--deny"], ErrorKind::ArgumentConflict, "--deny"),
        (&["approve", "--deny"], ErrorKind::MissingRequiredArgument, "ID"),
        (&["approve", "x", "--reason", "r"], ErrorKind::MissingRequiredArgument, "--deny"),
        (&["session", "create", "--idle-timeout", "x"], ErrorKind::ValueValidation, "5m"),
        (&["session", "close"], ErrorKind::MissingRequiredArgument, "ID"),
        (&["quarantine"], ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand, "restore"),
        (&["quarantine", "list"], ErrorKind::MissingRequiredArgument, "SESSION"),
        (&["quarantine", "list", "s", "--quiet", "--json"], ErrorKind::ArgumentConflict, "--json"),
        (&["quarantine", "restore", "s"], ErrorKind::MissingRequiredArgument, "ID"),
        (&["dev", "--listen", "here"], ErrorKind::ValueValidation, "here"),
        (&["nonsense"], ErrorKind::InvalidSubcommand, "nonsense"),
    ] {
        let error = parse(line).expect_err(&line.join(" "));
        assert_eq!(error.kind(), kind, "{line:?}: {error}");
        assert_eq!(error.exit_code(), i32::from(failure::USAGE), "{line:?}");
        assert!(error.to_string().contains(says), "{line:?}: {error}");
    }
}

#[test]
fn a_command_may_look_like_arguments() {
    for line in [
        &["run", "--", "ls", "-la", "--json"][..],
        &["run", "ls", "-la", "--json"],
        &["check", "git", "push", "--force"],
        &["check", "--profile", "demo", "--", "-x"],
    ] {
        assert!(parse(line).is_ok(), "{line:?}");
    }
}
