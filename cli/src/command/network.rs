//! The options that narrow the network, shared by `run`, `start` and `session`.

use airlock_client::v1;
use clap::Args;

/// Rules that narrow the network of the profile.
#[derive(Debug, Args)]
pub(super) struct Narrowing {
    /// Narrow the profile's network to a preset, host or address, such as pypi, *.example.com or 10.0.0.5:5432/tcp; may
    /// be repeated.
    #[arg(long, value_name = "HOST", conflicts_with = "no_network")]
    network_allow: Vec<String>,
    /// Report connections to public hosts that these rules do not allow, instead of refusing them. The profile and the
    /// floor still refuse.
    #[arg(long, conflicts_with = "no_network")]
    network_warn: bool,
    /// Allow no network, whatever the profile allows.
    #[arg(long)]
    no_network: bool,
}

impl Narrowing {
    /// Returns the rules, or `None` without an option.
    pub(super) fn rules(self) -> Option<v1::NetworkRules> {
        let Self { network_allow: allow, network_warn: warn, no_network } = self;
        let is_given = no_network || warn || !allow.is_empty();
        is_given.then(|| v1::NetworkRules { allow, warn, ..v1::NetworkRules::default() })
    }
}
