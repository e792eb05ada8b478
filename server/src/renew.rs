//! Reloads certificates, authorities and identities while the server runs, and activates them when their
//! files change. Open connections, calls and links are not affected.
//!
//! Contents are compared periodically, because mounted directories that are replaced as a whole (Secrets) send no
//! events. If files are unusable, the previous version stays active. This is logged once per change.

use std::{
    fs::{self, File},
    io::Read as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use airlock_control::{
    model::ANY_PROFILE,
    profiles::{LiveProfiles, Needed},
};
use airlock_hooks::HookClients;
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

use crate::{
    authn::Authenticator,
    config::{self, Config, Layers},
    grpc::peers::PeerLinks,
    telemetry::Metrics,
    tls::{self, Limiting, LiveTls},
};

/// The interval between two scans of the files.
const LOOK: Duration = Duration::from_secs(1);
/// The maximum number of bytes of a file that are compared.
const FILE_BYTES: u64 = 4 << 20;

/// A file of certificates with an expiry metric.
struct Certificates {
    /// The metric's attribute.
    name: &'static str,
    file: PathBuf,
    limiting: Limiting,
    /// Seconds since 1970. `None` while the file cannot be read.
    expiry: Option<i64>,
}

/// Files that are activated together.
pub(crate) struct Part {
    /// The name in the log.
    name: &'static str,
    files: Vec<PathBuf>,
    certificates: Vec<Certificates>,
    /// The digest of the active files.
    seen: [u8; 32],
    /// The reason why the current files are not active.
    problem: Option<String>,
    /// Reads and activates the files, or returns the reason why it cannot.
    apply: Box<dyn Fn() -> Result<(), String> + Send>,
}

/// The files that are reloaded.
pub(crate) struct Renew {
    parts: Vec<Part>,
    metrics: Metrics,
}

impl Part {
    /// Must be created before the files are first read, so that no change is missed.
    fn new(name: &'static str, files: Vec<PathBuf>) -> Self {
        let seen = digest(&files);
        Self { name, files, certificates: Vec::new(), seen, problem: None, apply: Box::new(|| Ok(())) }
    }

    fn with(mut self, name: &'static str, file: &Path, limiting: Limiting) -> Self {
        self.certificates.push(Certificates { name, file: file.to_owned(), limiting, expiry: None });
        self
    }

    fn applied_by(mut self, apply: impl Fn() -> Result<(), String> + Send + 'static) -> Self {
        self.apply = Box::new(apply);
        self
    }

    /// The certificate of the listener and the authorities of its clients.
    pub(crate) fn tls(files: &config::Tls) -> Self {
        let all = [&files.certificate, &files.key].into_iter().chain(&files.client_ca).cloned().collect();
        let part = Self::new("listen.tls", all).with("tls", &files.certificate, Limiting::First);
        match &files.client_ca {
            Some(ca) => part.with("client_ca", ca, Limiting::Last),
            None => part,
        }
    }

    pub(crate) fn into_tls(self, files: config::Tls, live: LiveTls) -> Self {
        self.applied_by(move || tls::renew(&files, &live).map_err(|error| error.to_string()))
    }

    /// This server's client certificate for calls to other servers.
    pub(crate) fn peers(files: &config::Peers) -> Self {
        Self::new("peers", vec![files.ca.clone(), files.certificate.clone(), files.key.clone()])
            .with("peer", &files.certificate, Limiting::First)
            .with("peer_ca", &files.ca, Limiting::Last)
    }

    pub(crate) fn into_peers(self, links: PeerLinks) -> Self {
        self.applied_by(move || links.renew())
    }

    /// The authority and the client certificate of a hook.
    pub(crate) fn hook(files: &config::Hook) -> Self {
        let all = files.files().into_iter().filter_map(|(_, file)| file.cloned()).collect();
        let part = Self::new("hooks", all);
        let part = match &files.certificate {
            Some(certificate) => part.with("hook", certificate, Limiting::First),
            None => part,
        };
        match &files.ca {
            Some(ca) => part.with("hook_ca", ca, Limiting::Last),
            None => part,
        }
    }

    pub(crate) fn into_hook(self, name: String, hooks: HookClients) -> Self {
        self.applied_by(move || hooks.renew(&name))
    }

    /// The identities in the configuration file.
    pub(crate) fn identities(layers: &Layers) -> Self {
        Self::new("identity", vec![layers.file.clone()])
    }

    pub(crate) fn into_identities(
        self,
        layers: Layers,
        authenticator: Arc<Authenticator>,
        (live, needed): (LiveProfiles, Needed),
    ) -> Self {
        self.applied_by(move || take_identities(&layers, &authenticator, (&live, &needed)))
    }

    /// Activates the files if they have changed. Unusable files are tried again at the next scan: a
    /// certificate may be written before its key, and an identity before its profile.
    fn look(&mut self) {
        let now = digest(&self.files);
        if now == self.seen {
            self.problem = None;
            return;
        }
        match (self.apply)() {
            Ok(()) => {
                tracing::info!(part = self.name, "files reloaded; the new version is active");
                self.seen = now;
                self.problem = None;
                self.date();
            }
            Err(error) if self.problem.as_ref() == Some(&error) => {}
            Err(error) => {
                tracing::error!(part = self.name, "{error}; the last valid version stays active");
                self.problem = Some(error);
            }
        }
    }

    fn date(&mut self) {
        for one in &mut self.certificates {
            one.expiry = tls::expiry(&one.file, one.limiting).ok().flatten();
        }
    }
}

impl Renew {
    pub(crate) fn new(parts: Vec<Part>, metrics: Metrics) -> Self {
        Self { parts, metrics }
    }

    /// Scans until `stop`. Files are read on a blocking thread. A scan in progress is completed.
    pub(crate) async fn run(mut self, stop: CancellationToken) {
        self.parts.iter_mut().for_each(Part::date);
        loop {
            self.measure();
            if stop.run_until_cancelled(tokio::time::sleep(LOOK)).await.is_none() {
                return;
            }
            let looked = tokio::task::spawn_blocking(move || {
                self.parts.iter_mut().for_each(Part::look);
                self
            });
            // A panic in a scan ends only the reloading.
            let Ok(this) = looked.await else { return };
            self = this;
        }
    }

    fn measure(&self) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        for one in self.parts.iter().flat_map(|part| &part.certificates) {
            if let Some(expiry) = one.expiry {
                #[expect(clippy::cast_precision_loss, reason = "seconds of a date fit")]
                self.metrics.certificate_expiry(one.name, expiry as f64 - now);
            }
        }
    }
}

