//! Reads the repository, for the tests of its structure.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Returns the root of the repository.
#[must_use]
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// Copies directories of the repository, without what git ignores.
///
/// # Panics
/// If a file cannot be copied.
pub fn copy(directories: &[&str], to: &Path) {
    for path in files().expect("the files of the repository") {
        if directories.iter().any(|directory| path.starts_with(directory)) {
            let target = to.join(&path);
            fs::create_dir_all(target.parent().unwrap_or(to)).expect("a directory for the copy");
            fs::copy(root().join(&path), target).expect("a copy of the file");
        }
    }
}

/// Returns every file that git tracks or would track, relative to the root.
///
/// # Errors
/// If git cannot be run.
pub fn files() -> Result<Vec<PathBuf>, String> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"])
        .current_dir(root())
        .output()
        .map_err(|error| format!("git cannot be run: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let mut files: Vec<PathBuf> = output
        .stdout
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
        .map(|name| PathBuf::from(String::from_utf8_lossy(name).into_owned()))
        .filter(|path| root().join(path).is_file())
        .collect();
    files.sort();
    files.dedup();
    Ok(files)
}

/// Returns the files with this extension and their text.
///
/// # Errors
/// If one cannot be read.
pub fn texts(ending: &str) -> Result<Vec<(PathBuf, String)>, String> {
    files()?
        .into_iter()
        .filter(|path| path.extension().is_some_and(|found| found == ending))
        .map(|path| {
            let text = fs::read_to_string(root().join(&path))
                .map_err(|error| format!("{}: {error}", path.display()))?;
            Ok((path, text))
        })
        .collect()
}

/// Returns the root files of the workspace's crates, relative to the root of the repository: libraries, programs,
/// benchmarks and build scripts, without tests.
///
/// # Errors
/// If cargo cannot be run.
pub fn crates() -> Result<Vec<PathBuf>, String> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--locked", "--offline"])
        .current_dir(root())
        .output()
        .map_err(|error| format!("cargo cannot be run: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let metadata: serde_json::Value =
        serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))?;
    let list = |value: &serde_json::Value| value.as_array().cloned().unwrap_or_default();
    let is_test = |target: &serde_json::Value| list(&target["kind"]).iter().any(|kind| kind == "test");
    let mut roots: Vec<PathBuf> = list(&metadata["packages"])
        .iter()
        .flat_map(|package| list(&package["targets"]))
        .filter(|target| !is_test(target))
        .filter_map(|target| {
            Some(Path::new(target["src_path"].as_str()?).strip_prefix(root()).ok()?.to_owned())
        })
        .collect();
    roots.sort();
    Ok(roots)
}
