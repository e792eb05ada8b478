//! The network of a grant within the floor.
//!
//! The floor refuses no start because of it. It is one more layer of rules, and a connection needs every layer.

use airlock_domain::{Grant, NetworkLayer, NetworkRules};
use airlock_network::{Layer, LayerName, Layers, Rules};

use super::refusal::Refusal;
use crate::config::FloorConfig;

/// The reason why a command runs without the network of its grant.
const CLOSED: &str =
    "this runner permits no network; its administrator can permit hosts with `floor.network`";

/// The network of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Network {
    /// The grant contains no network.
    None,
    /// The grant contains a network, but the floor permits none.
    Closed,
    /// The layers of the grant and the floor.
    Open(Layers),
}

impl Network {
    /// Returns the network of a grant.
    ///
    /// # Errors
    /// Refuses a grant with rules that this version cannot read, or with rules for a command that must have no network.
    pub(crate) fn of(grant: &Grant, floor: &FloorConfig) -> Result<Self, Refusal> {
        if grant.egress.is_empty() {
            return Ok(Self::None);
        }
        if grant.read_only || grant.unsandboxed {
            return Err(malformed("a read-only command, or one outside the sandbox, has no network rules"));
        }
        let mut layers = Vec::new();
        for (origin, rules) in grant.network_layers() {
            let name = match origin {
                NetworkLayer::Profile => LayerName::Profile,
                NetworkLayer::Session => LayerName::Session,
                NetworkLayer::Request => LayerName::Request,
            };
            layers.push(layer(name, rules)?);
        }
        let permitted = NetworkRules::from(floor.network.0.clone().unwrap_or_default());
        if permitted.allow_nothing() {
            return Ok(Self::Closed);
        }
        layers.push(layer(LayerName::Floor, &permitted)?);
        Ok(Self::Open(Layers::new(layers)))
    }

    /// Returns the layers, if the job has a network.
    pub(crate) fn layers(&self) -> Option<&Layers> {
        match self {
            Self::None | Self::Closed => None,
            Self::Open(layers) => Some(layers),
        }
    }

    /// Returns the reason why the job runs without the network of its grant. Empty if it has the network, or the grant
    /// contains none.
    pub(crate) fn problem(&self) -> String {
        match self {
            Self::None | Self::Open(_) => String::new(),
            Self::Closed => CLOSED.to_owned(),
        }
    }
}

fn layer(name: LayerName, rules: &NetworkRules) -> Result<Layer, Refusal> {
    let NetworkRules { any, allow, deny, warn, ask } = rules;
    let parsed = Rules::parse(*any, allow, deny).and_then(|rules| rules.asking(ask));
    let rules = parsed.map_err(|errors| {
        let said: Vec<String> = errors.iter().take(1).map(ToString::to_string).collect();
        malformed(&format!("the network rules of the {name} are not valid: {}", said.concat()))
    })?;
    Ok(Layer { name, rules: rules.warning(*warn) })
}

fn malformed(message: &str) -> Refusal {
    Refusal::new("malformed_grant", message)
}

#[cfg(test)]
mod tests {
    use airlock_config::OrNone;
    use airlock_network::{Target, Verdict};

    use super::*;
    use crate::floor::tests::grant;

    fn rules(allow: &[&str], deny: &[&str]) -> NetworkRules {
        let owned = |list: &[&str]| list.iter().map(|entry| (*entry).to_owned()).collect();
        NetworkRules { allow: owned(allow), deny: owned(deny), ..NetworkRules::default() }
    }

    fn floor(allow: &[&str]) -> FloorConfig {
        FloorConfig { network: OrNone(Some(rules(allow, &[]).into())), ..FloorConfig::default() }
    }

    fn with(egress: Vec<NetworkRules>) -> Grant {
        Grant { egress, ..grant() }
    }

    #[test]
    fn the_floor_is_one_more_layer() {
        let granted = with(vec![rules(&["a.example", "b.example"], &[])]);
        let Ok(Network::Open(layers)) = Network::of(&granted, &floor(&["a.example", "c.example"])) else {
            panic!("it is open")
        };
        let decided = |target: &str| layers.decide(&Target::parse(target).unwrap());
        assert!(matches!(decided("a.example:443"), Verdict::Allowed { .. }));
        let refused = |target: &str| match decided(target) {
            Verdict::Refused(refusal) => refusal.layer,
            other => panic!("{target}: {other:?}"),
        };
        assert_eq!(refused("b.example:443"), LayerName::Floor);
        assert_eq!(refused("c.example:443"), LayerName::Profile);
    }

    #[test]
    fn a_profile_that_warns_stays_within_the_floor() {
        let warns = NetworkRules { warn: true, ..rules(&["a.site.example"], &["denied.site.example"]) };
        let decided = |warns: &NetworkRules, target: &str| {
            let network = Network::of(&with(vec![warns.clone()]), &floor(&["*.site.example"])).unwrap();
            network.layers().unwrap().decide(&Target::parse(target).unwrap())
        };
        assert!(matches!(decided(&warns, "b.site.example:443"), Verdict::Warned { .. }));
        for target in ["denied.site.example:443", "b.test:443", "b.site.example:22"] {
            assert!(matches!(decided(&warns, target), Verdict::Refused(_)), "{target}");
        }
        let strict = NetworkRules { warn: false, ..warns };
        assert!(matches!(decided(&strict, "b.site.example:443"), Verdict::Refused(_)), "the control");
    }

    #[test]
    fn a_floor_without_network_is_said_and_refuses_no_start() {
        let granted = with(vec![rules(&["a.example"], &[])]);
        let closed = Network::of(&granted, &FloorConfig::default()).unwrap();
        assert_eq!(closed, Network::Closed);
        assert!(closed.problem().contains("`floor.network`"), "{}", closed.problem());
        let none = Network::of(&grant(), &FloorConfig::default()).unwrap();
        assert_eq!((none.problem().as_str(), &none), ("", &Network::None));
        assert_eq!(Network::of(&grant(), &floor(&["a.example"])).unwrap(), Network::None);
    }

    #[test]
    fn a_command_that_must_have_no_network_gets_none() {
        let rules = vec![rules(&["a.example"], &[])];
        for (read_only, unsandboxed) in [(true, false), (false, true), (true, true)] {
            let granted = Grant { read_only, unsandboxed, ..with(rules.clone()) };
            let refused = Network::of(&granted, &floor(&["a.example"])).unwrap_err();
            assert_eq!(refused.reason, "malformed_grant");
        }
        assert!(Network::of(&with(rules), &floor(&["a.example"])).is_ok(), "the control");
    }

    #[test]
    fn rules_that_cannot_be_read_are_refused() {
        for egress in [vec![rules(&["*"], &[])], vec![rules(&["a.example"], &[""])]] {
            let refused = Network::of(&with(egress), &floor(&["a.example"])).unwrap_err();
            assert_eq!(refused.reason, "malformed_grant");
            assert!(refused.message.contains("profile"), "{}", refused.message);
        }
    }
}
