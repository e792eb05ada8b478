//! Remarks on commands that destroy, for whoever approves.

use crate::analysis::{Analysis, Found};
use crate::decision::Warning;
use crate::launch::base_name;

/// What a command must hold to be warned about: program, words, any of these flags.
struct Entry {
    code: &'static str,
    program: &'static str,
    words: &'static [&'static str],
    flags: &'static [&'static str],
    message: &'static str,
}

const fn entry(
    code: &'static str,
    program: &'static str,
    words: &'static [&'static str],
    flags: &'static [&'static str],
    message: &'static str,
) -> Entry {
    Entry { code, program, words, flags, message }
}

const ENTRIES: &[Entry] = &[
    entry("git_reset_hard", "git", &["reset"], &["--hard"], "throws away uncommitted changes"),
    entry(
        "git_push_force",
        "git",
        &["push"],
        &["--force", "-f", "--force-with-lease"],
        "overwrites history on the remote",
    ),
    entry(
        "git_clean",
        "git",
        &["clean"],
        &["-f", "-fd", "-fdx", "-df", "--force"],
        "removes untracked files",
    ),
    entry("git_checkout_all", "git", &["checkout", "."], &[], "throws away uncommitted changes"),
    entry("git_stash_drop", "git", &["stash", "drop"], &[], "removes a stash"),
    entry("git_stash_clear", "git", &["stash", "clear"], &[], "removes every stash"),
    entry("git_branch_delete", "git", &["branch"], &["-D"], "removes a branch that is not merged"),
    entry("git_amend", "git", &["commit"], &["--amend"], "rewrites the last commit"),
    entry("git_no_verify", "git", &[], &["--no-verify"], "skips the hooks"),
    entry("git_no_gpg_sign", "git", &[], &["--no-gpg-sign"], "skips the signature"),
    entry("git_add_all", "git", &["add"], &["-A", ".", "--all"], "stages everything"),
    entry(
        "rm_recursive",
        "rm",
        &[],
        &["-r", "-f", "-rf", "-fr", "-R", "--recursive", "--force"],
        "removes without asking",
    ),
    entry("kubectl_delete", "kubectl", &["delete"], &[], "removes objects of a cluster"),
    entry("terraform_destroy", "terraform", &["destroy"], &[], "removes infrastructure"),
    entry("chmod_777", "chmod", &["777"], &["-R", "--recursive"], "lets everybody write"),
];

const STATEMENTS: &[(&str, &str)] = &[
    ("drop table", "removes a table"),
    ("drop database", "removes a database"),
    ("truncate ", "empties a table"),
    ("delete from", "removes rows"),
];

pub(super) fn warnings(analysis: &Analysis) -> Vec<Warning> {
    let mut out = Vec::new();
    for (index, found) in analysis.commands.iter().enumerate() {
        out.extend(
            ENTRIES
                .iter()
                .filter(|entry| applies(entry, found))
                .map(|entry| warning(entry.code, entry.message, found)),
        );
        let name = base_name(found.program().unwrap_or_default());
        if name == b"dd" && found.words.iter().any(|word| word.lead.starts_with(b"of=")) {
            out.push(warning("dd_of", "overwrites a file or a device", found));
        }
        if name.starts_with(b"mkfs") {
            out.push(warning("mkfs", "makes a file system, and destroys what was there", found));
        }
        out.extend(statement(found));
        if matches!(name, b"curl" | b"wget") && feeds_shell(analysis, index) {
            out.push(warning("download_and_run", "runs what it downloads", found));
        }
    }
    out
}

fn warning(code: &'static str, message: &str, found: &Found) -> Warning {
    Warning { code, message: message.to_owned(), span: Some(found.span) }
}

fn applies(entry: &Entry, found: &Found) -> bool {
    let texts: Vec<&[u8]> = found.words.iter().filter_map(|word| word.text.as_deref()).collect();
    let holds = |wanted: &&str| texts.iter().skip(1).any(|text| *text == wanted.as_bytes());
    texts.first().is_some_and(|program| base_name(program) == entry.program.as_bytes())
        && entry.words.iter().all(&holds)
        && (entry.flags.is_empty() || entry.flags.iter().any(holds))
}

fn statement(found: &Found) -> Option<Warning> {
    let database = matches!(
        base_name(found.program().unwrap_or_default()),
        b"psql" | b"mysql" | b"sqlite3" | b"mariadb" | b"clickhouse-client"
    );
    let heredoc = found.redirects.iter().filter_map(|redirect| redirect.target.as_ref());
    let texts = found.words.iter().chain(heredoc).filter_map(|word| word.text.as_deref());
    let text = texts
        .map(|text| String::from_utf8_lossy(text).to_lowercase())
        .find_map(|text| STATEMENTS.iter().find(|(statement, _)| text.contains(statement)));
    text.filter(|_| database).map(|(_, message)| warning("sql_destructive", message, found))
}

/// A later part of the pipeline is a shell.
fn feeds_shell(analysis: &Analysis, index: usize) -> bool {
    analysis.commands.iter().skip(index + 1).any(|found| {
        matches!(
            base_name(found.program().unwrap_or_default()),
            b"sh" | b"bash" | b"zsh" | b"dash" | b"python" | b"python3" | b"node"
        )
    })
}
