//! Parses a repository's configuration as git does, to find the settings that make git run programs or read other
//! configuration.
//!
//! Pure. An unreadable configuration is never trusted.

use std::collections::BTreeSet;

/// Returns the settings that run programs, with their values. `None` if git would reject the configuration too.
pub(super) fn programs(text: &[u8]) -> Option<BTreeSet<String>> {
    let settings = settings(text)?;
    Some(settings.into_iter().filter(Setting::runs_a_program).map(|setting| setting.to_string()).collect())
}

/// Returns every setting with its value. `None` if git would reject the configuration too.
pub(crate) fn all(text: &[u8]) -> Option<Vec<(String, Option<String>)>> {
    let settings = settings(text)?;
    Some(settings.into_iter().map(|Setting { name, value }| (name, value)).collect())
}

/// Returns the configuration without the settings that run programs or include others, as a replacement for git to
/// read. The replacement of an unreadable configuration is empty.
pub(super) fn without_programs(text: &[u8]) -> Vec<u8> {
    let mut kept = String::new();
    for setting in settings(text).unwrap_or_default().iter().filter(|setting| !setting.starts_a_program()) {
        setting.write(&mut kept);
    }
    kept.into_bytes()
}

/// Returns the settings that [`without_programs`] removes.
pub(super) fn started_programs(text: &[u8]) -> Option<BTreeSet<String>> {
    let settings = settings(text)?;
    Some(settings.into_iter().filter(Setting::starts_a_program).map(|setting| setting.to_string()).collect())
}

/// The paths that a configuration refers to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Leads {
    /// Directories of hooks.
    pub(super) hooks: Vec<String>,
    /// Other configurations.
    pub(super) includes: Vec<String>,
}

/// Returns the hook directories and the configurations that this one names, as written.
pub(super) fn leads(text: &[u8]) -> Leads {
    let mut leads = Leads::default();
    for setting in settings(text).unwrap_or_default() {
        match (setting.section(), setting.key()) {
            ("core", "hookspath") => leads.hooks.extend(setting.value),
            ("include" | "includeif", "path") => leads.includes.extend(setting.value),
            _ => {}
        }
    }
    leads
}

/// One setting.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Setting {
    /// `section.key` or `section.subsection.key`; section and key in lower case.
    name: String,
    /// `None`: written without a value, which means true.
    value: Option<String>,
}

impl std::fmt::Display for Setting {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "{}={}", self.name, self.value.as_deref().unwrap_or("true"))
    }
}

impl Setting {
    fn section(&self) -> &str {
        self.name.split('.').next().unwrap_or_default()
    }

    fn key(&self) -> &str {
        self.name.rsplit('.').next().unwrap_or_default()
    }

    /// Writes the setting such that git reads the same value.
    fn write(&self, to: &mut String) {
        let rest = self.name.strip_prefix(self.section()).and_then(|rest| rest.strip_suffix(self.key()));
        let (section, key) = (self.section(), self.key());
        match rest.unwrap_or_default() {
            // git accepts a name without a section, but no such setting exists.
            "" => return,
            "." => to.push_str(&format!("[{section}]\n")),
            part => {
                let part = part.strip_prefix('.').and_then(|part| part.strip_suffix('.')).unwrap_or(part);
                let part = part.replace('\\', "\\\\").replace('"', "\\\"");
                to.push_str(&format!("[{section} \"{part}\"]\n"));
            }
        }
        match &self.value {
            Some(value) => to.push_str(&format!("\t{key} = {}\n", quoted(value))),
            None => to.push_str(&format!("\t{key}\n")),
        }
    }

    /// `core.worktree` names a directory, not a program, and every submodule sets it.
    fn starts_a_program(&self) -> bool {
        self.runs_a_program() && self.name != "core.worktree"
    }

    fn runs_a_program(&self) -> bool {
        let value = self.value.as_deref().unwrap_or_default();
        match (self.section(), self.key()) {
            ("alias", _) => value.trim_start().starts_with('!'),
            ("include" | "includeif", "path") => true,
            ("pager" | "browser" | "man" | "difftool" | "mergetool" | "guitool" | "hook" | "trailer", _) => {
                true
            }
            ("submodule", "update") => value.starts_with('!'),
            ("remote", "url" | "pushurl") | ("url", "insteadof" | "pushinsteadof") => {
                leads_to_a_program(value) || leads_to_a_program(&self.name)
            }
            ("remote", key) => matches!(key, "uploadpack" | "receivepack" | "vcs" | "proxy"),
            ("protocol", "allow") => true,
            ("core", key) => matches!(
                key,
                "alternaterefscommand"
                    | "askpass"
                    | "editor"
                    | "fsmonitor"
                    | "gitproxy"
                    | "hookspath"
                    | "pager"
                    | "sshcommand"
                    | "worktree"
            ),
            (_, key) => matches!(
                key,
                "askpass"
                    | "clean"
                    | "cmd"
                    | "command"
                    | "defaultkeycommand"
                    | "difffilter"
                    | "driver"
                    | "editor"
                    | "external"
                    | "helper"
                    | "packobjectshook"
                    | "process"
                    | "program"
                    | "receivepack"
                    | "sendmailcmd"
                    | "smtpserver"
                    | "smudge"
                    | "templatedir"
                    | "textconv"
                    | "tocmd"
                    | "cccmd"
                    | "headercmd"
                    | "tunnel"
                    | "uploadpack"
            ),
        }
    }
}

