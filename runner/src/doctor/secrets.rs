//! Checks of the secrets that a configuration names: the owner and the mode of each file, and Vault. Must not show a
//! value.

use std::{
    fs::{self, File},
    os::unix::fs::MetadataExt as _,
    path::Path,
};

use rustix::process::geteuid;

use super::finding::Finding;
use crate::{
    config::RunnerConfig,
    egress::Sources,
    secrets::{fitting, of_file},
};

/// The bits of a mode that let the group or others write, or others read.
const OPEN_TO_OTHERS: u32 = 0o026;
const LOST: &str = "commands of profiles that name it do not start";

/// A file with a secret.
struct Named<'a> {
    key: String,
    path: &'a Path,
    /// Whether the runner does not start without it.
    needed: bool,
    /// Whether the content must have the length of a secret.
    is_value: bool,
}

/// Checks every file with a secret. Blocks.
pub(super) fn files(config: &RunnerConfig) -> Vec<Finding> {
    named(config).iter().map(file).collect()
}

fn named(config: &RunnerConfig) -> Vec<Named<'_>> {
    let file = |key: String, path, needed, is_value| Named { key, path, needed, is_value };
    let (egress, mut found) = (&config.egress, Vec::new());
    for (name, path) in &config.secrets.files {
        found.push(file(format!("secrets.files.{name}"), path.as_path(), true, true));
    }
    if let Some(path) = egress.upstream.as_ref().and_then(|upstream| upstream.credential.as_deref()) {
        found.push(file("egress.upstream.credential".to_owned(), path, true, false));
    }
    if let Some(vault) = &egress.vault {
        found.push(file("egress.vault.token_file".to_owned(), &vault.token_file, false, false));
    }
    for (name, secret) in &egress.secrets {
        if let Some(path) = &secret.file {
            found.push(file(format!("egress.secrets.{name}"), path, false, true));
        }
    }
    found
}

fn file(named: &Named<'_>) -> Finding {
    let Named { key, path, needed, is_value } = named;
    let shown = path.display();
    let unusable = |what: &str, remedy: &str| match needed {
        true => Finding::failed(key, format!("{shown} {what}"), remedy),
        false => Finding::missing(key, format!("{shown} {what}"), LOST, remedy),
    };
    let opened = File::open(path).and_then(|_| fs::metadata(path));
    let metadata = match opened {
        Ok(metadata) => metadata,
        Err(error) => {
            let remedy = "create it, or make the runner's user its owner";
            return unusable(&format!("cannot be read: {error}"), remedy);
        }
    };
    if !metadata.is_file() {
        return unusable("is not a file", "name the file with the value");
    }
    if let Some(what) = is_value.then(|| of_file(path).and_then(fitting).err()).flatten() {
        return unusable(&what, "write the value, and nothing else, into it");
    }
    let (mode, owner) = (metadata.mode() & 0o7777, metadata.uid());
    let degraded = |what: String, lost: &str, remedy: &str| Finding::degraded(key, what, lost, remedy);
    if mode & OPEN_TO_OTHERS != 0 {
        let lost = "other users of this host can read or replace it";
        return degraded(format!("{shown} has the mode {mode:04o}"), lost, "chmod 0400, or 0440 for a group");
    }
    if owner != 0 && owner != geteuid().as_raw() {
        let lost = "its owner can read and replace it";
        return degraded(
            format!("{shown} belongs to the uid {owner}"),
            lost,
            "make root or the runner's user its owner",
        );
    }
    Finding::ok(key, format!("{shown}, mode {mode:04o}"))
}

/// Checks the server of Vault, and that it gives each secret. It waits at most the configured timeout for each.
pub(super) async fn vault(config: &RunnerConfig) -> Vec<Finding> {
    const NAME: &str = "egress.vault";
    let Some(server) = &config.egress.vault else { return Vec::new() };
    let sources = match Sources::new(&config.egress) {
        Ok(sources) => sources,
        Err(error) => return vec![failed(NAME, &format!("its address {error}"))],
    };
    let health = match sources.vault() {
        Some(vault) => vault.health().await,
        None => return Vec::new(),
    };
    let mut found = match health {
        Ok(health) => {
            vec![Finding::ok(NAME, format!("{} is ready, version {}", server.address, health.version))]
        }
        Err(error) => return vec![failed(NAME, &error.to_string())],
    };
    for (name, secret) in config.egress.secrets.iter().filter(|(_, secret)| secret.vault.is_some()) {
        let key = format!("egress.secrets.{name}");
        found.push(match sources.read(secret).await {
            Ok(_) => Finding::ok(&key, "Vault gives it to this runner"),
            Err(what) => failed(&key, &what),
        });
    }
    found
}

/// Returns the finding of a failure whose text ends with the remedy.
fn failed(name: &str, text: &str) -> Finding {
    let (seen, remedy) = text.rsplit_once("; ").unwrap_or((text, "start Vault, or unseal it"));
    Finding::missing(name, seen, LOST, remedy)
}
