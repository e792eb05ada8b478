//! The Helm chart, rendered by helm and read as JSON.

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

/// The first version of Kubernetes that the chart is for, and the newest whose schemas are here.
pub const KUBERNETES: [&str; 2] = ["1.33", "1.37"];

/// What helm made of some values.
#[derive(Debug)]
pub struct Rendered {
    /// As helm printed it.
    pub text: String,
    /// Each document.
    pub documents: Vec<Value>,
    /// In what they do not fit the schemas of Kubernetes.
    pub problems: Vec<String>,
    /// Those that are not Kubernetes' own: kind and name.
    pub foreign: Vec<String>,
}

impl Rendered {
    /// The document of this kind and name.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    pub fn document(&self, kind: &str, name: &str) -> &Value {
        let found = self.of(kind).find(|document| document["metadata"]["name"] == name);
        found.unwrap_or_else(|| panic!("there is no {kind} `{name}`"))
    }

    /// Those of this kind.
    pub fn of<'a>(&'a self, kind: &str) -> impl Iterator<Item = &'a Value> {
        self.documents.iter().filter(move |document| document["kind"] == kind)
    }

    /// How many documents there are of this kind.
    #[must_use]
    pub fn count(&self, kind: &str) -> usize {
        self.of(kind).count()
    }
}

/// The chart's folder.
#[must_use]
pub fn folder() -> PathBuf {
    source::root().join("helm/airlock")
}

/// The sets of values that the chart is tried with, in the order of their names.
///
/// # Panics
/// If they cannot be listed.
#[must_use]
pub fn sets() -> Vec<PathBuf> {
    let listed = std::fs::read_dir(folder().join("ci")).unwrap();
    let mut sets: Vec<PathBuf> = listed.map(|entry| entry.unwrap().path()).collect();
    sets.sort();
    sets
}

/// Renders the chart as the release `r` in the namespace `default`.
///
/// # Errors
/// What helm says of values that it refuses.
///
/// # Panics
/// If helm or what checks its output cannot be run.
pub fn render(options: &[&str]) -> Result<Rendered, String> {
    let first = format!("{}.0", KUBERNETES[0]);
    let output = Command::new(tool("helm"))
        .args(["template", "r"])
        .arg(folder())
        .args(["--namespace", "default", "--kube-version", &first])
        .args(options)
        .output()
        .unwrap();
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(read(String::from_utf8(output.stdout).unwrap()))
}

/// Reads what was rendered.
///
/// # Panics
/// If it is not YAML.
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
