//! `airlock completions`: scripts with which a shell completes the other subcommands.

use clap::Args;
use clap_complete::Shell;

use super::{Failure, output};

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
    pub(super) fn run(&self, mut command_line: clap::Command) -> Result<u8, Failure> {
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
