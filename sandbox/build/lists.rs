//! The format of the lists of system calls. Unknown keys are errors. So is a call without a reason or in two places.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;

/// All lists.
pub(crate) struct Lists {
    pub(crate) allow: Vec<Allow>,
    pub(crate) checked: Vec<Checked>,
    pub(crate) refused: Vec<Refused>,
    pub(crate) constants: BTreeMap<String, u32>,
}

/// Calls that are allowed with any arguments.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Allow {
    why: String,
    pub(crate) calls: Vec<String>,
    pub(crate) only: Option<String>,
}

/// A call that depends on its arguments.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Checked {
    why: String,
    pub(crate) call: String,
    pub(crate) otherwise: String,
    pub(crate) only: Option<String>,
    pub(crate) when: Vec<Alternative>,
}

/// Conditions that must all hold.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Alternative {
    needs: Option<Need>,
    pub(crate) args: Vec<Condition>,
}

/// A feature that a profile must allow.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Need {
    Unix,
    NetlinkRoute,
}

/// The features that a profile allows.
#[derive(Clone, Copy)]
pub(crate) struct Given {
    pub(crate) unix: bool,
    pub(crate) netlink_route: bool,
}

/// A condition on one argument after the mask: it has one of the values in `is`, or it differs from all values in
/// `is_not`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Condition {
    pub(crate) arg: u8,
    pub(crate) mask: Option<Value>,
    #[serde(default)]
    pub(crate) is: Vec<Value>,
    #[serde(default)]
    pub(crate) is_not: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum Value {
    Number(u32),
    Constant(String),
}

/// Calls that are refused by name.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Refused {
    pub(crate) why: String,
    pub(crate) calls: Vec<String>,
    pub(crate) errno: String,
    pub(crate) only: Option<String>,
    /// Whether a command's result names the call.
    #[serde(default)]
    pub(crate) report: bool,
}

impl Alternative {
    pub(crate) fn counts(&self, given: Given) -> bool {
        match self.needs {
            None => true,
            Some(Need::Unix) => given.unix,
            Some(Need::NetlinkRoute) => given.netlink_route,
        }
    }
}

impl Lists {
    pub(crate) fn number(&self, value: &Value) -> u32 {
        match value {
            Value::Number(number) => *number,
            Value::Constant(name) => {
                *self.constants.get(name).unwrap_or_else(|| panic!("no constant `{name}` in checked.toml"))
            }
        }
    }

    fn check(&self) {
        let mut seen = BTreeSet::new();
        let mut once = |call: &str, why: &str| {
            assert!(!why.is_empty(), "`{call}` is listed without a reason");
            assert!(seen.insert(call.to_owned()), "`{call}` is listed twice");
        };
        self.allow.iter().for_each(|group| group.calls.iter().for_each(|call| once(call, &group.why)));
        self.refused.iter().for_each(|group| group.calls.iter().for_each(|call| once(call, &group.why)));
        self.checked.iter().for_each(|entry| once(&entry.call, &entry.why));
        for (call, condition) in self.conditions() {
            let one = condition.is.is_empty() != condition.is_not.is_empty();
            assert!(one, "a condition of `{call}` needs either `is` or `is_not`");
            let masked = condition.mask.is_some() && !condition.is_not.is_empty();
            assert!(!masked, "a condition of `{call}` compares a mask by `is_not`");
        }
    }

    fn conditions(&self) -> impl Iterator<Item = (&str, &Condition)> {
        self.checked.iter().flat_map(|entry| {
            let conditions = entry.when.iter().flat_map(|alternative| &alternative.args);
            conditions.map(|condition| (entry.call.as_str(), condition))
        })
    }
}

/// Reads and checks the lists in a directory.
pub(crate) fn read(directory: &Path) -> Lists {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct AllowFile {
        allow: Vec<Allow>,
    }
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct CheckedFile {
        constants: BTreeMap<String, u32>,
        checked: Vec<Checked>,
    }
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct RefusedFile {
        refused: Vec<Refused>,
    }
    let AllowFile { allow } = parse(&directory.join("allow.toml"));
    let CheckedFile { constants, checked } = parse(&directory.join("checked.toml"));
    let RefusedFile { refused } = parse(&directory.join("refused.toml"));
    let lists = Lists { allow, checked, refused, constants };
    lists.check();
    lists
}

fn parse<T: DeserializeOwned>(path: &Path) -> T {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
