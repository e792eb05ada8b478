//! The naive decider: the steps in order, for a language of plain words, quotes and `;`, `&&`, `|`. It is slow and
//! simple enough to read in five minutes. It shares only the syntax of rules with the policy.

use airlock_policy::{Mode, Verdict};

/// The rules and the mode of a decision.
pub(crate) struct Law {
    pub(crate) allow: Vec<String>,
    pub(crate) ask: Vec<String>,
    pub(crate) deny: Vec<String>,
    pub(crate) mode: Mode,
    /// Whether the profile is `sandboxed`, otherwise `strict`.
    pub(crate) sandboxed: bool,
}

type Command = Vec<String>;

pub(crate) fn decide(text: &str, law: &Law) -> Option<Verdict> {
    let commands = commands(text)?;
    let any = |rules: &[String]| commands.iter().any(|c| rules.iter().any(|rule| forbids(rule, c)));
    let all = |test: &dyn Fn(&Command) -> bool| commands.iter().all(test);
    // The profile `strict` does not permit the mode bypass, so the next stricter one applies.
    let bypass = law.mode == Mode::Bypass && law.sandboxed;
    let edits = matches!(law.mode, Mode::AcceptEdits | Mode::Bypass);
    let proven = all(&reads);
    // The steps: the first one with a true condition answers.
    let steps = [
        (any(&law.deny), Verdict::Deny),
        (any(&law.ask), Verdict::Ask),
        (bypass, Verdict::Allow),
        (commands.len() > 50, Verdict::Ask),
        (commands.iter().any(leaves_or_harms), Verdict::Ask),
        (proven, Verdict::Allow),
        (edits && all(&|c| reads(c) || edits_files(c)), Verdict::Allow),
        (all(&|c| reads(c) || law.allow.iter().any(|rule| matches(rule, c))), Verdict::Allow),
        (law.sandboxed, Verdict::Allow),
        (true, Verdict::Ask),
    ];
    let first = steps.iter().position(|(holds, _)| *holds)?;
    let by_proof = first == 5;
    Some(if law.mode == Mode::Plan && !by_proof { Verdict::Deny } else { steps[first].1 })
}

/// Returns the commands of a text without quotes, or `None` if the text is not in the language.
pub(crate) fn commands(text: &str) -> Option<Vec<Command>> {
    let mut commands = vec![Command::new()];
    let mut word: Option<String> = None;
    let mut joined = false;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '/' | '_' | '-' => {
                word.get_or_insert_default().push(c);
                continue;
            }
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match rest.next()? {
                        end if end == c => break,
                        '$' | '`' | '\\' | '\n' => return None,
                        inner => word.push(inner),
                    }
                }
                continue;
            }
            ' ' | ';' | '|' => {}
            '&' if rest.next() == Some('&') => {}
            _ => return None,
        }
        let command = commands.last_mut()?;
        command.extend(word.take());
        if c != ' ' {
            // Only a command may precede an operator.
            if command.is_empty() || rest.peek() == Some(&c) {
                return None;
            }
            joined = c != ';';
            commands.push(Command::new());
        }
    }
    commands.last_mut()?.extend(word);
    if commands.last()?.is_empty() {
        commands.pop();
        return (!joined).then_some(commands);
    }
    Some(commands)
}

/// `Bash(words)` is exact, `Bash(words:*)` is a prefix, `Bash` matches everything.
fn matches(rule: &str, command: &Command) -> bool {
    if rule == "Bash" {
        return true;
    }
    let words = rule.strip_prefix("Bash(").and_then(|rule| rule.strip_suffix(')')).unwrap();
    match words.strip_suffix(":*") {
        Some(prefix) => command.starts_with(&prefix.split(' ').map(str::to_owned).collect::<Vec<_>>()),
        None => *command == words.split(' ').collect::<Vec<_>>(),
    }
}

/// Reports whether a deny or ask rule applies. It also matches other spellings of the flags, if all
/// flags are known.
fn forbids(rule: &str, command: &Command) -> bool {
    let words = || rule.strip_prefix("Bash(").and_then(|rule| rule.strip_suffix(')'));
    matches(rule, command) || words().is_some_and(|words| spells(words, command))
}

fn spells(words: &str, command: &Command) -> bool {
    let (words, open) = words.strip_suffix(":*").map_or((words, false), |prefix| (prefix, true));
    let named: Vec<String> = words.split(' ').map(str::to_owned).collect();
    let known = FLAGS.iter().filter(|(name, _)| behind(name, command).is_some());
    let Some((name, flags)) = known.max_by_key(|(name, _)| name.len()) else {
        return false;
    };
    let (Some(wanted), Some(given)) = (behind(name, &named), behind(name, command)) else {
        return false;
    };
    let (Some(wanted), Some(given)) = (sorted(wanted, flags), sorted(given, flags)) else {
        return false;
    };
    let same = wanted.0.iter().all(|flag| given.0.contains(flag));
    let more = open || given.0.iter().all(|flag| wanted.0.contains(flag));
    let operands = if open { given.1.starts_with(&wanted.1) } else { given.1 == wanted.1 };
    named.len() > 1 && same && more && operands
}

