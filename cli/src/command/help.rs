//! The first page of help: subcommands by what one wants to do, instead of in one long list.

use clap::{Command, CommandFactory as _};

use super::Cli;

/// Subcommands by what they are for. One that is in no group comes last, under its own heading.
pub(super) const GROUPS: [(&str, &[&str]); 6] = [
    ("Start", &["dev", "doctor", "completions"]),
    ("Run commands", &["run", "start", "attach", "wait", "detach", "signal", "kill"]),
    ("Look at them", &["ps", "show", "logs", "watch"]),
    ("Sessions and their files", &["session", "cp", "ls", "stat", "diff"]),
    ("Policy", &["check", "approve", "profile"]),
    ("Operate", &["runners", "keys"]),
];
/// The heading of what is in no group.
const OTHERS: &str = "More";

/// The whole command line.
pub(super) fn command() -> Command {
    let command = Cli::command();
    let groups = groups(&command);
    let template =
        format!("{{about}}\n\n{{usage-heading}} {{usage}}\n\n{groups}Options:\n{{options}}{{after-help}}");
    command.help_template(template)
}

fn groups(command: &Command) -> String {
    let lines = |names: &mut dyn Iterator<Item = &str>| -> String {
        names.filter_map(|name| command.find_subcommand(name)).map(line).collect()
    };
    let mut text = String::new();
    for (heading, names) in GROUPS {
        let lines = lines(&mut names.iter().copied());
        if !lines.is_empty() {
            text.push_str(&format!("{heading}:\n{lines}\n"));
        }
    }
    let grouped = |name: &str| GROUPS.iter().any(|(_, names)| names.contains(&name));
    let others = lines(&mut command.get_subcommands().map(Command::get_name).filter(|name| !grouped(name)));
    if !others.is_empty() {
        text.push_str(&format!("{OTHERS}:\n{others}\n"));
    }
    text
}

fn line(command: &Command) -> String {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    format!("  {:<12} {about}\n", command.get_name())
}
