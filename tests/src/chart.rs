//! Renders the Helm chart with helm and reads it as JSON.

use std::{
    io::Write as _,
    path::PathBuf,
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::{
    source,
    tools::{python_packages, tool},
};

/// The oldest version of Kubernetes that the chart supports, and the newest with a schema here.
pub const KUBERNETES: [&str; 2] = ["1.33", "1.37"];

/// The output of helm for a set of values.
#[derive(Debug)]
pub struct Rendered {
    /// The output as printed.
    pub text: String,
    /// The documents.
    pub documents: Vec<Value>,
}

/// The result of a validation.
#[derive(Debug, serde::Deserialize)]
pub struct Checked {
    /// The violations of the Kubernetes schemas.
    pub problems: Vec<String>,
    /// The kind and name of documents that are not of Kubernetes itself.
    pub foreign: Vec<String>,
}

impl Rendered {
    /// Returns the document with this kind and name.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    pub fn document(&self, kind: &str, name: &str) -> &Value {
        let found = self.of(kind).find(|document| document["metadata"]["name"] == name);
        found.unwrap_or_else(|| panic!("there is no {kind} `{name}`"))
    }

    /// Returns the documents of this kind.
    pub fn of<'a>(&'a self, kind: &str) -> impl Iterator<Item = &'a Value> {
        self.documents.iter().filter(move |document| document["kind"] == kind)
    }

    /// Returns the violations of the Kubernetes schemas.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        checked(&[self]).into_iter().flat_map(|checked| checked.problems).collect()
    }

    /// Returns the number of documents of this kind.
    #[must_use]
    pub fn count(&self, kind: &str) -> usize {
        self.of(kind).count()
    }
}

/// Returns the chart's directory.
#[must_use]
pub fn directory() -> PathBuf {
    source::root().join("helm/airlock")
}

/// Returns the sets of values for the tests, in the order of their names.
///
/// # Panics
/// If they cannot be listed.
#[must_use]
pub fn sets() -> Vec<PathBuf> {
    let listed = std::fs::read_dir(directory().join("ci")).unwrap();
    let mut sets: Vec<PathBuf> = listed.map(|entry| entry.unwrap().path()).collect();
    sets.sort();
    sets
}

/// Renders the chart as the release `r` in the namespace `default`.
///
/// # Errors
/// Returns helm's message for values that it refuses.
///
/// # Panics
/// If helm or the validation of its output cannot be run.
pub fn render(options: &[&str]) -> Result<Rendered, String> {
    let first = format!("{}.0", KUBERNETES[0]);
    let output = Command::new(tool("helm"))
        .args(["template", "r"])
        .arg(directory())
        .args(["--namespace", "default", "--kube-version", &first])
        .args(options)
        .output()
        .unwrap();
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(read(String::from_utf8(output.stdout).unwrap()))
}

/// Parses rendered documents.
///
/// # Panics
/// If they are not YAML.
#[must_use]
pub fn read(text: String) -> Rendered {
    let documents = answer("documents.py", &[], text.as_bytes());
    Rendered { documents: serde_json::from_slice(&documents).unwrap(), text }
}

/// Validates documents against the schemas of all versions in [`KUBERNETES`]. Returns one result for each rendering.
///
/// # Panics
/// If the validation cannot be run.
#[must_use]
pub fn checked(renderings: &[&Rendered]) -> Vec<Checked> {
    let documents: Vec<_> = renderings.iter().map(|rendered| &rendered.documents).collect();
    let checked = answer("validate.py", &KUBERNETES, &serde_json::to_vec(&documents).unwrap());
    serde_json::from_slice(&checked).unwrap()
}

/// Runs a Python program of `tests/pods` with this input. Returns its output.
fn answer(program: &str, arguments: &[&str], input: &[u8]) -> Vec<u8> {
    let mut child = Command::new("python3")
        .arg(source::root().join("tests/pods").join(program))
        .args(arguments)
        .env("PYTHONPATH", python_packages("kubernetes"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "see above");
    output.stdout
}
