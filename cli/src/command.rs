//! The `airlock` command: its arguments, and one module for each subcommand. [`crate::render`] formats results;
//! [`airlock_client`] talks to servers.

mod approve;
mod args;
mod attach;
mod check;
mod connect;
mod cp;
mod dev;
mod diff;
mod doctor;
mod elsewhere;
mod failure;
mod follow;
mod help;
mod interrupt;
mod keys;
mod list;
mod logs;
mod ls;
mod mcp;
mod network;
mod output;
mod pager;
mod place;
mod policy;
mod port_forward;
mod profile;
mod quarantine;
mod rules;
mod run;
mod runners;
mod session;
mod signal;
mod spec;
mod suggest_network;
mod terminal;
mod trace;
mod wait;

use std::{io::Write as _, process::ExitCode, time::Duration};

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::render::escape;
use failure::Failure;

/// The time that the process waits at its end for a blocked write to standard output or standard error.
const SHUTDOWN: Duration = Duration::from_millis(200);

/// Run shell commands for AI agents on remote hosts, each authorized by policy and isolated in a sandbox.
#[derive(Debug, Parser)]
#[command(
    name = "airlock",
    version,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "First steps:\n  airlock dev                         # in one terminal: start a server and a runner\n  airlock run -- 'ls -la | head'      # in another terminal: run a command\n  airlock doctor                      # if something does not work: find the problem and its remedy\n\n`airlock SUBCOMMAND --help` shows details and examples.\n\nExit codes of every subcommand: 0 success, 1 failure, 2 wrong usage. `run`, `attach` and `wait` return the\ncommand's exit code (see `airlock run --help`). `check` returns 0, 10 or 11."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Dev(dev::Dev),
    Run(Box<run::Run>),
    Start(Box<run::Start>),
    Logs(logs::Logs),
    Attach(attach::Attach),
    Wait(wait::Wait),
    Ps(list::Ps),
    Show(list::Show),
    Kill(wait::Kill),
    Signal(signal::Signal),
    Detach(signal::Detach),
    Watch(attach::Watch),
    #[command(subcommand)]
    Session(session::Session),
    Cp(cp::Cp),
    Ls(ls::Ls),
    Diff(diff::Diff),
    PortForward(port_forward::PortForward),
    #[command(subcommand)]
    Quarantine(quarantine::Quarantine),
    Check(check::Check),
    #[command(subcommand)]
    Policy(policy::Policy),
    Approve(approve::Approve),
    #[command(subcommand)]
    Rules(rules::Rules),
    #[command(subcommand)]
    Profile(profile::Profile),
    Doctor(doctor::Doctor),
    Completions(help::Completions),
    Keys(keys::Keys),
    Mcp(Box<mcp::Mcp>),
    Runners(runners::Runners),
}

/// Returns the whole command line: subcommands, options and help texts. Tools and tests use it.
#[must_use]
pub fn command_line() -> clap::Command {
    help::with_pages(Cli::command())
}

/// Parses the arguments of the process, runs the subcommand and returns its exit code.
#[must_use]
pub fn main() -> ExitCode {
    let parsed = command_line().try_get_matches().and_then(|matches| {
        let name = matches.subcommand_name().map(str::to_owned);
        Cli::from_arg_matches(&matches).map(|cli| (cli, name))
    });
    let (cli, name) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => {
            let error = elsewhere::explained(error);
            say_usage(&error);
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(failure::USAGE));
        }
    };
    let done = match cli.command {
        // These subcommands need neither the async runtime nor TLS, and start faster without them.
        Command::Check(check) => check.run(),
        Command::Policy(policy::Policy::Test(test)) => test.run(),
        Command::Policy(policy::Policy::Import(import)) => import.run(),
        Command::Keys(keys) => keys.run(),
        Command::Completions(completions) => completions.run(command_line()),
        // The server and the runner of `airlock dev` have their own telemetry.
        dev @ Command::Dev(_) => in_runtime(dev, None),
        // The protocol's library puts messages into its events.
        mcp @ Command::Mcp(_) => in_runtime(mcp, None),
        command => in_runtime(command, name),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            output::report(&failure);
            ExitCode::from(failure.code())
        }
    }
}

/// Prints a usage error or the help. If an argument contains a character that hides or reorders text, the message is
/// printed without colours and escaped.
fn say_usage(error: &clap::Error) {
    let hides = std::env::args_os().any(|arg| arg.to_string_lossy().contains(escape::hides));
    // A failed write to standard error cannot be reported.
    let _ = match hides && error.use_stderr() {
        true => write!(std::io::stderr(), "{}", escape::guard(&error.render().to_string())),
        false => error.print(),
    };
}

fn in_runtime(command: Command, name: Option<String>) -> Result<u8, Failure> {
    // An error means that a provider is already installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(format!("cannot start the async runtime: {error}")))?;
    let done = runtime.block_on(trace::traced(name, dispatch(command)));
    runtime.shutdown_timeout(SHUTDOWN);
    done
}

#[expect(clippy::cognitive_complexity, reason = "one line for each command")]
async fn dispatch(command: Command) -> Result<u8, Failure> {
    match command {
        Command::Dev(dev) => dev.run().await,
        // In a box, because it is the largest of these futures.
        Command::Run(run) => Box::pin(run.run()).await,
        Command::Start(start) => start.run().await,
        Command::Logs(logs) => logs.run().await,
        Command::Attach(attach) => attach.run().await,
        Command::Wait(wait) => wait.run().await,
        Command::Ps(ps) => ps.run().await,
        Command::Show(show) => show.run().await,
        Command::Kill(kill) => kill.run().await,
        Command::Signal(signal) => signal.run().await,
        Command::Detach(detach) => detach.run().await,
        Command::Watch(watch) => watch.run().await,
        Command::Session(session) => session.run().await,
        Command::Cp(cp) => cp.run().await,
        Command::Ls(ls) => ls.run().await,
        Command::Quarantine(quarantine) => quarantine.run().await,
        Command::Diff(diff) => diff.run().await,
        Command::PortForward(forward) => forward.run().await,
        Command::Check(check) => check.run(),
        Command::Policy(policy) => policy.run().await,
        Command::Approve(approve) => approve.run().await,
        Command::Rules(rules) => rules.run().await,
        Command::Profile(profile) => profile.run().await,
        Command::Doctor(doctor) => doctor.run().await,
        Command::Completions(completions) => completions.run(command_line()),
        Command::Keys(keys) => keys.run(),
        Command::Mcp(mcp) => mcp.run().await,
        Command::Runners(runners) => runners.run().await,
    }
}

#[cfg(test)]
mod tests {
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
            (&["port-forward", "x"], ErrorKind::MissingRequiredArgument, "PORT"),
            (&["port-forward", "x", "8000:http"], ErrorKind::ValueValidation, "not a port"),
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
}
