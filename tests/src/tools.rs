//! What `make test` has fetched besides the code: programs, Python packages, a project to work on.

use std::path::PathBuf;

use crate::programs::program;

/// The folder of the programs and packages.
///
/// # Panics
/// If neither `XDG_CACHE_HOME` nor `HOME` is set.
#[must_use]
pub fn tools() -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map_or_else(
        || PathBuf::from(std::env::var_os("HOME").expect("a home folder")).join(".cache"),
        PathBuf::from,
    );
    cache.join("airlock/tools")
}

/// A fetched program.
///
/// # Panics
/// If it is not there.
#[must_use]
pub fn tool(name: &str) -> PathBuf {
    present(tools().join("bin").join(name))
}

/// Packages for Python, for its `PYTHONPATH`: `python` has gRPC, `kubernetes` the schemas of Kubernetes and YAML.
///
/// # Panics
/// If they are not there.
#[must_use]
pub fn python_packages(folder: &str) -> PathBuf {
    present(tools().join(folder))
}

/// The source archive of a project.
///
/// # Panics
/// If it is not there.
#[must_use]
pub fn project(name: &str) -> PathBuf {
    present(tools().join(format!("projects/{name}.tar.gz")))
}

/// A package as it is installed: a wheel, or what npm packs.
///
/// # Panics
/// If it is not there.
#[must_use]
pub fn package(file: &str) -> PathBuf {
    present(tools().join("projects").join(file))
}

/// `PATH` with the programs of this workspace first, and the fetched ones last.
///
/// # Panics
/// If the programs were not built.
#[must_use]
pub fn path() -> String {
    let built = program("airlock");
    let own = built.parent().map(|folder| folder.display().to_string()).unwrap_or_default();
    let inherited = std::env::var("PATH").unwrap_or_default();
    format!("{own}:{inherited}:{}", tools().join("bin").display())
}

fn present(path: PathBuf) -> PathBuf {
    assert!(path.exists(), "{} is not there; run `scripts/setup.sh test`", path.display());
    path
}
