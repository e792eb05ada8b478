//! The reading of a command of PowerShell: the cmdlet that its name stands for, and its parameters.

use std::fmt::Write as _;

use airlock_escape as escape;

use crate::decision::PowerShellCommand;

/// Returns one line, or `None` if the command is not a cmdlet.
pub(super) fn line(command: &PowerShellCommand) -> Option<String> {
    let (name, cmdlet) = (command.name.as_ref()?, command.command.as_ref()?);
    let mut text = format!("`{}` is {cmdlet}", printable(name));
    for (index, parameter) in command.parameters.iter().enumerate() {
        let _ = write!(text, "{} -{}", if index == 0 { ":" } else { "," }, parameter.name);
        for value in &parameter.values {
            let _ = match value {
                Some(value) => write!(text, " `{}`", printable(value)),
                None => write!(text, " (not known)"),
            };
        }
    }
    Some(text)
}

fn printable(text: &str) -> String {
    escape::line(text.as_bytes())
}
