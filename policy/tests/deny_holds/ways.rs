//! The disguises and the programs in `test_data/deny`. This module only fills templates.

use std::path::Path;

use base64::Engine as _;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    way: Vec<Disguise>,
}

/// One disguise.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Disguise {
    pub(crate) name: String,
    pub(crate) text: String,
    /// The reason why the verdict may be ASK.
    pub(crate) ask: Option<String>,
    /// The reason why it is not run with a real bash.
    pub(crate) not_tried: Option<String>,
}

pub(crate) fn ways(directory: &Path) -> Vec<Disguise> {
    let text = std::fs::read_to_string(directory.join("ways.toml")).unwrap();
    toml::from_str::<File>(&text).unwrap().way
}

/// Returns the pattern of each rule, and the command that it denies.
pub(crate) fn programs(directory: &Path) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(directory.join("programs.txt")).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let pairs = lines.map(|line| line.split_once('\t').unwrap());
    pairs.map(|(rule, command)| (rule.to_owned(), command.to_owned())).collect()
}

impl Disguise {
    /// Returns the template with this command.
    pub(crate) fn with(&self, command: &str) -> String {
        let (program, args) = command.split_once(' ').unwrap_or((command, ""));
        let mut out = String::new();
        let mut rest = self.text.as_str();
        while let Some((before, behind)) = rest.split_once('{') {
            out.push_str(before);
            let end = behind.find('}').unwrap();
            let made = place(&behind[..end], program, args);
            // Other braces are bash syntax.
            rest = if let Some(made) = made {
                out.push_str(&made);
                &behind[end + 1..]
            } else {
                out.push('{');
                behind
            };
        }
        out.push_str(rest);
        out
    }
}

/// Returns the text for a placeholder of a template.
fn place(place: &str, program: &str, args: &str) -> Option<String> {
    if let Some((count, text)) = place.strip_prefix("repeat:").and_then(|rest| rest.split_once(':')) {
        return Some(text.repeat(count.parse().unwrap()));
    }
    let (first, rest) = program.split_at(1);
    Some(match place {
        "program" => program.to_owned(),
        "args" => args.to_owned(),
        "args:first" => args.split(' ').next().unwrap().to_owned(),
        "program:quoted" => format!("'{program}'"),
        "program:split" => format!("{first}\"{rest}\""),
        "program:escaped" => program.chars().flat_map(|c| ['\\', c]).collect(),
        "program:hex" => program.bytes().map(|byte| format!("\\x{byte:02x}")).collect(),
        "program:continued" => format!("{first}\\\n{rest}"),
        "program:first" => first.to_owned(),
        "program:rest" => rest.to_owned(),
        "program:glob" => format!("{first}{}", "?".repeat(rest.len())),
        "program:reversed" => program.chars().rev().collect(),
        "program:halves" => format!("{first}\" . \"{rest}"),
        "program:base64" => base64::engine::general_purpose::STANDARD.encode(format!("{program} {args}\n")),
        _ => return None,
    })
}
