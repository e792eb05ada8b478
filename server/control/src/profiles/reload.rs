//! Reloads the directory of profiles while the server runs, and activates changes. If a file cannot be loaded, or is
//! missing although the configuration names it, the last valid version stays active. Each such change is logged and
//! counted. The directory is polled, because mounted directories that are replaced as a whole (ConfigMaps) send no
//! events.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use airlock_config::ConfigError;
use tokio_util::sync::CancellationToken;

use super::{
    chain::{self, Resolved},
    folder::{self, FileOrError, ProfilesError, Stamp},
    resolve::ResolvedProfile,
    set::{LiveProfiles, Needed, Profiles},
};
use crate::shared::Observer;

/// The interval between two scans. A state that two consecutive scans observe counts as completely written.
const LOOK: Duration = Duration::from_secs(1);

/// The reloader of profiles with its limits.
pub struct Reload {
    /// The directory.
    pub folder: PathBuf,
    /// The profiles that no file can replace.
    pub built_in: Profiles,
    /// The profiles that the configuration names. They stay active after their files are removed.
    pub needed: Needed,
    /// The maximum time between SIGTERM and SIGKILL that a profile may set.
    pub grace_most: Duration,
    /// The active profiles.
    pub live: LiveProfiles,
    /// Receives the number of refused profiles.
    pub observer: Arc<dyn Observer>,
}

/// The results of earlier scans.
#[derive(Default)]
struct Seen {
    /// The stamp and the digest of the files that the active profiles come from.
    applied: Option<(Stamp, u64)>,
    /// A file was written shortly before that scan. A further write within the resolution of the timestamps
    /// does not change the stamp, so the files are read again later.
    again: bool,
    /// The state at the last scan. If it is unchanged, the files are completely written.
    settling: Option<Stamp>,
    /// The directory could not be listed, and this was logged.
    unreadable: bool,
}

impl Reload {
    /// Scans until `stop`. Files are read on a blocking thread. A scan in progress is completed.
    pub async fn run(self, stop: CancellationToken) {
        let this = Arc::new(self);
        let mut seen = Seen::default();
        while stop.run_until_cancelled(tokio::time::sleep(LOOK)).await.is_some() {
            let this = this.clone();
            let looked = tokio::task::spawn_blocking(move || {
                this.look(&mut seen);
                seen
            });
            seen = looked.await.unwrap_or_default();
        }
    }

    fn look(&self, seen: &mut Seen) {
        let now = match folder::stamp(&self.folder) {
            Ok(now) => now,
            Err(error) => return self.unreadable(seen, &error),
        };
        let before = seen.applied.as_ref().filter(|(stamp, _)| *stamp == now).map(|(_, digest)| *digest);
        if before.is_some() && (!seen.again || now.is_fresh()) {
            return;
        }
        if before.is_none() && seen.settling.as_ref() != Some(&now) {
            seen.settling = Some(now);
            return;
        }
        seen.settling = None;
        let again = now.is_fresh();
        let files = match folder::read(&self.folder) {
            Ok(files) => files,
            Err(error) => return self.unreadable(seen, &error),
        };
        // A file that was written during the scan may be incomplete.
        if folder::stamp(&self.folder).is_ok_and(|after| after == now) {
            let digest = folder::digest(&files);
            if before != Some(digest) {
                self.apply(&files);
            }
            *seen = Seen { applied: Some((now, digest)), again, ..Seen::default() };
        }
    }

    fn unreadable(&self, seen: &mut Seen, error: &ProfilesError) {
        if !seen.unreadable {
            tracing::error!("{error}; the last valid profiles stay active");
            self.observer.profiles_refused(self.own(&self.live.now()).count() as u64);
        }
        *seen = Seen { unreadable: true, ..Seen::default() };
    }

    /// Returns the names of the profiles that come from files.
    fn own<'a>(&self, profiles: &'a Profiles) -> impl Iterator<Item = &'a String> {
        profiles.by_name.keys().filter(|name| self.built_in.get(name).is_none())
    }

    fn apply(&self, files: &[FileOrError]) {
        let before = self.live.now();
        let base = (&self.built_in.by_name, self.built_in.hooks.as_slice());
        let Resolved { profiles, mut refused } = chain::resolve_all(files, base, &before.by_name);
        let mut after = self.built_in.clone();
        after.by_name.extend(profiles);
        self.within_bounds(&mut after, &before, &mut refused);
        self.tell_refused(&refused);
        let same = |name: &String, one: &ResolvedProfile| before.get(name).is_some_and(|old| old.is_as(one));
        let changed: Vec<&String> =
            after.by_name.iter().filter(|(name, one)| !same(name, one)).map(|(name, _)| name).collect();
        let gone: Vec<&String> = before.by_name.keys().filter(|name| after.get(name).is_none()).collect();
        if changed.is_empty() && gone.is_empty() {
            return;
        }
        tracing::info!(?changed, ?gone, "profiles reloaded; the changes are active");
        for (profile, warning) in after.warnings().filter(|(name, _)| changed.iter().any(|one| one == name)) {
            tracing::warn!(profile, "{warning}");
        }
        self.live.replace(after);
    }

    fn tell_refused(&self, refused: &BTreeMap<String, ConfigError>) {
        for error in refused.values() {
            for line in error.to_string().lines() {
                tracing::error!("{line}; the last valid version stays active");
            }
        }
        self.observer.profiles_refused(refused.len() as u64);
    }

    /// Reverts changes that contradict the configuration, which is not read again.
    fn within_bounds(
        &self,
        after: &mut Profiles,
        before: &Profiles,
        refused: &mut BTreeMap<String, ConfigError>,
    ) {
        let file = |name: &str| self.folder.join(format!("{name}.toml")).display().to_string();
        let too_long: Vec<String> = self
            .own(after)
            .filter(|name| after.get(name).is_some_and(|one| one.sandbox.limits.grace > self.grace_most))
            .cloned()
            .collect();
        for name in too_long {
            let what = format!(
                "`limits.grace` is longer than the configuration's `link.ending_grace` ({:?})",
                self.grace_most
            );
            refused.insert(name.clone(), ConfigError::whole(&file(&name), &what, "lower it"));
            match before.get(&name) {
                Some(old) => after.by_name.insert(name, old.clone()),
                None => after.by_name.remove(&name),
            };
        }
        for name in self.needed.now().into_iter().filter(|name| after.get(name).is_none()).collect::<Vec<_>>()
        {
            let what = "the file was removed, but the configuration names its profile";
            refused.entry(name.clone()).or_insert_with(|| {
                ConfigError::whole(&file(&name), what, "restore it, or change the configuration and restart")
            });
            if let Some(old) = before.get(&name) {
                after.by_name.insert(name, old.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests;
