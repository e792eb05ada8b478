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

/// Parses and validates rendered documents.
///
/// # Panics
/// If they are not YAML.
#[must_use]
pub fn read(text: String) -> Rendered {
    let mut validate = Command::new("python3")
        .arg(source::root().join("tests/pods/validate.py"))
        .args(KUBERNETES)
        .env("PYTHONPATH", python_packages("kubernetes"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    validate.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = validate.wait_with_output().unwrap();
    assert!(output.status.success(), "see above");
    let mut said: Value = serde_json::from_slice(&output.stdout).unwrap();
    let strings = |value: &Value| {
        value.as_array().unwrap().iter().map(|one| one.as_str().unwrap().to_owned()).collect()
    };
    Rendered {
        text,
        problems: strings(&said["problems"]),
        foreign: strings(&said["foreign"]),
        documents: said["documents"].as_array_mut().map(std::mem::take).unwrap(),
    }
}
