//! Finds the settings that name a program, in files that programs obey.
//!
//! Pure. The result improves decisions and is not the security boundary; the mounts are. An unreadable file counts as
//! one that names a program.

use serde_json::Value;

use crate::protect::git_settings;

/// The format of a settings file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingsFormat {
    /// TOML keys. `*` matches one name, and a key covers everything below it.
    Toml,
    /// JSON keys, with the same rules.
    Json,
    /// Lower-case keys of git's configuration. `*` matches any subsection.
    Git,
    /// Plain texts. Quotes and escapes are removed before the search, and case is ignored.
    Text,
}

/// The returned setting if the file cannot be parsed.
const UNREADABLE: &str = "text that cannot be parsed as settings";
/// Escapes that can hide a letter.
const ESCAPES: [&str; 3] = ["\\u", "\\U", "\\x"];

/// Returns the first of the settings that the text contains. If the text cannot be parsed, returns a description
/// instead.
#[must_use]
pub fn named_setting<S: AsRef<str>>(format: SettingsFormat, text: &[u8], settings: &[S]) -> Option<String> {
    let keys = match format {
        SettingsFormat::Text => return in_text(&String::from_utf8_lossy(text), settings),
        SettingsFormat::Git => {
            git_settings(text).map(|all| all.into_iter().map(|(name, _)| git_key(&name)).collect())
        }
        SettingsFormat::Toml => value_of_toml(text).map(|value| keys(&value)),
        SettingsFormat::Json => serde_json::from_slice(text).ok().map(|value| keys(&value)),
    };
    let Some(keys): Option<Vec<Vec<String>>> = keys else { return Some(UNREADABLE.to_owned()) };
    let named = |setting: &&S| {
        let wanted: Vec<&str> = setting.as_ref().split('.').collect();
        keys.iter().any(|key| covers(&wanted, key))
    };
    settings.iter().find(named).map(|setting| setting.as_ref().to_owned())
}

/// Returns the files that a git configuration file includes under any condition, as it names them.
#[must_use]
pub fn git_includes(text: &[u8]) -> Vec<String> {
    let all = git_settings(text).unwrap_or_default();
    let is_include = |name: &str| {
        let key = git_key(name);
        matches!(key.first().map(String::as_str), Some("include" | "includeif"))
            && key.last().is_some_and(|last| last == "path")
    };
    all.into_iter().filter(|(name, _)| is_include(name)).filter_map(|(_, value)| value).collect()
}

fn in_text<S: AsRef<str>>(text: &str, settings: &[S]) -> Option<String> {
    if ESCAPES.iter().any(|escape| text.contains(escape)) {
        return Some(UNREADABLE.to_owned());
    }
    let plain: String = text.chars().filter(|c| !matches!(c, '\\' | '"' | '\'')).collect();
    let plain = plain.to_lowercase();
    let found = settings.iter().find(|setting| plain.contains(&setting.as_ref().to_lowercase()));
    found.map(|setting| setting.as_ref().to_owned())
}

/// Splits a name into section, subsection (if any) and key. A subsection may contain dots.
fn git_key(name: &str) -> Vec<String> {
    let Some((section, rest)) = name.split_once('.') else { return vec![name.to_owned()] };
    match rest.rsplit_once('.') {
        Some((subsection, key)) => vec![section.to_owned(), subsection.to_owned(), key.to_owned()],
        None => vec![section.to_owned(), rest.to_owned()],
    }
}

fn value_of_toml(text: &[u8]) -> Option<Value> {
    let table: toml::Table = std::str::from_utf8(text).ok()?.parse().ok()?;
    serde_json::to_value(table).ok()
}

/// Returns every key with its parents.
fn keys(value: &Value) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    let mut todo: Vec<(Vec<String>, &Value)> = vec![(Vec::new(), value)];
    while let Some((above, value)) = todo.pop() {
        for (name, below) in value.as_object().into_iter().flatten() {
            let key: Vec<String> = above.iter().cloned().chain([name.clone()]).collect();
            all.push(key.clone());
            todo.push((key, below));
        }
    }
    all
}

fn covers(wanted: &[&str], key: &[String]) -> bool {
    let same = |(wanted, name): (&&str, &String)| *wanted == "*" || *wanted == name;
    key.len() >= wanted.len() && wanted.iter().zip(key).all(same)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(format: SettingsFormat, text: &str, settings: &[&str]) -> Option<String> {
        named_setting(format, text.as_bytes(), settings)
    }

    #[test]
    fn a_key_is_found_however_it_is_written() {
        let settings = ["build.rustc-wrapper", "env.*"];
        for text in [
            "[build]\nrustc-wrapper = 'x'",
            "build.rustc-wrapper = 'x'",
            "build = { \"rustc\\u002dwrapper\" = 'x' }",
            "\"build\" . 'rustc-wrapper' = ''",
        ] {
            assert_eq!(
                named(SettingsFormat::Toml, text, &settings).as_deref(),
                Some("build.rustc-wrapper"),
                "{text}"
            );
        }
        assert_eq!(
            named(SettingsFormat::Toml, "[env.PATH]\nvalue = 'x'", &settings).as_deref(),
            Some("env.*")
        );
        for text in
            ["", "[build]\njobs = 4", "# build.rustc-wrapper", "[net]\n'build.rustc-wrapper' = 1", "[env]"]
        {
            assert_eq!(named(SettingsFormat::Toml, text, &settings), None, "{text}");
        }
        let json = "{\"a\": 1, \"packageM\\u0061nager\": \"x\"}";
        assert!(named(SettingsFormat::Json, json, &["packageManager"]).is_some());
        assert_eq!(
            named(SettingsFormat::Json, "{\"a\": {\"packageManager\": 1}}", &["packageManager"]),
            None
        );
    }

    #[test]
    fn what_cannot_be_read_names_a_program() {
        for format in [SettingsFormat::Toml, SettingsFormat::Json, SettingsFormat::Git] {
            assert_eq!(named(format, "= [", &["x"]).as_deref(), Some(UNREADABLE), "{format:?}");
        }
        assert_eq!(named(SettingsFormat::Text, "p\\u0061ger", &["pager"]).as_deref(), Some(UNREADABLE));
    }

    #[test]
    fn a_setting_of_git_is_found_in_any_subsection_and_includes_are_listed() {
        let settings = ["filter.*.clean", "diff.external"];
        let git = |text: &str| named(SettingsFormat::Git, text, &settings);
        assert_eq!(git("[filter \"a.b\"]\n\tClean = x").as_deref(), Some("filter.*.clean"));
        assert_eq!(git("[Diff] External = x").as_deref(), Some("diff.external"));
        let plain =
            "[core]\n\tbare = false\n\tfilemode = true\n[remote \"origin\"]\n\turl = x\n[user]\n\tname = A";
        assert_eq!(git(plain), None);
        let text = b"[include]\n path = a\n[includeIf \"gitdir:/\"] path = ~/b\n[core]\n path = c";
        assert_eq!(git_includes(text), ["a", "~/b"]);
    }

    #[test]
    fn a_text_is_found_behind_quotes_and_escapes_in_any_letters() {
        for text in ["--pager=x", "--PA\"g\"er x", "-\\-pa\\ger"] {
            assert!(named(SettingsFormat::Text, text, &["pager"]).is_some(), "{text}");
        }
        assert_eq!(named(SettingsFormat::Text, "--style=plain", &["pager"]), None);
    }
}
