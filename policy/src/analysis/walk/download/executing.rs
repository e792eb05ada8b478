//! The parts that run code, and whether the code comes from another host.

use airlock_powershell::{Command, Member, Span, Target, Value};

use super::{Downloads, arguments, file_name};
use crate::analysis::found::Found;
use crate::powershell::folded;
use crate::tables::{self, Runs, names};

/// Flags of interpreters with a text to run as the value.
const TEXT_FLAGS: &[&str] = &[
    "-c",
    "-e",
    "-p",
    "-r",
    "/c",
    "/k",
    "-ec",
    "-enc",
    "-encodedcommand",
    "-command",
    "--eval",
    "--command",
    "--print",
];
/// Flags after which an interpreter reads its program from its input.
const INPUT_FLAGS: &[&str] = &["-", "-s", "-file", "-f", "-c", "-command"];

impl Downloads<'_> {
    /// Returns the places of the parts that run something from another host.
    pub(super) fn executing(&self) -> Vec<Span> {
        let commands = self.commands().filter(|(command, found)| self.executes(command, found));
        let mut places: Vec<Span> = commands.map(|(command, _)| command.span).collect();
        let members = self.script.members.iter().filter(|member| self.calls(member));
        places.extend(members.map(|member| member.span));
        let types = self.script.types.iter().filter(|used| {
            let is_code =
                matches!(folded(&used.name).as_str(), "scriptblock" | "management.automation.scriptblock");
            is_code && self.flow.is_tainted(self.flow.rest_of_statement(used.span.end))
        });
        places.extend(types.map(|used| used.span));
        places
    }

    fn executes(&self, command: &Command, found: &[Found]) -> bool {
        let Some(own) = found.first() else { return false };
        if command.name().is_none() && self.is_named_by_download(command) {
            return true;
        }
        if found.iter().any(|found| self.runs_file(found)) {
            return true;
        }
        let tainted = || arguments(command).into_iter().any(|argument| self.flow.is_tainted(argument));
        if own.folded_names().iter().any(|name| {
            let is_text = name == "invoke-expression";
            names::executes(name) && (tainted() || (is_text && self.flow.is_fed(command)))
        }) {
            return true;
        }
        let interpreters = || found.iter().filter(|found| is_interpreter(found));
        interpreters().any(|found| has_text_flag(found) && tainted())
            || (interpreters().any(reads_program) && self.flow.is_fed(command))
    }

    /// Reports whether a value from another host is the command: `& $x`, `& (iwr ...)`.
    fn is_named_by_download(&self, command: &Command) -> bool {
        let name = command.elements.first().and_then(|element| match element {
            airlock_powershell::Element::Argument(argument) => Some(argument),
            airlock_powershell::Element::Parameter { .. } => None,
        });
        let name = name.filter(|name| !matches!(name.value, Value::ScriptBlock));
        name.is_some_and(|name| {
            self.flow.is_tainted(name.span) || self.files.contains(&file_name(self.flow.written(name.span)))
        })
    }

    /// Reports whether the command runs a file from another host.
    fn runs_file(&self, found: &Found) -> bool {
        let Some((name, rest)) = found.words.split_first() else { return false };
        let is_file = |text: &str| {
            let name = file_name(text);
            let last = name.rsplit('/').next().unwrap_or_default();
            self.files.contains(&name)
                || (name == last || text.starts_with("./")) && self.files.contains(last)
        };
        let known = name.text.as_deref().map(String::from_utf8_lossy).unwrap_or_default();
        let is_path = known.contains(['/', '\\', '.']);
        if is_path && is_file(&known) {
            return true;
        }
        let text = |word: &crate::parse::Word| {
            let written = String::from_utf8_lossy(word.text.as_deref().unwrap_or(&word.written)).into_owned();
            is_file(written.trim_start_matches('@'))
        };
        let runs = |name: &String| names::executes(name) || matches!(name.as_str(), "pwsh" | "powershell");
        if found.folded_names().iter().any(runs) {
            return rest.iter().any(text);
        }
        is_interpreter(found) && rest.iter().find(|word| !word.lead.starts_with(b"-")).is_some_and(text)
    }

    fn calls(&self, member: &Member) -> bool {
        let Some(name) = member.name.as_deref().map(str::to_ascii_lowercase) else { return false };
        let name = match &member.target {
            Target::Type(of) if member.is_static => format!("{}::{name}", folded(of)),
            _ => format!(".{name}"),
        };
        member.arguments.is_some() && names::is_execute_method(&name) && self.flow.is_tainted(member.span)
    }
}

/// Reports whether the program runs text in a language.
fn is_interpreter(found: &Found) -> bool {
    let name = found.folded_program();
    let bytes = name.as_bytes();
    let is_shell = tables::launcher(&[bytes]).is_some_and(|launcher| {
        matches!(launcher.runs, Runs::ShellText | Runs::LoginShell | Runs::Powershell | Runs::TextOrOperands)
    });
    is_shell || name == "cmd" || tables::interpreter(bytes).is_some_and(|language| !language.texts.is_empty())
}

fn has_text_flag(found: &Found) -> bool {
    words(found).any(|word| TEXT_FLAGS.contains(&word.as_str()))
}

/// Reports whether the interpreter may read its program from its input: it has neither a file nor a text.
fn reads_program(found: &Found) -> bool {
    let all: Vec<String> = words(found).collect();
    let is_input = |word: &String| word == "-" || word == "-s";
    let own = all.iter().take_while(|word| !is_input(word));
    let none = own.filter(|word| !INPUT_FLAGS.contains(&word.as_str())).all(|word| word.starts_with('-'));
    let text = has_text_flag(found) && !all.iter().any(is_input) && found.words.len() > 2;
    none && !text && !all.iter().any(|word| word == "-m")
}

fn words(found: &Found) -> impl Iterator<Item = String> {
    let words = found.words.iter().skip(1);
    words.map(|word| {
        String::from_utf8_lossy(word.text.as_deref().unwrap_or(&word.written)).to_ascii_lowercase()
    })
}
