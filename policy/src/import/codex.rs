//! Converts the rules of Codex: `prefix_rule` and `network_rule` in a `.rules` file. The file is read as data: calls with
//! named arguments that are texts or lists. Everything else is reported.

mod read;

use serde_json::Value;

use super::draft::Draft;
use super::{command, network};
use crate::decision::Verdict;
use crate::rules::Rule;
use read::Call;

/// The most rules that one prefix with alternatives is converted to.
const MOST: usize = 64;

/// Reports whether the text has a rule of Codex.
pub(super) fn is_rules(text: &str) -> bool {
    ["network_rule(", "prefix_rule("].iter().any(|call| text.contains(call))
}

pub(super) fn read(draft: &mut Draft, text: &str) {
    for part in read::calls(text) {
        match part {
            Ok(call) => rule(draft, &call),
            Err(rest) => {
                let why = "only calls of `prefix_rule` and `network_rule` with texts and lists are read";
                draft.leave_out(&format!("line {}", rest.line), &Value::from(rest.text), why);
            }
        }
    }
    draft.modes = vec!["accept_edits", "default", "plan"];
}

fn rule(draft: &mut Draft, call: &Call) {
    let place = format!("line {}: {}", call.line, call.name);
    let value =
        Value::Object(call.arguments.iter().map(|(name, value)| (name.clone(), value.clone())).collect());
    let verdict = match call.text("decision").unwrap_or("allow") {
        "allow" => Verdict::Allow,
        "prompt" => Verdict::Ask,
        "forbidden" | "deny" => Verdict::Deny,
        _ => return draft.leave_out(&place, &value, "the decision is not allow, prompt, forbidden or deny"),
    };
    match call.name.as_str() {
        "prefix_rule" => draft.carry(verdict, &place, &value, prefix(call.argument("pattern"), verdict)),
        "network_rule" => match entry(call, verdict) {
            Ok(host) => network::carry(draft, verdict, &place, &value, &host),
            Err(why) => draft.leave_out(&place, &value, why),
        },
        _ => draft.leave_out(&place, &value, "Airlock has no equivalent rule"),
    }
}

/// Returns the entry for the host of a network rule. A denied host is denied on every port.
fn entry(call: &Call, verdict: Verdict) -> Result<String, &'static str> {
    let host = call.text("host").ok_or("the rule has no host")?;
    if verdict != Verdict::Allow {
        return Ok(host.to_owned());
    }
    match call.text("protocol") {
        Some("http") => Ok(format!("{host}:80")),
        Some("https" | "https_connect" | "http-connect") => Ok(format!("{host}:443")),
        Some("socks5_tcp") => {
            Err("the rule has no port; add `HOST:PORT/tcp` to `network.allow` of the profile")
        }
        Some("socks5_udp") => Err("commands reach other hosts by TCP only"),
        _ => Err("the protocol is not http, https, socks5_tcp or socks5_udp"),
    }
}

/// Returns the rules for a prefix: one for each choice among alternatives.
fn prefix(pattern: Option<&Value>, verdict: Verdict) -> Result<Vec<String>, String> {
    let words = pattern.and_then(Value::as_array).ok_or("the pattern is not a list")?;
    let mut forms = vec![String::new()];
    for word in words {
        let choices: Option<Vec<String>> = match word {
            Value::String(text) => Some(vec![quoted(text)]),
            Value::Array(texts) => texts.iter().map(|text| text.as_str().map(quoted)).collect(),
            _ => None,
        };
        let choices = choices.ok_or("a word of the pattern is neither a text nor a list of texts")?;
        forms =
            forms.iter().flat_map(|form| choices.iter().map(move |word| format!("{form} {word}"))).collect();
        if forms.len() > MOST {
            return Err("the pattern has too many alternatives; write several rules".to_owned());
        }
    }
    let mut rules = Vec::new();
    for form in &forms {
        rules.extend(command::rules("Bash", Some(&format!("{}:*", form.trim_start())), verdict)?);
    }
    for rule in &rules {
        Rule::parse(rule).map_err(|error| error.to_string())?;
    }
    Ok(rules)
}

/// Quotes a word that contains anything but letters, digits and harmless punctuation.
fn quoted(word: &str) -> String {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-_./:=+@,%".contains(&b);
    if !word.is_empty() && word.bytes().all(is_plain) {
        return word.to_owned();
    }
    let escaped: String = word.chars().flat_map(|c| ['\\', c]).collect();
    if word.is_empty() { "''".to_owned() } else { escaped }
}

#[cfg(test)]
mod tests;
