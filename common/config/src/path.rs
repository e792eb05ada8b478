//! The path of a key, such as `limits.queue` or `identity[1].match`.

use std::fmt;

use serde_json::Value;

/// A step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// A key of a table.
    Key(String),
    /// An entry of a list, from 0.
    Index(usize),
}

/// A path from the root of a configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Path(pub(crate) Vec<Step>);

impl Path {
    /// Parses a path as [`Path`] formats it. A number between dots is a key.
    pub(crate) fn parse(text: &str) -> Self {
        let mut steps = Vec::new();
        for part in text.split('.').filter(|part| !part.is_empty()) {
            let (key, indices) = part.split_once('[').map_or((part, ""), |(key, rest)| (key, rest));
            if !key.is_empty() {
                steps.push(Step::Key(key.to_owned()));
            }
            let indices = indices.split(['[', ']']).filter_map(|index| index.parse().ok());
            steps.extend(indices.map(Step::Index));
        }
        Self(steps)
    }

    /// Converts a JSON pointer into `value`.
    pub(crate) fn from_pointer(pointer: &str, value: &Value) -> Self {
        let mut steps = Vec::new();
        let mut value = Some(value);
        for part in pointer.split('/').skip(1) {
            let key = part.replace("~1", "/").replace("~0", "~");
            match (value, key.parse::<usize>()) {
                (Some(Value::Array(list)), Ok(index)) => {
                    value = list.get(index);
                    steps.push(Step::Index(index));
                }
                _ => {
                    value = value.and_then(|value| value.get(&key));
                    steps.push(Step::Key(key));
                }
            }
        }
        Self(steps)
    }

    /// Returns the path of a key below this one.
    pub(crate) fn key(&self, name: &str) -> Self {
        self.with(Step::Key(name.to_owned()))
    }

    /// Returns the path of an entry of this list.
    pub(crate) fn index(&self, index: usize) -> Self {
        self.with(Step::Index(index))
    }

    fn with(&self, step: Step) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }

    /// Returns the path of the enclosing table or list, or `None` for the root.
    pub(crate) fn parent(&self) -> Option<Self> {
        self.0.split_last().map(|(_, steps)| Self(steps.to_vec()))
    }

    /// Returns the steps below `other`, or `None` if the path is not at or below it.
    pub(crate) fn below(&self, other: &Self) -> Option<&[Step]> {
        self.0.strip_prefix(other.0.as_slice())
    }
}

/// Returns the value at the end of the steps.
pub(crate) fn value_at<'a>(value: &'a Value, steps: &[Step]) -> Option<&'a Value> {
    steps.iter().try_fold(value, |value, step| match step {
        Step::Key(key) => value.get(key),
        Step::Index(index) => value.get(index),
    })
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(key) if at == 0 => f.write_str(key)?,
                Step::Key(key) => write!(f, ".{key}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}
