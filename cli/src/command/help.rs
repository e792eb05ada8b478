//! The help pages. The first page groups subcommands by task. A subcommand's page contains its description, a
//! table of options with one line each, and examples. Also the scripts with which a shell completes subcommands.

use clap::{Args, Command};
use clap_complete::Shell;

use super::{Failure, output};

/// Subcommands by task. A subcommand in no group is shown last, under its own heading.
pub(super) const GROUPS: [(&str, &[&str]); 6] = [
    ("Start", &["dev", "mcp", "doctor", "completions"]),
    ("Run commands", &["run", "start", "attach", "wait", "detach", "signal", "kill"]),
    ("Inspect commands", &["ps", "show", "logs", "watch"]),
    ("Sessions and files", &["session", "cp", "ls", "stat", "diff", "port-forward", "quarantine"]),
    ("Policy", &["check", "policy", "approve", "rules", "profile"]),
    ("Operate", &["runners", "keys"]),
];
/// The heading for subcommands without a group.
const OTHERS: &str = "More";
/// The columns of a line of text.
const WIDTH: usize = 100;

/// Returns the command line with its help pages.
pub(super) fn with_pages(command: Command) -> Command {
    let groups = groups(&command);
    let template =
        format!("{{about}}\n\n{{usage-heading}} {{usage}}\n\n{groups}Options:\n{{options}}{{after-help}}");
    command.help_template(template).mut_subcommands(page)
}

/// Makes one page for both `-h` and `--help`: clap's long form would spread the table of options over several
/// screens.
fn page(command: Command) -> Command {
    let command = command.mut_subcommands(page);
    let Some(long) = command.get_long_about().map(ToString::to_string) else { return command };
    let text: Vec<String> = long.split("\n\n").map(wrapped).collect();
    let text = text.join("\n\n");
    let template = format!("{text}\n\n{{usage-heading}} {{usage}}\n\n{{all-args}}{{after-help}}");
    command.long_about(None::<&str>).help_template(template)
}

/// Wraps a paragraph to [`WIDTH`] columns.
fn wrapped(paragraph: &str) -> String {
    let mut text = String::new();
    let mut used = 0;
    for word in paragraph.split_whitespace() {
        let length = word.chars().count();
        if used > 0 {
            let fits = used + length < WIDTH;
            text.push(if fits { ' ' } else { '\n' });
            used = if fits { used + 1 } else { 0 };
        }
        text.push_str(word);
        used += length;
    }
    text
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

/// Print a completion script for a shell.
///
/// Use this to complete subcommands and options with Tab.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  airlock completions bash > airlock.bash && . ./airlock.bash   # in ~/.bashrc: . <(airlock completions bash)\n  airlock completions zsh > _airlock                            # into a directory of $fpath\n  airlock completions fish > airlock.fish                       # into ~/.config/fish/completions"
)]
pub(super) struct Completions {
    /// The shell.
    #[arg(value_parser = ["bash", "zsh", "fish"])]
    shell: String,
}

impl Completions {
    /// Prints the script for this command line.
    pub(super) fn run(&self, mut command_line: Command) -> Result<u8, Failure> {
        let shell = match self.shell.as_str() {
            "zsh" => Shell::Zsh,
            "fish" => Shell::Fish,
            _ => Shell::Bash,
        };
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut command_line, "airlock", &mut text);
        output::print_bytes(&text)?;
        Ok(0)
    }
}
