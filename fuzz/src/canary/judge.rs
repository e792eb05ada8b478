//! Which of the programs that were started nobody had predicted. It compares names: what
//! arguments a program gets is property 1's matter.

use airlock_policy::Decision;

use super::inside::Started;

/// What programs start by themselves, whatever they are told: the starter, the program with
/// its first arguments, and why.
const HELPERS: &[(&str, &[&str], &str)] = &[
    (
        "ag",
        &["sh", "-c", "git config -z --path --get core.excludesfile 2>/dev/null"],
        "asks git what to leave out",
    ),
    ("sh", &["git", "config", "-z", "--path", "--get", "core.excludesfile"], "what ag asks"),
    ("egrep", &["grep", "-E"], "a script that calls grep"),
    ("fgrep", &["grep", "-F"], "a script that calls grep"),
    ("zcat", &["gzip", "-cd"], "a script that calls gzip"),
    ("locale", &["gzip", "-d", "-c"], "reads its tables, which Debian packs"),
    ("npm", &["node", "/usr/bin/npm"], "a script that env starts node for"),
    ("yq", &["jq"], "one of the two yqs turns YAML into JSON for jq"),
    ("pip", &["lsb_release", "-a"], "says which system it is on"),
];

/// Where git keeps the programs that it is made of.
const GIT_CORE: &[&str] = &["/usr/lib/git-core/", "/usr/libexec/git-core/", "/usr/local/libexec/git-core/"];

/// The programs started that are neither among the decision's commands nor such a program's
/// helpers, each as its arguments.
#[must_use]
pub fn unpredicted(decision: &Decision, started: &[Started]) -> Vec<String> {
    let names: Vec<&str> = decision
        .commands
        .iter()
        .filter_map(|command| command.argv.first()?.text.as_deref())
        .filter_map(|name| std::str::from_utf8(name).ok())
        .map(base_name)
        .collect();
    // The shell that runs the command is Airlock's own.
    let others =
        started.iter().skip_while(|program| !program.argv.iter().any(|word| word == "--norc")).skip(1);
    let surplus = others.filter(|program| {
        let starter = program.by.and_then(|by| started.get(by));
        !names.contains(&base_name(&program.path)) && !starter.is_some_and(|starter| helps(starter, program))
    });
    surplus.map(|program| format!("{} {:?}", program.path, program.argv)).collect()
}

fn helps(starter: &Started, program: &Started) -> bool {
    let (from, name) = (base_name(&starter.path), base_name(&program.path));
    let by_table = HELPERS.iter().any(|(known, words, _)| {
        let same = program.argv.iter().zip(*words).all(|(given, word)| base_name(given) == base_name(word));
        *known == from && program.argv.len() >= words.len() && same
    });
    let is_git = |name: &str| name == "git" || name.starts_with("git-");
    let in_core = GIT_CORE.iter().any(|folder| program.path.starts_with(folder)) || name == "git";
    by_table || (is_git(from) && is_git(name) && in_core)
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