/// Quotes a value. A carriage return is an ordinary character in quotes. A zero byte ends the text that git reads.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for character in text.chars().filter(|character| *character != '\0') {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\u{8}' => quoted.push_str("\\b"),
            other => quoted.push(other),
        }
    }
    quoted + "\""
}

/// Reports whether an address names a helper, such as `ext::`.
fn leads_to_a_program(address: &str) -> bool {
    address.split_once("::").is_some_and(|(helper, _)| !helper.contains(['/', ':', '[']))
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    /// Returns the next byte. The end of the text, and each line end, count as one newline.
    fn next(&mut self) -> u8 {
        let Some((first, rest)) = self.rest.split_first() else { return b'\n' };
        match (first, rest) {
            (b'\r', [b'\n', rest @ ..]) => {
                self.rest = rest;
                b'\n'
            }
            _ => {
                self.rest = rest;
                *first
            }
        }
    }

    fn peek(&self) -> u8 {
        Reader { rest: self.rest }.next()
    }

    fn skip_line(&mut self) {
        while !self.rest.is_empty() && self.next() != b'\n' {}
    }

    /// Parses a section header up to its closing bracket, and returns the prefix of its names.
    fn section(&mut self) -> Option<String> {
        let mut name = String::new();
        loop {
            match self.next() {
                b']' => return (!name.is_empty()).then(|| name + "."),
                b' ' | b'\t' | b'\n' => {
                    return Some(format!("{name}.{}.", self.subsection()?));
                }
                byte if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.') => {
                    name.push(char::from(byte.to_ascii_lowercase()));
                }
                _ => return None,
            }
        }
    }

    fn subsection(&mut self) -> Option<String> {
        let mut byte = self.next();
        while matches!(byte, b' ' | b'\t') {
            byte = self.next();
        }
        if byte != b'"' {
            return None;
        }
        let mut name = Vec::new();
        loop {
            match self.next() {
                b'\n' => return None,
                b'"' => break,
                b'\\' => match self.next() {
                    b'\n' => return None,
                    byte => name.push(byte),
                },
                byte => name.push(byte),
            }
        }
        (self.next() == b']').then(|| String::from_utf8_lossy(&name).into_owned())
    }

    fn key(&mut self, first: u8) -> String {
        let mut key = String::from(char::from(first.to_ascii_lowercase()));
        while self.peek().is_ascii_alphanumeric() || self.peek() == b'-' {
            key.push(char::from(self.next().to_ascii_lowercase()));
        }
        key
    }

    fn value(&mut self) -> Option<Option<String>> {
        while matches!(self.peek(), b' ' | b'\t') {
            self.next();
        }
        match self.next() {
            b'\n' => return Some(None),
            b'=' => {}
            _ => return None,
        }
        // `end` is the position of trailing spaces, which do not belong to the value.
        let (mut value, mut end, mut quoted) = (Vec::new(), None, false);
        loop {
            let byte = self.next();
            match byte {
                b'\n' if quoted => return None,
                b'\n' => break,
                byte if is_space(byte) && !quoted => {
                    end = end.or(Some(value.len()));
                    if !value.is_empty() {
                        value.push(byte);
                    }
                    continue;
                }
                b'#' | b';' if !quoted => {
                    self.skip_line();
                    break;
                }
                b'"' => quoted = !quoted,
                b'\\' => match self.next() {
                    b'\n' => {}
                    b't' => value.push(b'\t'),
                    b'b' => value.push(8),
                    b'n' => value.push(b'\n'),
                    byte @ (b'\\' | b'"') => value.push(byte),
                    _ => return None,
                },
                byte => value.push(byte),
            }
            end = None;
        }
        value.truncate(end.filter(|end| *end > 0).unwrap_or(value.len()));
        Some(Some(String::from_utf8_lossy(&value).into_owned()))
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

fn settings(text: &[u8]) -> Option<Vec<Setting>> {
    let mut reader = Reader { rest: text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text) };
    let (mut settings, mut section) = (Vec::new(), String::new());
    while !reader.rest.is_empty() {
        match reader.next() {
            b'\n' => {}
            byte if is_space(byte) => {}
            b'#' | b';' => reader.skip_line(),
            b'[' => section = reader.section()?,
            byte if byte.is_ascii_alphabetic() => {
                let name = format!("{section}{}", reader.key(byte));
                settings.push(Setting { name, value: reader.value()? });
            }
            _ => return None,
        }
    }
    Some(settings)
}

#[cfg(test)]
mod tests;
