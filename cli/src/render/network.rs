//! Network rules, as text and as JSON.

use airlock_client::v1::{Connection, ConnectionProtocol, ConnectionVerdict, NetworkRules};
use serde_json::{Value, json};

use super::{escape, names, time};

/// Formats rules in one line, such as `pypi, github, except gist.github.com`. `None`: no network.
#[must_use]
pub fn text(rules: Option<&NetworkRules>) -> String {
    let shown = |list: &[String]| {
        let shown: Vec<_> = list.iter().map(|entry| escape::line(entry.as_bytes())).collect();
        shown.join(", ")
    };
    let Some(NetworkRules { any, allow, deny, warn, ask }) = rules else { return "none".to_owned() };
    let allowed = match (any, allow.is_empty()) {
        (false, true) if *warn || !ask.is_empty() => "nothing".to_owned(),
        (false, true) => return "none".to_owned(),
        (false, false) => shown(allow),
        (true, true) => "every public host".to_owned(),
        (true, false) => format!("every public host, {}", shown(allow)),
    };
    let except = if deny.is_empty() { String::new() } else { format!(", except {}", shown(deny)) };
    let others = if *warn { "; warns about other public hosts" } else { "" };
    let asks = if ask.is_empty() { String::new() } else { format!("; asks about {}", shown(ask)) };
    format!("{allowed}{except}{asks}{others}")
}

/// Formats rules as JSON. `None` is null.
#[must_use]
pub fn json(rules: Option<&NetworkRules>) -> Value {
    rules.map_or(
        Value::Null,
        |NetworkRules { any, allow, deny, warn, ask }| {
            json!({"any": any, "allow": allow, "deny": deny, "ask": ask, "warn": warn})
        },
    )
}

/// Formats a connection in one line, such as `pypi.org:443 (connect): allowed by pypi.org, 5 bytes up, 9 bytes
/// down`.
#[must_use]
pub fn connection(one: &Connection) -> String {
    let Connection { host, port, rule, layer, reason, bytes_up, bytes_down, .. } = one;
    let (protocol, verdict) =
        (names::lower::<ConnectionProtocol>(one.protocol), names::lower::<ConnectionVerdict>(one.verdict));
    let by = match (rule.as_str(), layer.as_str()) {
        ("", "") => String::new(),
        (rule, "") => format!(" by {rule}"),
        ("", layer) => format!(" by the {layer}"),
        (rule, layer) => format!(" by {rule} of the {layer}"),
    };
    let reason = if reason.is_empty() { String::new() } else { format!("; {reason}") };
    let line = format!(
        "{host}:{port} ({protocol}): {verdict}{by}, {bytes_up} bytes up, {bytes_down} bytes down{reason}"
    );
    escape::line(line.as_bytes())
}

/// Formats a connection as JSON.
#[must_use]
pub fn connection_json(one: &Connection) -> Value {
    json!({
        "host": one.host,
        "port": one.port,
        "protocol": names::lower::<ConnectionProtocol>(one.protocol),
        "verdict": names::lower::<ConnectionVerdict>(one.verdict),
        "rule": one.rule,
        "layer": one.layer,
        "other_layers": one.other_layers,
        "address_kind": one.address_kind,
        "reason": one.reason,
        "bytes_up": one.bytes_up,
        "bytes_down": one.bytes_down,
        "started_at": time::rfc3339(one.started_at.as_ref()),
        "duration": time::duration(one.duration.as_ref()).map(|span| span.as_secs_f64()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_one_line_without_control_characters() {
        let rules = |any, allow: &[&str], deny: &[&str]| {
            let owned = |list: &[&str]| list.iter().map(|entry| (*entry).to_owned()).collect();
            text(Some(&NetworkRules { any, allow: owned(allow), deny: owned(deny), ..Default::default() }))
        };
        let warns =
            |allow: Vec<String>| text(Some(&NetworkRules { allow, warn: true, ..Default::default() }));
        assert_eq!(text(None), "none");
        assert_eq!(rules(false, &[], &["a.example"]), "none");
        assert_eq!(rules(false, &["pypi", "npm"], &["a.example"]), "pypi, npm, except a.example");
        assert_eq!(rules(true, &[], &[]), "every public host");
        assert_eq!(warns(vec![]), "nothing; warns about other public hosts");
        assert_eq!(warns(vec!["pypi".to_owned()]), "pypi; warns about other public hosts");
        let asks = NetworkRules { ask: vec!["b.example".to_owned()], ..Default::default() };
        assert_eq!(text(Some(&asks)), "nothing; asks about b.example");
        assert_eq!(rules(true, &["10.0.0.5:5432/tcp"], &[]), "every public host, 10.0.0.5:5432/tcp");
        assert!(!rules(false, &["\u{1b}[2J\n"], &[]).contains(['\u{1b}', '\n']));
    }
}
