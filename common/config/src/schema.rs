//! The schema of a configuration, from its types.
//!
//! schemars derives it. [`Schema::of`] brings it into one form: no references, no null, one keyword for one thing. A key
//! of the schema can have these keywords of Airlock's own:
//!
//! * `x-words`: the texts that a key accepts instead of a table.
//! * `x-write`: the values of a text in words, for messages.
//! * `x-time`: the bounds of a time, in milliseconds.
//! * `x-secret`: whether the value must not be shown.
//! * `x-guarded`: whether the environment can set the keys of the table only if a flag names them.
//! * `x-default`: the default in words, where it depends on the host.
//! * `x-values`: the descriptions of the values of an `enum`.

use jsonschema::{Draft, Keyword, ValidationError, Validator};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use crate::{
    kinds::{self, ADDRESS, TIME},
    origin::{Path, Step},
};

/// The schema of a configuration.
#[derive(Debug)]
pub struct Schema {
    json: Value,
    pub(crate) validator: Result<Validator, String>,
}

impl Schema {
    /// Derives the schema of a type.
    #[must_use]
    pub fn of<T: JsonSchema>() -> Self {
        let settings = SchemaSettings::draft07().with(|settings| settings.inline_subschemas = true);
        let mut json = settings.into_generator().into_root_schema_for::<T>().to_value();
        normalize(&mut json);
        let options = jsonschema::options()
            // In later drafts, 1.0 is an integer.
            .with_draft(Draft::Draft4)
            .should_validate_formats(true)
            .with_format(ADDRESS, kinds::is_address)
            .with_keyword(TIME, |_, bounds, _| Ok(Box::new(Bounds::of(bounds))));
        let validator = options.build(&json).map_err(|error| error.to_string());
        Self { json, validator }
    }

    /// Returns the schema in JSON.
    #[must_use]
    pub const fn json(&self) -> &Value {
        &self.json
    }

    /// Returns the schema of the key with this path.
    pub(crate) fn at(&self, path: &Path) -> Option<&Value> {
        path.0.iter().try_fold(&self.json, |schema, step| below(schema, step))
    }

    /// Reports whether the value at a path, or a value around it, must not be shown.
    pub(crate) fn is_secret(&self, path: &Path) -> bool {
        let mut schema = Some(&self.json);
        path.0.iter().any(|step| {
            schema = schema.and_then(|schema| below(schema, step));
            schema.is_some_and(|schema| has(schema, "x-secret"))
        })
    }

    /// Returns the path of the first key with this name.
    pub(crate) fn find(&self, name: &str) -> Option<Path> {
        fn visit(schema: &Value, path: &Path, name: &str) -> Option<Path> {
            properties(schema).find_map(|(key, inner)| match key == name {
                true => Some(path.key(key)),
                false => visit(inner, &path.key(key), name),
            })
        }
        visit(&self.json, &Path::default(), name)
    }
}

/// Returns the schema of an entry.
pub(crate) fn below<'a>(schema: &'a Value, step: &Step) -> Option<&'a Value> {
    match step {
        Step::Key(key) => match schema.get("properties").and_then(|keys| keys.get(key)) {
            Some(inner) => Some(inner),
            None => schema.get("additionalProperties").filter(|inner| inner.is_object()),
        },
        Step::Index(_) => schema.get("items"),
    }
}

/// Returns the keys of a table with their schemas.
pub(crate) fn properties(schema: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let keys = schema.get("properties").and_then(Value::as_object);
    keys.into_iter().flatten().map(|(key, inner)| (key.as_str(), inner))
}

/// Reports whether the schema has a keyword that is true.
pub(crate) fn has(schema: &Value, keyword: &str) -> bool {
    schema.get(keyword) == Some(&Value::Bool(true))
}

/// Reports whether a table must have exactly one of its keys.
pub(crate) fn is_exclusive(schema: &Value) -> bool {
    schema.get("maxProperties").and_then(Value::as_u64) == Some(1)
}

/// Reports whether values of this type are permitted.
pub(crate) fn allows(schema: &Value, kind: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(only)) => only == kind,
        Some(Value::Array(kinds)) => kinds.iter().any(|one| one == kind),
        _ => false,
    }
}

