//! Test cases on disk. A file of `test_data` is a table of cases. A case has a number, a name, a command, the further
//! fields of the request, and the expected decision.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use airlock_policy::{Decision, Mode, Profile, Request, Rules, Shell, Unsandboxed, decide};
use serde::{Deserialize, Serialize};

/// The expected decision, and the request.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Expectation {
    /// `allow`, `ask` or `deny`.
    pub(crate) verdict: String,
    /// The code of the deciding reason.
    first: Option<String>,
    /// Codes that must be among the reasons.
    with: Vec<String>,
    /// Codes that must not be among the reasons.
    without: Vec<String>,
    read_only: Option<bool>,
    parse_complete: Option<bool>,
    concurrency_safe: Option<bool>,
    no_output_expected: Option<bool>,
    category: Option<String>,
    /// Commands that must be found, their words joined by spaces, `?` for an unknown word.
    commands: Vec<String>,
    /// Access and path, such as `read /etc/passwd`.
    paths: Vec<String>,
    requires: Option<Vec<String>>,
    rewrites: Vec<String>,
    warnings: Vec<String>,
    suggested: Option<Vec<String>>,
    suggests_not: Vec<String>,
    /// Whether no suggested rule may end in `:*`.
    suggests_no_prefix: bool,
    rewrites_nothing: bool,
    warns_nothing: bool,
    is_no_edit: bool,
    /// The first file and the script of a file edit.
    edit: Option<(String, String)>,
    request: Asked,
    rules: RuleTexts,
}

/// The fields of the request other than the command.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Asked {
    shell: Option<Shell>,
    mode: Option<Mode>,
    cwd: Option<String>,
    /// The name of a built-in profile, or the text of another profile.
    profile: Option<String>,
    /// If set, the request asks to run outside the sandbox, and this is whether the runner's floor
    /// permits it.
    unsandboxed: Option<bool>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct RuleTexts {
    allow: Vec<String>,
    ask: Vec<String>,
    deny: Vec<String>,
}

pub(crate) struct Case {
    /// The table, the number and the name.
    pub(crate) name: String,
    pub(crate) command: Vec<u8>,
    pub(crate) expected: Expectation,
}

/// A row of a table.
#[derive(Deserialize)]
struct Row {
    number: usize,
    name: String,
    command: String,
    /// A text that follows `command` many times.
    repeated: Option<Repeated>,
    #[serde(flatten)]
    expected: toml::Table,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Repeated {
    text: String,
    times: usize,
}

/// One class of attacks on PowerShell decisions, and of texts that resemble them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Class {
    pub(crate) name: String,
    /// The code of the denials. Empty for a class with several, and for one without denials.
    #[serde(default)]
    pub(crate) rule: String,
    /// Whether the texts are for bash.
    #[serde(default)]
    pub(crate) in_bash: bool,
    pub(crate) attacks: Vec<String>,
    pub(crate) lookalikes: Vec<String>,
}

/// Returns the classes of a file in `test_data`.
///
/// # Panics
/// If a class has fewer than ten attacks or look-alikes.
pub(crate) fn classes(file: &str) -> Vec<Class> {
    #[derive(Deserialize)]
    struct Classes {
        class: Vec<Class>,
    }
    let text = std::fs::read_to_string(test_data().join(file)).unwrap();
    let classes: Classes = toml::from_str(&text).unwrap();
    for class in &classes.class {
        let enough = class.attacks.len() >= 10 && class.lookalikes.len() >= 10;
        assert!(enough, "{}: {} and {}", class.name, class.attacks.len(), class.lookalikes.len());
    }
    classes.class
}

pub(crate) fn test_data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("test_data")
}

/// Returns the entries of a directory in sorted order.
pub(crate) fn entries(directory: &Path) -> Vec<PathBuf> {
    let listing =
        std::fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let mut entries: Vec<PathBuf> = listing.map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    entries
}

/// Returns the cases of a table, by its path below `test_data` without `.toml`.
pub(crate) fn cases(table: &str) -> Vec<Case> {
    kind_of_cases(table, "case")
}

