//! The files of certificates and identities that the server reloads while it runs.

use std::sync::Arc;

use airlock_control::profiles::{BuiltInSettings, LiveProfiles, Needed, Profiles, Reload};
use airlock_hooks::HookClients;
use tokio_util::task::TaskTracker;

use super::ready::Tokens;
use crate::{
    authn::Authenticator,
    config::{Config, Layers},
    grpc::peers::PeerLinks,
    renew::{Part, Renew},
    telemetry::Metrics,
    tls::LiveTls,
};

/// The authenticator, and the profiles that identities name.
pub(super) type Identities = (Arc<Authenticator>, LiveProfiles, Needed);

/// The files in their state before the first use, so that no later change is missed.
pub(super) struct Followed {
    tls: Option<Part>,
    peers: Option<Part>,
    hooks: Vec<(String, Part)>,
    identities: Option<(Part, Layers)>,
}

impl Followed {
    /// Records the state of the files. Must be called before they are read. Blocks.
    pub(super) fn begin(config: &Config, layers: Option<&Layers>) -> Self {
        Self {
            tls: config.listen.tls.as_ref().map(Part::tls),
            peers: config.peers.as_ref().map(Part::peers),
            hooks: config.hooks.iter().map(|(name, hook)| (name.clone(), Part::hook(hook))).collect(),
            identities: layers.map(|layers| (Part::identities(layers), layers.clone())),
        }
    }

    /// Connects the files to the objects that use them.
    fn into_parts(
        self,
        config: &Config,
        tls: Option<LiveTls>,
        (peers, hooks): (Option<PeerLinks>, HookClients),
        (authenticator, profiles, needed): Identities,
    ) -> Vec<Part> {
        let files = config.listen.tls.clone();
        let tls = self.tls.zip(files.zip(tls)).map(|(part, (files, live))| part.into_tls(files, live));
        let peers = self.peers.zip(peers).map(|(part, links)| part.into_peers(links));
        let identities = self
            .identities
            .map(|(part, layers)| part.into_identities(layers, authenticator, (profiles, needed)));
        let hooks = self.hooks.into_iter().map(|(name, part)| part.into_hook(name, hooks.clone()));
        [tls, peers, identities].into_iter().flatten().chain(hooks).collect()
    }
}

/// Starts to reload certificates, identities and profiles until the server stops.
pub(super) fn follow(
    config: &Config,
    followed: Followed,
    (tls, callees, identities): (Option<LiveTls>, (Option<PeerLinks>, HookClients), Identities),
    metrics: &Metrics,
    (tasks, tokens): (&TaskTracker, &Tokens),
) {
    let (_, profiles, needed) = identities.clone();
    let parts = followed.into_parts(config, tls, callees, identities);
    tasks.spawn(Renew::new(parts, metrics.clone()).run(tokens.closed.clone()));
    if let Some(reload) = reload(config, (profiles, needed), metrics) {
        tasks.spawn(reload.run(tokens.closed.clone()));
    }
}

/// Returns the reloader of the profiles' directory, if one is configured.
fn reload(config: &Config, (live, needed): (LiveProfiles, Needed), metrics: &Metrics) -> Option<Reload> {
    Some(Reload {
        folder: config.profiles.directory.clone()?,
        built_in: Profiles::builtin_with(&built_in(config)),
        needed,
        grace_most: config.link.ending_grace,
        live,
        observer: Arc::new(metrics.clone()),
    })
}

/// Returns the settings of the built-in profiles in a configuration.
pub(super) fn built_in(config: &Config) -> BuiltInSettings {
    let ground = config.profiles.ground.clone();
    BuiltInSettings {
        self_approval: config.profiles.self_approval,
        rootfs: ground.rootfs,
        root_binds: ground.root_binds,
        network: ground.network,
        port_forward: ground.port_forward,
        timeout_max: ground.timeout_max,
        hooks: config.hooks.keys().cloned().collect(),
    }
}