fn take_identities(
    layers: &Layers,
    authenticator: &Authenticator,
    (live, needed): (&LiveProfiles, &Needed),
) -> Result<(), String> {
    let config = Config::load(layers.clone()).map_err(|error| error.to_string())?;
    let profiles = live.now();
    let named = config.identities.iter().flat_map(|identity| &identity.profiles);
    let named = named.filter(|name| *name != ANY_PROFILE);
    for name in named.clone() {
        if profiles.get(name).is_none() {
            return Err(format!("an identity names the profile `{name}`, which does not exist"));
        }
    }
    needed.replace(named.cloned().chain([authenticator.default_profile().to_owned()]).collect());
    authenticator.replace(&config.identities);
    Ok(())
}

/// Returns a digest of the contents, or of the kind of error for a file that cannot be read. A path that is
/// not a regular file, such as a pipe, is not read, because the read could block forever.
fn digest(files: &[PathBuf]) -> [u8; 32] {
    let mut all = Sha256::new();
    for file in files {
        let mut bytes = Vec::new();
        let is_pipe = fs::metadata(file).is_ok_and(|found| !found.is_file());
        let read = match is_pipe {
            true => Ok(0),
            false => File::open(file).and_then(|file| file.take(FILE_BYTES).read_to_end(&mut bytes)),
        };
        if let Err(error) = read {
            bytes = error.kind().to_string().into_bytes();
        }
        all.update(Sha256::digest(&bytes));
    }
    all.finalize().into()
}