/// Returns the single flags and the operands, or `None` if a flag is unknown.
fn sorted(words: &[String], flags: &[&str]) -> Option<(Vec<String>, Vec<String>)> {
    let (mut given, mut operands) = (Vec::new(), Vec::new());
    for word in words {
        match word.strip_prefix('-') {
            None | Some("") => operands.push(word.clone()),
            Some(long) if long.starts_with('-') => given.push(word.clone()),
            Some(letters) => given.extend(letters.chars().map(|letter| format!("-{letter}"))),
        }
    }
    given.iter().all(|flag| flags.contains(&flag.as_str())).then_some((given, operands))
}

/// The flags of each program. No flag takes a value.
const FLAGS: &[(&str, &[&str])] = &[
    ("ls", &["-l", "-a"]),
    ("cat", &["-n"]),
    ("wc", &["-l"]),
    ("sort", &["-r", "-u"]),
    ("head", &[]),
    ("rm", &["-r", "-f"]),
    ("mkdir", &["-p"]),
    ("touch", &[]),
    ("git status", &["-s"]),
    ("git log", &["--oneline"]),
    ("git push", &["-f"]),
];

/// Program, read-only flags, and whether its operands are paths.
const READERS: &[(&str, &[&str], bool)] = &[
    ("ls", &["-l", "-a", "-la"], true),
    ("cat", &["-n"], true),
    ("wc", &["-l"], true),
    ("sort", &["-r", "-u"], true),
    ("head", &[], true),
    ("pwd", &[], false),
    ("true", &[], false),
    ("echo", &["-n"], false),
    ("git status", &["-s"], false),
    ("git log", &["--oneline"], false),
];

const EDITORS: &[(&str, &[&str])] = &[("rm", &["-r", "-f"]), ("mkdir", &["-p"]), ("touch", &[])];

/// Returns the words after a program's name of one or two words.
fn behind<'c>(name: &str, command: &'c Command) -> Option<&'c [String]> {
    let count = name.split(' ').count();
    let own = command.get(..count)?.join(" ") == name;
    own.then(|| &command[count..])
}

fn is_flag(word: &str) -> bool {
    word.starts_with('-')
}

fn reads(command: &Command) -> bool {
    READERS.iter().any(|(name, flags, _)| {
        behind(name, command)
            .is_some_and(|words| words.iter().all(|word| !is_flag(word) || flags.contains(&word.as_str())))
    })
}

fn edits_files(command: &Command) -> bool {
    EDITORS.iter().any(|(name, flags)| {
        behind(name, command)
            .is_some_and(|words| words.iter().all(|word| !is_flag(word) || flags.contains(&word.as_str())))
    })
}

/// Reports whether a path is outside, or a protected name is written.
fn leaves_or_harms(command: &Command) -> bool {
    let operands = |words: &[String]| words.iter().filter(|word| !is_flag(word)).cloned().collect::<Vec<_>>();
    let read = READERS.iter().filter(|(_, _, paths)| *paths).find_map(|(name, _, _)| behind(name, command));
    let written = EDITORS.iter().find_map(|(name, _)| behind(name, command));
    let leaves = |path: &String| is_outside(path) && !(read.is_some() && is_of_the_base(path));
    let outside = read.or(written).is_some_and(|words| operands(words).iter().any(leaves));
    outside || written.is_some_and(|words| operands(words).iter().any(|path| is_protected(path)))
}

/// Returns the components of the path from the workspace.
fn parts(path: &str) -> Vec<String> {
    let mut at: Vec<String> = if path.starts_with('/') { Vec::new() } else { vec!["workspace".to_owned()] };
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(at.pop()),
            name => at.push(name.to_owned()),
        }
    }
    at
}

fn is_outside(path: &str) -> bool {
    let first = parts(path).first().cloned().unwrap_or_default();
    !matches!(first.as_str(), "workspace" | "tmp")
}

/// Reports whether the sandbox shows the path in every run, so that it may be read. The path must not
/// contain `..`.
fn is_of_the_base(path: &str) -> bool {
    path.starts_with("/usr/") && !path.contains("..")
}

fn is_protected(path: &str) -> bool {
    let parts = parts(path);
    parts.last().is_some_and(|name| name == ".bashrc") || parts.iter().any(|name| name == ".git")
}
