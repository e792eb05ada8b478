//! Assignments from the environment and from flags. They name a key of the schema, and replace its value.

use std::ffi::OsString;

use serde_json::Value;

use crate::{
    document::Document,
    origin::{Origin, Path, Step},
    problem::Problem,
    schema::{Schema, allows, below, has, nearest, properties},
};

/// The separator of keys in the name of a variable. Kubernetes sets variables such as `AIRLOCK_SERVER_PORT` for its
/// services; they do not contain it.
const SEPARATOR: &str = "__";
/// The largest index of an entry that an assignment can name.
const INDEX_MOST: usize = 999;

/// The environment and the flags of a process, for one configuration.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    /// The prefix of variables, such as `AIRLOCK_SERVER`.
    pub prefix: &'static str,
    /// The variables with this prefix and a separator, by name; `None` for a value that is not UTF-8.
    pub variables: Vec<(String, Option<String>)>,
    /// Variables with names of their own: name, key and value. They apply only if the file has the table of the key.
    pub named: Vec<(&'static str, &'static str, String)>,
    /// The values of `--set`, as `KEY=VALUE`.
    pub flags: Vec<String>,
    /// The guarded keys that the environment can set: the values of `--env-may-widen`.
    pub may_widen: Vec<String>,
}

impl Overrides {
    /// Selects the variables of a configuration from an environment. Other variables have no effect.
    #[must_use]
    pub fn new(
        prefix: &'static str,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
        flags: Vec<String>,
    ) -> Self {
        let of_prefix =
            |name: &String| name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(SEPARATOR));
        let named = environment.into_iter().filter_map(|(name, value)| {
            Some((name.into_string().ok().filter(of_prefix)?, value.into_string().ok()))
        });
        let mut variables: Vec<_> = named.collect();
        variables.sort();
        Self { prefix, variables, flags, ..Self::default() }
    }
}

/// A value for one key.
#[derive(Debug)]
pub(crate) struct Assignment {
    pub(crate) path: Path,
    pub(crate) value: Value,
    pub(crate) origin: Origin,
}

/// Returns the assignments in the order of precedence. Assignments that are refused are added to the problems.
pub(crate) fn assignments(
    overrides: &Overrides,
    schema: &Schema,
    document: &Document,
    problems: &mut Vec<Problem>,
) -> Vec<Assignment> {
    let mut found = Vec::new();
    let named = overrides.named.iter().filter_map(|(name, key, text)| {
        let path = Path::parse(key);
        document.spot(&path.parent()?)?;
        Some(Assignment {
            value: value(schema, &path, text),
            path,
            origin: Origin::Variable((*name).to_owned()),
        })
    });
    found.extend(named);
    for (name, text) in &overrides.variables {
        let origin = Origin::Variable(name.clone());
        let rest = name.strip_prefix(overrides.prefix).unwrap_or_default();
        let rest = rest.strip_prefix(SEPARATOR).unwrap_or_default();
        let Some(text) = text else {
            problems.push(refused(
                origin,
                String::new(),
                "its value is not UTF-8",
                "set it to a text in UTF-8",
            ));
            continue;
        };
        match variable_path(schema, rest) {
            Ok(path) => found.push(Assignment { value: value(schema, &path, text), path, origin }),
            Err(what) => {
                problems.push(refused(origin, String::new(), what, "write it as PREFIX__SECTION__KEY"));
            }
        }
    }
    found.retain(|one| permitted(one, schema, &overrides.may_widen, problems));
    for flag in &overrides.flags {
        let (key, text) = flag.split_once('=').unwrap_or((flag, ""));
        let origin = Origin::Flag(format!("--set {key}"));
        match (flag.contains('='), flag_path(schema, key)) {
            (true, Ok(path)) => found.push(Assignment { value: value(schema, &path, text), path, origin }),
            (false, _) => {
                problems.push(refused(origin, String::new(), "it has no value", "write --set KEY=VALUE"));
            }
            (true, Err(what)) => {
                problems.push(refused(origin, String::new(), what, "write it as --set section.key=VALUE"));
            }
        }
    }
    found
}

fn refused(origin: Origin, field: String, what: &str, cure: &str) -> Problem {
    Problem { origin: Some(origin), field, what: what.to_owned(), cure: cure.to_owned() }
}

/// Reports whether the environment can set a key. It can set a key of a guarded table only if a flag names the key.
fn permitted(one: &Assignment, schema: &Schema, may_widen: &[String], problems: &mut Vec<Problem>) -> bool {
    let guarded = one.path.0.first().and_then(|first| below(schema.json(), first));
    if !guarded.is_some_and(|schema| has(schema, "x-guarded")) {
        return true;
    }
    // The first two steps name a guarded key. A variable can also contain the whole table.
    let keys: Vec<Path> = match (one.path.0.get(..2), &one.value) {
        (Some(steps), _) => vec![Path(steps.to_vec())],
        (None, Value::Object(table)) => table.keys().map(|key| one.path.key(key)).collect(),
        (None, _) => vec![one.path.clone()],
    };
    let before = problems.len();
    // An unknown key has no effect. The validation reports it.
    let known = keys.iter().filter(|key| schema.at(key).is_some()).map(Path::to_string);
    for key in known.filter(|key| !may_widen.contains(key)) {
        let cure = format!("set it in the file, or permit it with `--env-may-widen {key}`");
        let what = "the environment must not change it, because it could permit more than the file does";
        problems.push(refused(one.origin.clone(), key, what, &cure));
    }
    problems.len() == before
}