/// Returns the cases of one table. Their numbers must increase.
pub(crate) fn kind_of_cases(table: &str, kind: &str) -> Vec<Case> {
    let text = std::fs::read_to_string(test_data().join(format!("{table}.toml")))
        .unwrap_or_else(|error| panic!("{table}: {error}"));
    let mut kinds: BTreeMap<String, Vec<Row>> =
        toml::from_str(&text).unwrap_or_else(|error| panic!("{table}: {error}"));
    let unknown = kinds.keys().find(|kind| !["case", "attack", "look_alike"].contains(&kind.as_str()));
    assert_eq!(unknown, None, "{table} has cases that no test reads");
    let rows = kinds.remove(kind).unwrap_or_else(|| panic!("{table} has no [[{kind}]]"));
    let mut last = 0;
    rows.into_iter()
        .map(|row| {
            let name = format!("{table}, {kind} {} {}", row.number, row.name);
            assert!(row.number > last, "{name} is not in the order of its number");
            last = row.number;
            let repeated = row.repeated.map(|part| part.text.repeat(part.times)).unwrap_or_default();
            Case {
                command: (row.command + &repeated).into_bytes(),
                expected: row.expected.try_into().unwrap_or_else(|error| panic!("{name}: {error}")),
                name,
            }
        })
        .collect()
}

impl Case {
    pub(crate) fn decide(&self) -> Decision {
        self.decide_with(&[])
    }

    /// Decides with additional allow rules.
    pub(crate) fn decide_with(&self, more: &[String]) -> Decision {
        let asked = &self.expected.request;
        let profile = asked.profile.as_deref().unwrap_or("strict");
        let profile = Profile::builtin(profile)
            .unwrap_or_else(|| Profile::from_toml(profile, "case.toml", &|_| None).unwrap());
        let texts = &self.expected.rules;
        let allow: Vec<String> = texts.allow.iter().chain(more).cloned().collect();
        let rules = Rules::parse(&allow, &texts.ask, &texts.deny).unwrap();
        let request = Request {
            shell: asked.shell.unwrap_or(Shell::Bash),
            mode: asked.mode,
            cwd: asked.cwd.as_deref(),
            unsandboxed: asked.unsandboxed.map(|floor_permits| Unsandboxed { floor_permits }),
            extra_rules: Some(&rules),
            ..Request::bash(&self.command)
        };
        decide(&request, &profile)
    }

