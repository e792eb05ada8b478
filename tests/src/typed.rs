//! Commands of the documentation, as a reader types them. This module does not judge their output.

use std::{
    path::Path,
    process::{Command, Output},
};

use crate::{source, tools::program};

/// Returns the commands in the blocks of a page that begin with this fence, such as `sh`.
#[must_use]
pub fn blocks(page: &str, fence: &str) -> Vec<String> {
    let begin = format!("```{fence}\n");
    page.split(&begin).skip(1).filter_map(|rest| Some(rest.split("```").next()?.to_owned())).collect()
}

/// Runs the commands of a reader in one shell, in a clone, with this directory as an empty HOME.
///
/// # Panics
/// If the programs were not built, or bash does not start.
#[must_use]
pub fn typed(home: &Path, script: &str) -> Output {
    let built = program("airlock");
    let own = built.parent().map(|directory| directory.display().to_string()).unwrap_or_default();
    Command::new("bash")
        .args(["-euo", "pipefail", "-c", script])
        .current_dir(source::root())
        .env("HOME", home)
        .env("PATH", format!("{own}:{}", std::env::var("PATH").unwrap_or_default()))
        .env_remove("XDG_STATE_HOME")
        .env_remove("AIRLOCK_STATE")
        .output()
        .unwrap()
}