/// Returns the problems of the keys that `--env-may-widen` names.
pub(crate) fn unknown_permissions(overrides: &Overrides, schema: &Schema) -> Vec<Problem> {
    let guarded = properties(schema.json()).filter(|(_, table)| has(table, "x-guarded"));
    let known: Vec<String> = guarded
        .flat_map(|(table, inner)| properties(inner).map(move |(key, _)| format!("{table}.{key}")))
        .collect();
    let unknown = overrides.may_widen.iter().filter(|key| !known.contains(key));
    unknown
        .map(|key| {
            let near = nearest(key, known.iter().map(String::as_str));
            let cure = near.map_or_else(
                || format!("name one of {}", known.join(", ")),
                |near| format!("did you mean `{near}`?"),
            );
            let origin = Origin::Flag(format!("--env-may-widen {key}"));
            refused(origin, String::new(), "there is no such key", &cure)
        })
        .collect()
}

/// Returns the name of the variable for a key.
pub(crate) fn variable(prefix: &str, schema: &Schema, path: &Path) -> String {
    let mut name = prefix.to_owned();
    let mut schema = Some(schema.json());
    for step in &path.0 {
        let shown = match step {
            Step::Index(index) => index.to_string(),
            Step::Key(key) if schema.is_some_and(is_map) => key.clone(),
            Step::Key(key) => key.to_ascii_uppercase(),
        };
        name = format!("{name}{SEPARATOR}{shown}");
        schema = schema.and_then(|schema| below(schema, step));
    }
    name
}

/// Reports whether a table has keys of the user's choice, such as the names of labels.
fn is_map(schema: &Value) -> bool {
    schema.get("additionalProperties").is_some_and(Value::is_object)
}

/// Parses the part of a variable's name after its prefix.
fn variable_path(schema: &Schema, name: &str) -> Result<Path, &'static str> {
    let mut path = Path::default();
    let mut schema = Some(schema.json());
    let mut rest = Some(name);
    while let Some(name) = rest {
        let step = if schema.is_some_and(is_map) {
            rest = None;
            Step::Key(name.to_owned())
        } else {
            let (part, after) =
                name.split_once(SEPARATOR).map_or((name, None), |(part, after)| (part, Some(after)));
            rest = after;
            match part.parse() {
                Ok(index) if schema.is_some_and(|schema| allows(schema, "array")) => indexed(index)?,
                _ => named(&part.to_ascii_lowercase())?,
            }
        };
        schema = schema.and_then(|schema| below(schema, &step));
        path.0.push(step);
    }
    Ok(path)
}

/// Parses the key of `--set`, such as `limits.queue`, `server[0].key` or `labels.example.org/zone`.
fn flag_path(schema: &Schema, key: &str) -> Result<Path, &'static str> {
    let mut path = Path::default();
    let mut schema = Some(schema.json());
    let mut rest = key;
    while !rest.is_empty() || path.0.is_empty() {
        let step = if schema.is_some_and(is_map) {
            Step::Key(std::mem::take(&mut rest).to_owned())
        } else if let Some(indexed_rest) = rest.strip_prefix('[') {
            let (index, after) = indexed_rest.split_once(']').ok_or("an index has no closing bracket")?;
            rest = after;
            indexed(index.parse().map_err(|_| "an index is not a number")?)?
        } else {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            rest = after;
            named(name)?
        };
        rest = rest.strip_prefix('.').unwrap_or(rest);
        schema = schema.and_then(|schema| below(schema, &step));
        path.0.push(step);
    }
    Ok(path)
}

fn indexed(index: usize) -> Result<Step, &'static str> {
    match index <= INDEX_MOST {
        true => Ok(Step::Index(index)),
        false => Err("an index is larger than 999"),
    }
}

/// Reports whether a key needs no quotes.
pub(crate) fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    !name.is_empty() && name.chars().all(fits)
}

fn named(name: &str) -> Result<Step, &'static str> {
    match is_name(name) {
        true => Ok(Step::Key(name.to_owned())),
        false => Err("it does not name a key"),
    }
}

/// Converts the text of an assignment. Where the schema has a text, the text is taken as it is. Elsewhere it is a value
/// in TOML.
fn value(schema: &Schema, path: &Path, text: &str) -> Value {
    let schema = schema.at(path);
    let is_text = schema.is_none_or(|schema| allows(schema, "string"));
    let is_table =
        schema.is_some_and(|schema| allows(schema, "object")) && text.trim_start().starts_with('{');
    let parsed = (!is_text || is_table).then(|| Document::parse(&format!("value = {text}")).ok()).flatten();
    let parsed = parsed.and_then(|document| match document.value {
        Value::Object(mut table) if table.len() == 1 => table.remove("value"),
        _ => None,
    });
    parsed.unwrap_or_else(|| Value::String(text.to_owned()))
}
