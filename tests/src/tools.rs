//! Locates the built programs, and the downloads of `make test` other than code: programs, Python packages, projects.

use std::path::PathBuf;

/// Returns the directory of the programs and packages.
///
/// # Panics
/// If neither `XDG_CACHE_HOME` nor `HOME` is set.
#[must_use]
pub fn tools() -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map_or_else(
        || PathBuf::from(std::env::var_os("HOME").expect("a home directory")).join(".cache"),
        PathBuf::from,
    );
    cache.join("airlock/tools")
}

/// Returns a downloaded program.
///
/// # Panics
/// If it is missing.
#[must_use]
pub fn tool(name: &str) -> PathBuf {
    present(tools().join("bin").join(name))
}

/// Returns a directory of Python packages for `PYTHONPATH`: `python` contains gRPC, `kubernetes` the Kubernetes
/// schemas and YAML.
///
/// # Panics
/// If it is missing.
#[must_use]
pub fn python_packages(directory: &str) -> PathBuf {
    present(tools().join(directory))
}

/// Returns the directory of the wheels from which pip installs the Python client and its tools without a network.
///
/// # Panics
/// If it is missing.
#[must_use]
pub fn client_wheels() -> PathBuf {
    present(tools().join("client-wheels"))
}

/// Returns npm's cache with the packages of the TypeScript client, from which npm installs them without a network.
///
/// # Panics
/// If it is missing.
#[must_use]
pub fn client_npm() -> PathBuf {
    present(tools().join("client-npm/cache"))
}

/// Returns npm's cache with the packages of the tests of the TypeScript client's adapters.
///
/// # Panics
/// If it is missing.
#[must_use]
pub fn adapters_npm() -> PathBuf {
    present(tools().join("adapters-npm/cache"))
}

/// Returns the program of a coding agent, by its path in the packages of `tests/agents`.
///
/// # Panics
/// If it is missing.
#[must_use]
pub fn coding_agent(path: &str) -> PathBuf {
    present(tools().join("coding-agents/node_modules").join(path))
}

/// Returns npm's cache with the E2B SDK, from which npm installs it without a network.
///
/// # Panics
/// If it is missing.
#[must_use]
pub fn e2b_npm() -> PathBuf {
    present(tools().join("e2b-npm/cache"))
}

/// Returns the source archive of a project.
///
/// # Panics
/// If it is missing.
#[must_use]
pub fn project(name: &str) -> PathBuf {
    present(tools().join(format!("projects/{name}.tar.gz")))
}

/// Returns a package as it is installed: a wheel or an npm package.
///
/// # Panics
/// If it is missing.
#[must_use]
pub fn package(file: &str) -> PathBuf {
    present(tools().join("projects").join(file))
}

/// Returns a `PATH` with the programs of this workspace first, and the downloaded ones last.
///
/// # Panics
/// If the programs were not built.
#[must_use]
pub fn path() -> String {
    let built = program("airlock");
    let own = built.parent().map(|directory| directory.display().to_string()).unwrap_or_default();
    let inherited = std::env::var("PATH").unwrap_or_default();
    format!("{own}:{inherited}:{}", tools().join("bin").display())
}

fn present(path: PathBuf) -> PathBuf {
    assert!(path.exists(), "{} is not there; run `scripts/setup.sh test`", path.display());
    path
}

/// Returns the path of a program of this workspace.
///
/// # Panics
/// If it was not built. `make test` builds it; to build it manually: `cargo build --workspace
/// --bins`.
#[must_use]
pub fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("the test knows where it is");
    let beside = test.parent().expect("a program is in a directory");
    let directory = if beside.ends_with("deps") { beside.parent().unwrap_or(beside) } else { beside };
    let path = directory.join(name);
    assert!(path.is_file(), "{} is not built; run `cargo build --workspace --bins`", path.display());
    path
}