/// Returns the texts in the list of a keyword.
pub(crate) fn texts<'a>(schema: &'a Value, keyword: &str) -> Vec<&'a str> {
    let list = schema.get(keyword).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Returns the most similar known name.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_ascii_lowercase().replace('-', "_");
    known
        .map(|known| (strsim::damerau_levenshtein(&name, known), known))
        .filter(|(distance, known)| *distance <= 1 + known.len() / 4 && *distance < known.len())
        .min()
        .map(|(_, known)| known)
}

/// The bounds of a time.
struct Bounds(u64, u64);

impl Bounds {
    fn of(bounds: &Value) -> Self {
        let bound = |name| bounds.get(name).and_then(Value::as_u64).unwrap_or_default();
        Self(bound("least"), bound("most"))
    }
}

impl<'i> Keyword<'i> for Bounds {
    fn validate(&self, value: &'i Value) -> Result<(), ValidationError<'i>> {
        match self.is_valid(value) {
            true => Ok(()),
            false => Err(ValidationError::custom("not a time within the bounds")),
        }
    }

    fn is_valid(&self, value: &'i Value) -> bool {
        let Some(text) = value.as_str() else { return true };
        let bounds = u128::from(self.0) * 1_000_000..=u128::from(self.1) * 1_000_000;
        humantime::parse_duration(text).is_ok_and(|time| bounds.contains(&time.as_nanos()))
    }
}

fn normalize(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            map.values_mut().for_each(normalize);
            without_null(map);
            numbers(map);
            alternatives(map);
            if map.contains_key("x-default") || map.get("default") == Some(&Value::Null) {
                map.remove("default");
            }
            map.retain(|key, _| !matches!(key.as_str(), "$schema" | "title"));
        }
        Value::Array(list) => list.iter_mut().for_each(normalize),
        _ => {}
    }
}

/// Removes null from an optional field: TOML has no null.
fn without_null(map: &mut Map<String, Value>) {
    if let Some(Value::Array(options)) = map.get_mut("anyOf") {
        options.retain(|option| option != &json!({"type": "null"}));
        if let [Value::Object(only)] = options.as_mut_slice() {
            let only = std::mem::take(only);
            map.remove("anyOf");
            for (key, value) in only {
                map.entry(key).or_insert(value);
            }
        }
    }
    if let Some(Value::Array(values)) = map.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(kinds)) = map.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [only] = kinds.as_slice() {
            let only = only.clone();
            map.insert("type".to_owned(), only);
        }
    }
}

/// Gives integers the bounds of their type, which is at most that of TOML's integers.
fn numbers(map: &mut Map<String, Value>) {
    let most = match map.get("format").and_then(Value::as_str) {
        Some("uint32") => u64::from(u32::MAX),
        Some("uint" | "uint64") => i64::MAX.unsigned_abs(),
        Some("double") => {
            map.remove("format");
            return;
        }
        _ => return,
    };
    map.remove("format");
    map.entry("maximum").or_insert(most.into());
}

/// Merges the alternatives of an enum: words into `enum`, and tables of one key into a table of one of several keys.
fn alternatives(map: &mut Map<String, Value>) {
    let Some(Value::Array(options)) = map.get("oneOf").cloned() else { return };
    let (mut words, mut values, mut keys) = (Vec::new(), Map::new(), Map::new());
    for option in &options {
        let described = option.get("description").cloned();
        let mut listed = texts(option, "enum");
        listed.extend(option.get("const").and_then(Value::as_str));
        for word in listed {
            words.push(word.to_owned());
            values.extend(described.clone().map(|text| (word.to_owned(), text)));
        }
        for (key, inner) in properties(option) {
            let mut inner = inner.clone();
            if let (Some(inner), Some(text)) = (inner.as_object_mut(), described.clone()) {
                inner.entry("description").or_insert(text);
            }
            keys.insert(key.to_owned(), inner);
        }
    }
    map.remove("oneOf");
    let rest = match keys.is_empty() {
        true => json!({"type": "string", "enum": words, "x-values": values}),
        // `pattern` applies to texts only, and the other keywords to tables only.
        false => json!({
            "type": ["object", "string"],
            "pattern": format!("^({})$", words.join("|")),
            "x-words": words,
            "x-values": values,
            "properties": keys,
            "additionalProperties": false,
            "minProperties": 1,
            "maxProperties": 1,
        }),
    };
    if let Value::Object(rest) = rest {
        map.extend(rest);
    }
}