    /// Returns the differences from the expectation, one line each.
    pub(crate) fn differences(&self) -> Vec<String> {
        let decision = self.decide();
        let expected = &self.expected;
        let mut out = Vec::new();
        let mut check = |what: &str, holds: bool, found: String| {
            if !holds {
                out.push(format!("{}: {what}, found {found}", self.name));
            }
        };
        let verdict = name(&decision.verdict);
        check(&format!("verdict {}", expected.verdict), verdict == expected.verdict, verdict);
        let codes: Vec<&str> = decision.reasons.iter().map(|reason| reason.code).collect();
        let first = expected.first.as_deref();
        check(&format!("first {first:?}"), first.is_none_or(|code| codes[0] == code), format!("{codes:?}"));
        for code in &expected.with {
            check(&format!("with {code}"), codes.contains(&code.as_str()), format!("{codes:?}"));
        }
        for code in &expected.without {
            check(&format!("without {code}"), !codes.contains(&code.as_str()), format!("{codes:?}"));
        }
        let flags = [
            ("read_only", expected.read_only, decision.read_only),
            ("parse_complete", expected.parse_complete, decision.parse_complete),
            ("concurrency_safe", expected.concurrency_safe, decision.concurrency_safe),
            ("no_output_expected", expected.no_output_expected, decision.no_output_expected),
        ];
        for (what, wanted, found) in flags {
            check(what, wanted.is_none_or(|wanted| wanted == found), found.to_string());
        }
        let category = name(&decision.category);
        check("category", expected.category.as_ref().is_none_or(|c| *c == category), category);
        for (what, wanted, found) in lists(expected, &decision) {
            for wanted in wanted {
                check(&format!("{what} `{wanted}`"), found.contains(wanted), format!("{found:?}"));
            }
        }
        let requires: Vec<String> = decision.requires.iter().map(name).collect();
        check("requires", expected.requires.as_ref().is_none_or(|r| *r == requires), format!("{requires:?}"));
        let suggested = &decision.suggested_rules;
        check(
            "suggested",
            expected.suggested.as_ref().is_none_or(|s| s == suggested),
            format!("{suggested:?}"),
        );
        let prefix = suggested.iter().any(|rule| rule.ends_with(":*)"));
        let over_broad = suggested.iter().any(|rule| expected.suggests_not.contains(rule));
        let unwanted = over_broad || (expected.suggests_no_prefix && prefix);
        check("suggests less", !unwanted, format!("{suggested:?}"));
        let warned = expected.warns_nothing && !decision.warnings.is_empty();
        check("warns nothing", !warned, format!("{:?}", decision.warnings));
        let rewritten = expected.rewrites_nothing && !decision.rewrites.is_empty();
        check("rewrites nothing", !rewritten, format!("{:?}", decision.rewrites));
        check(
            "is no edit",
            !(expected.is_no_edit && decision.edit.is_some()),
            format!("{:?}", decision.edit),
        );
        let edit = decision.edit.and_then(|edit| {
            let path = edit.files.into_iter().next()?.path;
            Some((path, edit.expressions.join("\n")))
        });
        check("edit", expected.edit.is_none() || expected.edit == edit, format!("{edit:?}"));
        out
    }
}

/// Returns the lists in which each expected entry must occur.
fn lists<'e>(
    expected: &'e Expectation,
    decision: &Decision,
) -> [(&'static str, &'e [String], Vec<String>); 4] {
    let paths = decision.paths.iter().map(|path| format!("{} {}", name(&path.access), path.path)).collect();
    let rewrites = decision.rewrites.iter().map(|rewrite| rewrite.text.clone()).collect();
    let warnings = decision.warnings.iter().map(|warning| warning.code.to_owned()).collect();
    [
        ("command", &expected.commands, commands(decision)),
        ("path", &expected.paths, paths),
        ("rewrite", &expected.rewrites, rewrites),
        ("warning", &expected.warnings, warnings),
    ]
}

fn commands(decision: &Decision) -> Vec<String> {
    let words = |argv: &[airlock_policy::Word]| -> Vec<String> {
        argv.iter()
            .map(|word| {
                word.text.as_deref().map_or("?".into(), |text| String::from_utf8_lossy(text).into_owned())
            })
            .collect()
    };
    decision.commands.iter().map(|command| words(&command.argv).join(" ")).collect()
}

/// Returns the name of an enum's variant in JSON.
fn name(value: &impl Serialize) -> String {
    serde_json::to_value(value).unwrap().as_str().unwrap().to_owned()
}

pub(crate) fn assert_none(differences: &[String]) {
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
}

pub(crate) fn strict(command: &str) -> Decision {
    decide(&Request::bash(command.as_bytes()), &Profile::builtin("strict").unwrap())
}

pub(crate) fn code(decision: &Decision) -> &'static str {
    decision.reasons[0].code
}

pub(crate) fn codes(decision: &Decision) -> Vec<&'static str> {
    decision.reasons.iter().map(|reason| reason.code).collect()
}

pub(crate) fn with_rules(command: &str, allow: &[&str], ask: &[&str], deny: &[&str]) -> Decision {
    let rules = Rules::parse(allow, ask, deny).unwrap();
    let request = Request { extra_rules: Some(&rules), ..Request::bash(command.as_bytes()) };
    decide(&request, &Profile::builtin("strict").unwrap())
}

pub(crate) fn in_mode(command: &str, mode: Mode) -> Decision {
    let request = Request { mode: Some(mode), ..Request::bash(command.as_bytes()) };
    decide(&request, &Profile::builtin("sandboxed").unwrap())
}
