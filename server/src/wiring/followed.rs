//! The files of certificates and identities that the server follows while it runs.

use std::{path::Path, sync::Arc};

use crate::{
    authn::Authenticator,
    config::Config,
    grpc::peers::PeerLinks,
    profiles::{LiveProfiles, Needed},
    renew::Part,
    tls::LiveTls,
};

/// The files, as they were before they were first used: a change since then is not missed.
pub(super) struct Followed {
    tls: Option<Part>,
    peers: Option<Part>,
    identities: Option<Part>,
}

impl Followed {
    /// Takes note of the files. Must come before they are read. Blocks.
    pub(super) fn begin(config: &Config, file: Option<&Path>) -> Self {
        Self {
            tls: config.listen.tls.as_ref().map(Part::tls),
            peers: config.peers.as_ref().map(Part::peers),
            identities: file.map(Part::identities),
        }
    }

    /// The files, with those who use them.
    pub(super) fn into_parts(
        self,
        config: &Config,
        tls: Option<LiveTls>,
        peers: Option<PeerLinks>,
        (authenticator, profiles, needed): (Arc<Authenticator>, LiveProfiles, Needed),
    ) -> Vec<Part> {
        let files = config.listen.tls.clone();
        let tls = self.tls.zip(files.zip(tls)).map(|(part, (files, live))| part.into_tls(files, live));
        let peers = self.peers.zip(peers).map(|(part, links)| part.into_peers(links));
        let identities = self.identities.map(|part| part.into_identities(authenticator, (profiles, needed)));
        [tls, peers, identities].into_iter().flatten().collect()
    }
}
