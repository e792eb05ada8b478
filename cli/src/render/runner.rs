//! One runner, and profiles, as text. Text from hosts and operators is shown without control
//! characters.

use std::{fmt::Write as _, time::SystemTime};

use super::{escape, names, network, table::table, time};
use airlock_client::v1::{Mode, Profile, ProfileHook, Runner, RunnerState, Verdict};

/// Formats everything about a runner, with each layer of its host.
#[must_use]
pub fn page(one: &Runner, now: SystemTime) -> String {
    let labels: Vec<String> =
        one.labels.iter().map(|(key, value)| format!("{}={}", shown(key), shown(value))).collect();
    let shells: Vec<String> =
        one.shells.iter().map(|(name, version)| shown(format!("{name} {version}").trim())).collect();
    let mut text = facts(&[
        ("runner", shown(&one.runner_id)),
        ("state", names::lower::<RunnerState>(one.state)),
        ("running", format!("{} of {}", one.running, one.slots)),
        ("version", shown(&one.version)),
        ("epoch", shown(&one.epoch)),
        ("seen", time::ago(one.last_seen.as_ref(), now)),
        ("bases", one.bases.iter().map(|base| shown(base)).collect::<Vec<_>>().join(", ")),
        ("shells", shells.join(", ")),
        ("labels", labels.join(", ")),
    ]);
    let rows: Vec<_> = one
        .capabilities
        .iter()
        .map(|layer| [shown(&layer.name), yes(layer.enforced), shown(&layer.detail)])
        .collect();
    text.push('\n');
    text.push_str(&table(["LAYER", "ENFORCED", "DETAIL"], &rows));
    text
}

/// Formats a table of profiles.
#[must_use]
pub fn profiles(list: &[Profile]) -> String {
    let rows: Vec<_> = list
        .iter()
        .map(|one| {
            [
                shown(&one.name),
                if one.is_default { "yes".to_owned() } else { String::new() },
                names::lower::<Mode>(one.default_mode),
                modes(one),
                span(one.timeout_max.as_ref()),
            ]
        })
        .collect();
    table(["PROFILE", "DEFAULT", "MODE", "MODES", "MAX TIMEOUT"], &rows)
}

/// Formats everything about a profile. Rules appear in the order in which they are tried.
#[must_use]
pub fn profile(one: &Profile) -> String {
    let limits = one.limits.unwrap_or_default();
    let join = |list: &[String]| list.iter().map(|text| shown(text)).collect::<Vec<_>>().join(", ");
    let mut text = facts(&[
        ("profile", shown(&one.name)),
        ("default", yes(one.is_default)),
        ("mode", names::lower::<Mode>(one.default_mode)),
        ("modes", modes(one)),
        (
            "timeout",
            format!("{}, at most {}", span(one.timeout_default.as_ref()), span(one.timeout_max.as_ref())),
        ),
        ("grace", span(limits.grace.as_ref())),
        ("open files", limits.open_files.to_string()),
        ("processes", limits.processes.to_string()),
        ("file size", format!("{} bytes", limits.file_size)),
        ("output", format!("{} bytes per stream", limits.output_bytes)),
        ("PATH", shown(&one.path)),
        ("variables", join(&one.env_names)),
        ("binds", join(&one.root_binds)),
        ("network", network::text(one.network.as_ref())),
        ("forwards", join(&one.port_forward)),
        ("background", if one.no_background { "refused".to_owned() } else { String::new() }),
        ("hooks", one.hooks.iter().map(hook).collect::<Vec<_>>().join(", ")),
        ("version", hex::encode(&one.policy_version)),
    ]);
    let rows: Vec<_> =
        one.rules.iter().map(|rule| [names::lower::<Verdict>(rule.verdict), shown(&rule.rule)]).collect();
    text.push('\n');
    text.push_str(&if rows.is_empty() { "no rules\n".to_owned() } else { table(["VERDICT", "RULE"], &rows) });
    text
}

fn facts(facts: &[(&str, String)]) -> String {
    let mut text = String::new();
    for (name, value) in facts.iter().filter(|(_, value)| !value.is_empty()) {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{name:<12}{value}");
    }
    text
}

fn hook(one: &ProfileHook) -> String {
    format!("{}{}", shown(&one.name), if one.required { " (required)" } else { "" })
}

fn modes(one: &Profile) -> String {
    one.modes.iter().map(|mode| names::lower::<Mode>(*mode)).collect::<Vec<_>>().join(", ")
}

fn span(span: Option<&prost_types::Duration>) -> String {
    let span = span.and_then(|span| std::time::Duration::try_from(*span).ok());
    span.map_or_else(|| "not set".to_owned(), |span| humantime::format_duration(span).to_string())
}

fn yes(value: bool) -> String {
    if value { "yes" } else { "no" }.to_owned()
}

fn shown(text: &str) -> String {
    escape::line(text.as_bytes())
}
