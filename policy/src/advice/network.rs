//! Reports, before a command starts, that its network rules do not let it reach the hosts that it needs. This changes no
//! verdict.

use airlock_network::{LayerName, Layers, Verdict};

use crate::connections::Connection;
use crate::decision::{NetworkUse, Warning};
use crate::facts::{CommandFacts, Facts};
use crate::readonly::NEEDS_NETWORK;
use crate::request::Request;

/// The code of a warning about a command whose rules allow no host.
const NO_NETWORK: &str = "no_network";
/// The code of a warning about a host that the rules refuse.
const REFUSED: &str = "network_refused";
/// The code of a warning about a program that cannot use the proxy.
const NO_PROXY: &str = "no_proxy";
/// The largest number of warnings about connections.
const MOST_WARNINGS: usize = 16;

/// Returns the programs that connect to other hosts.
pub(super) fn uses(facts: &Facts<'_>) -> Vec<NetworkUse> {
    let used = |(index, command): (usize, &CommandFacts)| {
        let Connection { entry, targets, .. } = command.connection.as_ref()?;
        Some(NetworkUse {
            program: entry.name.to_owned(),
            hosts: targets.iter().map(ToString::to_string).collect(),
            presets: entry.presets.to_vec(),
            command_index: index,
        })
    };
    facts.commands.iter().enumerate().filter_map(used).collect()
}

/// Returns the warnings about connections that cannot succeed. Outside the sandbox, the rules do not apply.
pub(super) fn warnings(facts: &Facts<'_>, request: &Request<'_>) -> Vec<Warning> {
    if request.unsandboxed.is_some() {
        return Vec::new();
    }
    let commands = facts.commands.iter();
    let Some(layers) = request.network else {
        return commands.filter_map(without_rules).take(MOST_WARNINGS).collect();
    };
    let connections = commands.filter_map(|command| command.connection.as_ref());
    let mut warnings: Vec<Warning> = Vec::new();
    for warning in connections.flat_map(|connection| by_rules(connection, layers)) {
        let is_new = warnings.iter().all(|known| known.message != warning.message);
        if is_new && warnings.len() < MOST_WARNINGS {
            warnings.push(warning);
        }
    }
    warnings
}

/// Returns the warning about a command that only reads, but from other hosts. The rules are not known.
fn without_rules(command: &CommandFacts) -> Option<Warning> {
    let refusal = command.refusal.as_ref().filter(|refusal| refusal.code == NEEDS_NETWORK)?;
    let message = "the command needs a network, which only the key `network` of a profile provides";
    Some(Warning { code: NEEDS_NETWORK, message: message.to_owned(), span: Some(refusal.span) })
}

fn by_rules(connection: &Connection, layers: &Layers) -> Vec<Warning> {
    let Connection { entry, targets, span } = connection;
    let name = entry.name;
    let warning = |code, message| Warning { code, message, span: Some(*span) };
    if entry.direct {
        let message = format!(
            "`{name}` reaches no other host: the sandbox has no route, and the program uses no proxy"
        );
        return vec![warning(NO_PROXY, message)];
    }
    let refused = targets.iter().filter_map(|target| match layers.decide(target) {
        Verdict::Refused(refusal) => Some(warning(REFUSED, format!("`{name}` will fail: {refusal}"))),
        Verdict::Allowed { .. } | Verdict::Asked { .. } | Verdict::Warned { .. } => None,
    });
    let refused: Vec<Warning> = refused.collect();
    if !targets.is_empty() || !connection.is_certain() {
        return refused;
    }
    let closed = layers.closed(entry.presets);
    closed.map(|(layer, remedy)| warning(NO_NETWORK, closed_text(name, layer, &remedy))).into_iter().collect()
}

fn closed_text(name: &str, layer: LayerName, remedy: &str) -> String {
    format!("`{name}` usually needs a network, and the {layer} allows none; {remedy}")
}
