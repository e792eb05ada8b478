//! The layers of a configuration: a file, the environment and flags. The types add the defaults.
//!
//! The crate `config` merges the layers. This module knows the origin of each value.

use std::mem::discriminant;

use config::{Map, Source, Value as Setting, ValueKind};
use serde_json::Value;

use crate::{
    document::Document,
    origin::{Origin, Path, Step, value_at},
    overrides::{self, Assignment, Overrides},
    problem::Problem,
    schema::Schema,
};

/// The merged value of all layers.
#[derive(Debug)]
pub(crate) struct Merged {
    pub(crate) value: Value,
    document: Document,
    assignments: Vec<Assignment>,
    names: Names,
}

#[derive(Debug, Clone, Copy)]
struct Names {
    prefix: &'static str,
    schema: &'static Schema,
}

/// A part of an entry in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Key,
    Value,
}

impl Merged {
    /// Merges the layers. Assignments that are refused are added to the problems.
    pub(crate) fn of(
        document: Document,
        overrides: &Overrides,
        schema: &'static Schema,
        problems: &mut Vec<Problem>,
    ) -> Self {
        let assignments = overrides::assignments(overrides, schema, &document, problems);
        let mut builder = config::Config::builder().add_source(File(document.value.clone()));
        for one in &assignments {
            builder = builder.add_source(Override::of(one));
        }
        let merged = builder.build().and_then(config::Config::try_deserialize);
        let mut value: Value = merged.unwrap_or_else(|error| {
            let what = format!("the layers cannot be merged: {error}");
            problems.push(Problem {
                origin: None,
                field: String::new(),
                what,
                cure: "report this".to_owned(),
            });
            document.value.clone()
        });
        if let (Some(value), Some(file)) = (value.as_object_mut(), document.value.as_object()) {
            let odd = file.iter().filter(|(key, _)| !overrides::is_name(key));
            value.extend(odd.map(|(key, value)| (key.clone(), value.clone())));
        }
        let names = Names { prefix: overrides.prefix, schema };
        Self { value, document, assignments, names }
    }

    /// Reports whether no layer has a key.
    pub(crate) fn is_empty(&self) -> bool {
        self.document.is_empty() && self.assignments.is_empty()
    }

    /// Returns the origin of a key, or that of the nearest enclosing table.
    pub(crate) fn origin(&self, path: &Path, part: Part) -> Origin {
        let own = self.own(path, part);
        match (own, path.parent()) {
            (Some(origin), _) => origin,
            (None, Some(parent)) => self.origin(&parent, Part::Key),
            (None, None) => Origin::Place(self.document.place(0)),
        }
    }

    /// Returns the origin of a key, or `None` if no layer has it.
    pub(crate) fn own(&self, path: &Path, part: Part) -> Option<Origin> {
        let sets = |one: &&Assignment| {
            path.below(&one.path).is_some_and(|steps| value_at(&one.value, steps).is_some())
        };
        if let Some(one) = self.assignments.iter().rev().find(sets) {
            return Some(one.origin.clone());
        }
        // An assignment below a value of the file replaces it by a table.
        let same = match (value_at(&self.document.value, &path.0), value_at(&self.value, &path.0)) {
            (Some(file), Some(merged)) => discriminant(file) == discriminant(merged),
            _ => true,
        };
        if let Some(spot) = self.document.spot(path).filter(|_| same) {
            let offset = if part == Part::Key { spot.key } else { spot.value };
            return Some(Origin::Place(self.document.place(offset)));
        }
        let inside = |one: &&Assignment| !path.0.is_empty() && one.path.below(path).is_some();
        self.assignments.iter().rev().find(inside).map(|one| one.origin.clone())
    }

    /// Returns the name of the variable for a key.
    pub(crate) fn variable(&self, path: &Path) -> String {
        overrides::variable(self.names.prefix, self.names.schema, path)
    }
}

/// The layer of the file, without keys that the crate `config` reads as a path, such as `"limits.queue"`. No
/// configuration has such a key.
#[derive(Debug, Clone)]
struct File(Value);

impl Source for File {
    fn clone_into_box(&self) -> Box<dyn Source + Send + Sync> {
        Box::new(self.clone())
    }

    fn collect(&self) -> Result<Map<String, Setting>, config::ConfigError> {
        match setting(&self.0).kind {
            ValueKind::Table(table) => {
                Ok(table.into_iter().filter(|(key, _)| overrides::is_name(key)).collect())
            }
            _ => Ok(Map::new()),
        }
    }
}

/// The layer of one assignment: a path of the crate `config`, and a value.
#[derive(Debug, Clone)]
struct Override {
    path: String,
    value: Setting,
}

impl Override {
    /// The path reaches to the last index. Below it, keys can have any characters.
    fn of(one: &Assignment) -> Self {
        let steps = &one.path.0;
        let last = steps.iter().rposition(|step| matches!(step, Step::Index(_))).unwrap_or(0);
        let (head, tail) = steps.split_at((last + 1).min(steps.len()));
        let value = tail.iter().rev().fold(setting(&one.value), |inner, step| match step {
            Step::Key(key) => Setting::new(None, Map::from([(key.clone(), inner)])),
            Step::Index(_) => inner,
        });
        Self { path: Path(head.to_vec()).to_string(), value }
    }
}

impl Source for Override {
    fn clone_into_box(&self) -> Box<dyn Source + Send + Sync> {
        Box::new(self.clone())
    }

    fn collect(&self) -> Result<Map<String, Setting>, config::ConfigError> {
        Ok(Map::from([(self.path.clone(), self.value.clone())]))
    }
}

/// Converts a value to the type of the crate `config`.
fn setting(value: &Value) -> Setting {
    let kind = match value {
        Value::Null => ValueKind::Nil,
        Value::Bool(value) => ValueKind::Boolean(*value),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => ValueKind::I64(number),
            (None, Some(number)) => ValueKind::U64(number),
            (None, None) => ValueKind::Float(number.as_f64().unwrap_or_default()),
        },
        Value::String(text) => ValueKind::String(text.clone()),
        Value::Array(list) => ValueKind::Array(list.iter().map(setting).collect()),
        Value::Object(table) => {
            ValueKind::Table(table.iter().map(|(key, value)| (key.clone(), setting(value))).collect())
        }
    };
    Setting::new(None, kind)
}
