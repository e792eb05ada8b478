//! Tips for users of docker, kubectl, ssh and scp: the Airlock equivalent of an unknown subcommand or
//! option. The tips change only the error message; the arguments are still refused.

use clap::{
    builder::StyledStr,
    error::{ContextKind, ContextValue, ErrorKind},
};

/// Subcommands of other programs, with the tip for them.
const SUBCOMMANDS: [(&[&str], &str); 10] = [
    (
        &["exec", "ssh", "sh", "bash", "shell"],
        "to run a command in a session: airlock run -s SESSION -- 'COMMAND'",
    ),
    (
        &["stop", "terminate", "cancel"],
        "to end a command: airlock kill ID; to close a session: airlock session close ID",
    ),
    (&["rm", "delete", "remove"], "to remove a session and its workspace: airlock session close ID"),
    (
        &["inspect", "describe", "get", "status"],
        "to show one command: airlock show ID; to list: airlock ps, airlock session list",
    ),
    (&["cat"], "to print a file: airlock cp SESSION:PATH -"),
    (
        &["scp", "rsync", "put", "upload", "download", "push", "pull"],
        "to copy files to or from a session: airlock cp",
    ),
    (&["tail", "grep"], "to read output: airlock logs ID, with --follow, --tail COUNT or --grep PATTERN"),
    (
        &["top", "stats", "history", "events"],
        "running commands: airlock ps; all commands: airlock ps --all; live events: airlock watch",
    ),
    (&["create", "new"], "to create a workspace for several commands: airlock session create"),
    (&["version"], "to print the version: airlock --version"),
];

/// Options of other programs: the subcommands they are given to, the options, and the tip.
const OPTIONS: [(&[&str], &[&str], &str); 11] = [
    (
        &["run"],
        &["-d", "--detach"],
        "to run a command in the background: airlock run --background, or airlock start",
    ),
    (&["start"], &["-t", "--tty"], "to use a terminal: airlock run -it"),
    (&["run", "start"], &["--rm"], "not needed: without --session, the workspace is always removed"),
    (
        &["run", "start"],
        &["-n", "--name"],
        "a command has an ID instead of a name; to add a label: --label KEY=VALUE",
    ),
    (&["run", "start"], &["-v", "--volume", "--mount"], "to copy files to a session's workspace: airlock cp"),
    (
        &["run", "start"],
        &["-w", "--workdir", "--cwd"],
        "to change the directory, begin the command with: cd DIR &&",
    ),
    (
        &["kill"],
        &["-s", "-9", "-1", "-2", "-15", "--signal"],
        "to send one signal: airlock signal -s NAME ID; kill sends SIGTERM, and SIGKILL after a grace period",
    ),
    (&["signal"], &["-1", "-2", "-9", "-15"], "to choose the signal: -s NAME or -s NUMBER"),
    (
        &["logs"],
        &["-t", "--since", "--until", "--timestamps"],
        "output is stored without times; to see when the command ran: airlock show ID",
    ),
    (
        &["cp"],
        &["-a", "-p"],
        "not needed: directories are always copied with modes and times, and without owners",
    ),
    (
        &["ps", "session", "ls", "runners"],
        &["-o", "--output", "--format", "-f", "--filter"],
        "for scripts: --json, with `jq` to select fields",
    ),
];

/// The tip for a copy with more than one source.
const SEVERAL: &str = "only one SRC at a time: use a directory, or tar -c A B | airlock cp - SESSION:PATH/";
/// The tip for an extra argument of `logs`. `-n 5` means five lines in tail, but here `-n` is a flag, as
/// in grep.
const ONE: &str =
    "only one execution at a time; for the last lines use --tail COUNT; -n numbers matches, as in grep";

/// Returns the error with a better tip if there is one, and without a misleading tip.
pub(super) fn explained(mut error: clap::Error) -> clap::Error {
    let tip = match error.kind() {
        ErrorKind::InvalidSubcommand => of_subcommand(&text(&error, ContextKind::InvalidSubcommand)),
        ErrorKind::UnknownArgument => of_option(&subcommand(), &text(&error, ContextKind::InvalidArg)),
        _ => None,
    };
    if let Some(tip) = tip {
        for kind in [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg] {
            error.remove(kind);
        }
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
    } else if error.get(ContextKind::SuggestedArg).is_some() {
        // clap's tip explains how to pass a misspelt option as a value, which does not help.
        error.remove(ContextKind::Suggested);
    }
    error
}

fn text(error: &clap::Error, kind: ContextKind) -> String {
    error.get(kind).map(ToString::to_string).unwrap_or_default()
}

/// Returns the subcommand as it was typed.
fn subcommand() -> String {
    std::env::args_os().nth(1).map(|word| word.to_string_lossy().into_owned()).unwrap_or_default()
}

fn of_subcommand(word: &str) -> Option<&'static str> {
    SUBCOMMANDS.iter().find(|(words, _)| words.contains(&word)).map(|(_, tip)| *tip)
}

fn of_option(subcommand: &str, option: &str) -> Option<&'static str> {
    let of = |(subcommands, options, _): &&(&[&str], &[&str], &str)| {
        subcommands.contains(&subcommand) && options.contains(&option)
    };
    if let Some((.., tip)) = OPTIONS.iter().find(of) {
        return Some(tip);
    }
    match subcommand {
        _ if option.starts_with('-') => None,
        "cp" => Some(SEVERAL),
        "logs" => Some(ONE),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::command_line;
    use super::*;

    #[test]
    fn nothing_is_called_foreign_that_is_here() {
        let root = command_line();
        for word in SUBCOMMANDS.iter().flat_map(|(words, _)| words.iter()) {
            assert!(root.find_subcommand(word).is_none(), "{word}");
        }
        for (subcommands, options, _) in &OPTIONS {
            for name in *subcommands {
                let command = root.find_subcommand(name).unwrap();
                for option in *options {
                    let known = command.get_arguments().any(|arg| {
                        arg.get_short().is_some_and(|short| **option == format!("-{short}"))
                            || arg.get_long().is_some_and(|long| **option == format!("--{long}"))
                    });
                    assert!(!known, "{name} {option}");
                }
            }
        }
    }
}
