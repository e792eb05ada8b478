//! Looks after the folder of profiles while the server runs, and puts into force what changed. A file that does
//! not load, or is gone though the configuration names it, leaves the version of before; that is said in the
//! log at every change, and counted. It looks instead of being told, because folders that are mounted and
//! swapped as a whole (ConfigMaps) tell nobody.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use airlock_config::ConfigError;
use tokio_util::sync::CancellationToken;

use super::{
    LiveProfiles, Needed, Profiles, ProfilesError, ResolvedProfile,
    chain::{self, Resolved},
    folder::{self, FileOrError, Stamp},
};
use crate::telemetry::Metrics;

/// Between two looks. What is seen at two looks in a row is taken to be written to its end.
const LOOK: Duration = Duration::from_secs(1);

/// What is reloaded, and within which bounds.
pub(crate) struct Reload {
    /// The folder.
    pub folder: PathBuf,
    /// The profiles that no file can replace.
    pub built_in: Profiles,
    /// Profiles that the configuration names; they stay when their files are gone.
    pub needed: Needed,
    /// The longest time that a profile may give commands to end.
    pub grace_most: Duration,
    /// What is in force.
    pub live: LiveProfiles,
    /// Where what is refused is counted.
    pub metrics: Metrics,
}

/// What was seen at the looks before.
#[derive(Default)]
struct Seen {
    /// What is in force comes from this, and was this when it was read.
    applied: Option<(Stamp, u64)>,
    /// A file was written just before that. One more write within a tick of the file system's clock leaves the stamp as
    /// it is, so all is read once more later.
    again: bool,
    /// It was so at the last look; if it still is, it is written to its end.
    settling: Option<Stamp>,
    /// The folder could not be listed, and that was said.
    unreadable: bool,
}

impl Reload {
    /// Looks until `stop`. Files are read on a thread that may block; a look that is under way is finished.
    pub(crate) async fn run(self, stop: CancellationToken) {
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
        // What was written meanwhile may have been read by half.
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
            tracing::error!("{error}; the profiles of before stay in force");
            self.metrics.profiles_refused(self.own(&self.live.now()).count() as u64);
        }
        *seen = Seen { unreadable: true, ..Seen::default() };
    }

    /// The profiles that come from files.
    fn own<'a>(&self, profiles: &'a Profiles) -> impl Iterator<Item = &'a String> {
        profiles.by_name.keys().filter(|name| self.built_in.get(name).is_none())
    }

    fn apply(&self, files: &[FileOrError]) {
        let before = self.live.now();
        let Resolved { profiles, mut refused } =
            chain::resolve_all(files, &self.built_in.by_name, &before.by_name);
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
        tracing::info!(?changed, ?gone, "profiles were read again, and what changed is in force");
        for (profile, warning) in after.warnings().filter(|(name, _)| changed.iter().any(|one| one == name)) {
            tracing::warn!(profile, "{warning}");
        }
        self.live.replace(after);
    }

    fn tell_refused(&self, refused: &BTreeMap<String, ConfigError>) {
        for error in refused.values() {
            for line in error.to_string().lines() {
                tracing::error!("{line}; the version of before stays in force");
            }
        }
        self.metrics.profiles_refused(refused.len() as u64);
    }

    /// Takes back what does not go together with the configuration, which is not read again.
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
            let what = format!("`limits.grace` is more than the configuration's {:?}", self.grace_most);
            refused.insert(name.clone(), ConfigError::whole(&file(&name), &what, "lower it"));
            match before.get(&name) {
                Some(old) => after.by_name.insert(name, old.clone()),
                None => after.by_name.remove(&name),
            };
        }
        for name in self.needed.now().into_iter().filter(|name| after.get(name).is_none()).collect::<Vec<_>>()
        {
            let what = "it is gone, and the configuration names its profile";
            refused.entry(name.clone()).or_insert_with(|| {
                ConfigError::whole(&file(&name), what, "put it back, or change the configuration and restart")
            });
            if let Some(old) = before.get(&name) {
                after.by_name.insert(name, old.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests;
