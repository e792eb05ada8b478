//! `airlock policy suggest-network`: the network that the connections of an execution need.

use airlock_client::v1::{Connection, ConnectionVerdict};
use airlock_network::{LayerName, Suggestion, Used, suggest};
use clap::Args;
use serde_json::{Value, json};

use super::{Failure, connect::Connect, output};
use crate::render::escape;

/// The exit code if a proposal was printed but some connections need another change.
const INCOMPLETE: u8 = 3;
/// The longest list in one line, in columns.
const COLUMNS: usize = 100;

/// Propose the smallest network of a profile that lets the connections of an execution through.
///
/// Use this after a command whose connections were refused or reported. The output is a key of a profile. Connections
/// that need another change, such as those to internal addresses, are listed line by line.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  id=$(airlock start -- 'ls -la')\n  airlock wait $id\n  airlock policy suggest-network $id\n\nExit codes: 0 the list lets every connection through, 3 some connections need another change, 1 failure, 2 wrong\nusage."
)]
pub(super) struct SuggestNetwork {
    #[command(flatten)]
    connect: Connect,
    /// The execution. It must have ended.
    #[arg(value_name = "ID")]
    id: String,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

impl SuggestNetwork {
    pub(super) async fn run(self) -> Result<u8, Failure> {
        let client = self.connect.client().await?;
        let execution = client.execution(&self.id).await?;
        let Some(result) = execution.result else {
            let id = escape::line(execution.execution_id.as_bytes());
            return Err(Failure::new(format!(
                "execution `{id}` has not ended; wait for it with `airlock wait`"
            )));
        };
        let used: Vec<Used> = result.connections.iter().map(used).collect();
        let suggestion = suggest(&used);
        match self.json {
            true => output::print_json(&json(&suggestion, result.connections_left_out))?,
            false => output::print(&toml(&suggestion.allow))?,
        }
        if used.is_empty() {
            output::note(
                "no connection was recorded; a command without a network has no proxy, so set `network = { warn = true }` \
                 in its profile to record its connections",
            );
        }
        for one in &suggestion.others {
            let (target, reason) = (escape::line(one.target.as_bytes()), escape::line(one.reason.as_bytes()));
            output::note(&format!("needs another change: `{target}`: {reason}"));
        }
        if result.connections_left_out > 0 {
            let more = result.connections_left_out;
            output::note(&format!("{more} connections were not recorded, so the list can lack hosts"));
        }
        let is_complete = suggestion.others.is_empty() && result.connections_left_out == 0;
        Ok(if is_complete { 0 } else { INCOMPLETE })
    }
}

fn used(one: &Connection) -> Used {
    let layers = std::iter::once(&one.layer).chain(&one.other_layers);
    Used {
        host: one.host.clone(),
        port: u16::try_from(one.port).unwrap_or_default(),
        refused: one.verdict() == ConnectionVerdict::Refused,
        rule: one.rule.clone(),
        layers: layers.filter_map(|name| LayerName::parse(name)).collect(),
        address_kind: one.address_kind.clone(),
        reason: one.reason.clone(),
    }
}

fn json(suggestion: &Suggestion, unrecorded: u64) -> Value {
    let others = suggestion.others.iter().map(|one| json!({"target": one.target, "reason": one.reason}));
    json!({
        "allow": suggestion.allow,
        "others": others.collect::<Vec<_>>(),
        "connections_left_out": unrecorded,
    })
}

/// Returns the key `network` of a profile. Entries are ASCII without quotes, so their JSON form is TOML, too.
fn toml(allow: &[String]) -> String {
    if allow.is_empty() {
        return "network = \"none\"\n".to_owned();
    }
    let entries: Vec<String> = allow.iter().map(|entry| Value::from(entry.as_str()).to_string()).collect();
    let line = format!("network = {{ allow = [{}] }}\n", entries.join(", "));
    if line.len() <= COLUMNS {
        return line;
    }
    format!("network = {{ allow = [\n  {},\n] }}\n", entries.join(",\n  "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_proposal_is_a_key_of_a_profile() {
        let list =
            |count: usize| (0..count).map(|number| format!("host-{number}.example:443")).collect::<Vec<_>>();
        assert_eq!(toml(&[]), "network = \"none\"\n");
        assert_eq!(toml(&list(1)), "network = { allow = [\"host-0.example:443\"] }\n");
        let long = toml(&list(5));
        assert!(long.lines().count() == 7 && long.ends_with("\n] }\n"), "{long}");
    }

    #[test]
    fn every_layer_of_a_connection_counts() {
        let one = Connection {
            host: "a.example".to_owned(),
            port: 443,
            verdict: ConnectionVerdict::Refused.into(),
            layer: "profile".to_owned(),
            other_layers: vec!["floor".to_owned(), "unknown".to_owned()],
            ..Connection::default()
        };
        assert_eq!(used(&one).layers, [LayerName::Profile, LayerName::Floor]);
        assert!(used(&one).refused);
        let warned = Connection { verdict: ConnectionVerdict::Warned.into(), ..one };
        assert!(!used(&warned).refused);
    }
}
