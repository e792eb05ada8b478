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
        "in a session a command runs with: airlock run -s SESSION -- 'COMMAND'",
    ),
    (
        &["stop", "terminate", "cancel"],
        "a command is ended with: airlock kill ID; a session with: airlock session close ID",
    ),
    (&["rm", "delete", "remove"], "a session goes with its workspace: airlock session close ID"),
    (
        &["inspect", "describe", "get", "status"],
        "everything about one command: airlock show ID; lists: airlock ps, airlock session list",
    ),
    (&["cat"], "the contents of a file: airlock cp SESSION:PATH -"),
    (
        &["scp", "rsync", "put", "upload", "download", "push", "pull"],
        "files go to a session and back with: airlock cp",
    ),
    (&["tail", "grep"], "output is read with: airlock logs --follow ID, --tail COUNT, --grep PATTERN"),
    (
        &["top", "stats", "history", "events"],
        "what runs: airlock ps; what ran: airlock ps --all; as it happens: airlock watch",
    ),
    (&["create", "new"], "a workspace that stays: airlock session create"),
    (&["version"], "airlock --version"),
];

/// Options of other programs: the subcommands they are given to, the options, and the tip.
const OPTIONS: [(&[&str], &[&str], &str); 11] = [
    (&["run"], &["-d", "--detach"], "to leave a command running: airlock run --background, or airlock start"),
    (&["start"], &["-t", "--tty"], "a terminal is had with: airlock run -it"),
    (&["run", "start"], &["--rm"], "without --session the workspace is thrown away anyway; leave it out"),
    (&["run", "start"], &["-n", "--name"], "a command has an id; mark it with: --label KEY=VALUE"),
    (
        &["run", "start"],
        &["-v", "--volume", "--mount"],
        "files go into a session's workspace with: airlock cp",
    ),
    (&["run", "start"], &["-w", "--workdir", "--cwd"], "begin the command with: cd DIR &&"),
    (
        &["kill"],
        &["-s", "-9", "-1", "-2", "-15", "--signal"],
        "one signal is sent with: airlock signal -s NAME ID; kill itself ends with SIGKILL what does not end by itself",
    ),
    (&["signal"], &["-1", "-2", "-9", "-15"], "name it with: -s NAME or -s NUMBER"),
    (
        &["logs"],
        &["-t", "--since", "--until", "--timestamps"],
        "output is kept as bytes, without times; airlock show ID says when the command ran",
    ),
    (
        &["cp"],
        &["-a", "-p"],
        "leave it out: folders are copied whole, with modes and times and without owners",
    ),
    (
        &["ps", "session", "ls", "runners"],
        &["-o", "--output", "--format", "-f", "--filter"],
        "for other programs: --json, and `jq` to choose from it",
    ),
];

/// The tip for a copy with more than one source.
const SEVERAL: &str = "one SRC at a time: a folder, or tar -c A B | airlock cp - SESSION:PATH/";
/// The tip for an extra argument of `logs`. `-n 5` means five lines in tail, but here `-n` is a flag, as
/// in grep.
const ONE: &str =
    "one execution at a time; the last lines are --tail COUNT, and -n numbers matches as with grep";

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
    use super::super::help;
    use super::*;

    #[test]
    fn nothing_is_called_foreign_that_is_here() {
        let root = help::command();
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
