//! Finds programs that were started without a prediction. It compares names only; property 1 covers
//! arguments.

use airlock_policy::Decision;

use super::inside::Started;

/// Helpers that programs always start: the starter, the helper with its first arguments, and the
/// reason.
const HELPERS: &[(&str, &[&str], &str)] = &[
    (
        "ag",
        &["sh", "-c", "git config -z --path --get core.excludesfile 2>/dev/null"],
        "asks git what to leave out",
    ),
    ("sh", &["git", "config", "-z", "--path", "--get", "core.excludesfile"], "what ag asks"),
    ("locale", &["gzip", "-d", "-c"], "reads its tables, which Debian packs"),
    ("npm", &["node", "/usr/bin/npm"], "a script that env starts node for"),
    ("yq", &["jq"], "one of the two programs named yq converts YAML to JSON for jq"),
    ("pip", &["lsb_release", "-a"], "says which system it is on"),
];

/// Scripts that combine programs: the scripts, all programs that they start, and the reason.
const SCRIPTS: &[(&str, &str, &str)] = &[
    ("egrep fgrep", "grep", "another name for a flag of grep"),
    ("zcat gunzip", "gzip", "another name for a flag of gzip"),
    ("zegrep zfgrep", "zgrep", "another name for a flag of zgrep"),
    (
        "zgrep",
        "grep gzip expr sed bzip2 xz zstd mktemp cat rm",
        "unpacks and searches; its patterns in /var/tmp",
    ),
    ("xzgrep xzegrep xzfgrep", "grep xz gzip bzip2 lzop zstd expr sed", "unpacks and searches"),
    ("bzgrep bzegrep bzfgrep", "grep egrep fgrep bzip2 sed", "unpacks and searches"),
    ("zstdgrep", "grep zstdcat", "unpacks and searches"),
    ("diff3 sdiff", "diff", "compares two by two"),
    ("git-bisect git-submodule", "basename cat envsubst expr gettext sed uname", "scripts of git's own"),
    ("apt apt-cache apt-mark", "dpkg", "asks it for the machine"),
    ("dpkg", "dpkg-query", "the part of it that lists"),
    ("tar", "gzip bzip2 xz zstd lzip lzma lzop compress", "unpacks what it lists"),
    ("bat batcat", "cat", "the PAGER that Airlock sets"),
    ("node", "man", "npm shows its manual by it"),
    ("git", "man", "shows its manual by it"),
    ("man", "preconv tbl eqn nroff groff troff grotty col cat locale", "formats a page"),
];

/// The directories of git's own programs.
const GIT_CORE: &[&str] = &["/usr/lib/git-core/", "/usr/libexec/git-core/", "/usr/local/libexec/git-core/"];

/// Returns the unpredicted programs with their arguments: those that are neither commands of the decision nor helpers
/// of such a command.
#[must_use]
pub fn unpredicted(decision: &Decision, started: &[Started]) -> Vec<String> {
    let names: Vec<&str> = decision
        .commands
        .iter()
        .filter_map(|command| command.argv.first()?.text.as_deref())
        .filter_map(|name| std::str::from_utf8(name).ok())
        .map(base_name)
        .collect();
    // Skips Airlock's own shell, which runs the command.
    let others =
        started.iter().skip_while(|program| !program.argv.iter().any(|word| word == "--norc")).skip(1);
    let surplus = others.filter(|program| {
        let starter = program.by.and_then(|by| started.get(by));
        !names.contains(&base_name(&program.path)) && !starter.is_some_and(|starter| helps(starter, program))
    });
    let starter =
        |program: &Started| program.by.and_then(|by| started.get(by)).map_or("nothing", |from| &from.path);
    surplus
        .map(|program| format!("{} started {} {:?}", starter(program), program.path, program.argv))
        .collect()
}

fn helps(starter: &Started, program: &Started) -> bool {
    let (from, name) = (base_name(&starter.path), base_name(&program.path));
    let by_table = HELPERS.iter().any(|(known, words, _)| {
        let same = program.argv.iter().zip(*words).all(|(given, word)| base_name(given) == base_name(word));
        *known == from && program.argv.len() >= words.len() && same
    });
    let is_git = |name: &str| name == "git" || name.starts_with("git-");
    let in_core = GIT_CORE.iter().any(|directory| program.path.starts_with(directory)) || name == "git";
    let in_list = |list: &str, name: &str| list.split(' ').any(|known| known == name);
    let by_script = SCRIPTS.iter().any(|(scripts, all, _)| in_list(scripts, from) && in_list(all, name));
    by_table || by_script || (is_git(from) && is_git(name) && in_core)
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
