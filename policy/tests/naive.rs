//! Compares the policy with a naive decider. Both must agree on every text that both can read. If only the policy can
//! read a disguised text, it must not allow a command that the naive decider denies.

mod decider;
mod disguise;

use airlock_policy::{Mode, Profile, Request, Rules, Verdict};

use decider::Law;
use disguise::Random;

const PROGRAMS: &[(&str, &[&str])] = &[
    ("ls", &["-l", "-a", "-la"]),
    ("cat", &["-n"]),
    ("wc", &["-l"]),
    ("sort", &["-r", "-u"]),
    ("head", &[]),
    ("echo", &["-n"]),
    ("rm", &["-r", "-f"]),
    ("mkdir", &["-p"]),
    ("touch", &[]),
    ("make", &["-k"]),
    ("frob", &["--force"]),
];

const BARE: &[&str] =
    &["pwd", "true", "git status", "git status -s", "git log --oneline", "git push", "git push -f"];

const OPERANDS: &[&str] = &[
    "f",
    "src/f",
    "./f",
    "sub/../f",
    "../f",
    "/etc/shadow",
    "/usr/share/f",
    "/usr/../etc/f",
    "/tmp/f",
    ".bashrc",
    ".git/x",
    "/workspace/f",
    "sub/../../f",
    "/workspace/../f",
    "x-y",
    "a.b",
];

/// Returns the words of one command.
fn words(random: &mut Random) -> Vec<String> {
    if random.below(4) == 0 {
        return random.pick(BARE).split(' ').map(str::to_owned).collect();
    }
    let (program, flags) = random.pick(PROGRAMS);
    let mut words = vec![(*program).to_owned()];
    if !flags.is_empty() && random.below(2) == 0 {
        words.push((*random.pick(flags)).to_owned());
    }
    for _ in 0..=random.below(3) {
        words.push((*random.pick(OPERANDS)).to_owned());
    }
    words
}

/// Quotes a word in one of several ways, or not at all. Quotes inside a flag's name would lead to a
/// question.
fn quoted(word: &str, random: &mut Random) -> String {
    let (head, tail) = word.split_at(random.below(word.len() + 1));
    match random.below(8) {
        _ if word.starts_with('-') => word.to_owned(),
        0 => format!("'{word}'"),
        1 => format!("\"{word}\""),
        2 => format!("{head}'{tail}'"),
        3 => format!("\"{head}\"{tail}"),
        _ => word.to_owned(),
    }
}

fn plain_text(random: &mut Random) -> String {
    let count = if random.below(200) == 0 { 45 + random.below(12) } else { 1 + random.below(4) };
    let mut text = String::new();
    for index in 0..count {
        let joint = *random.pick(&[";", " ; ", "&&", " && ", "|", " | "]);
        if index > 0 {
            text.push_str(joint);
        }
        let words: Vec<String> = words(random).iter().map(|word| quoted(word, random)).collect();
        text.push_str(&words.join(if random.below(5) == 0 { "  " } else { " " }));
    }
    text + *random.pick(&["", "", "", ";", " "])
}

fn rule(random: &mut Random) -> String {
    let words = words(random);
    let some = &words[..=random.below(words.len())];
    match random.below(12) {
        0 => "Bash".to_owned(),
        1..5 => format!("Bash({})", words.join(" ")),
        5..8 => format!("Bash({}:*)", words[0]),
        _ => format!("Bash({}:*)", some.join(" ")),
    }
}

fn rules(random: &mut Random, most: usize) -> Vec<String> {
    (0..random.below(most + 1)).map(|_| rule(random)).filter(|rule| rule != "Bash" || most > 2).collect()
}

fn law(random: &mut Random) -> Law {
    let mode = *random.pick(&[Mode::Default, Mode::Default, Mode::Plan, Mode::AcceptEdits, Mode::Bypass]);
    let (allow, ask, deny) = (rules(random, 4), rules(random, 1), rules(random, 2));
    Law { allow, ask, deny, mode, sandboxed: random.below(3) == 0 }
}

pub(crate) fn engine(text: &str, law: &Law) -> Verdict {
    let profile = Profile::builtin(if law.sandboxed { "sandboxed" } else { "strict" }).unwrap();
    let rules = Rules::parse(&law.allow, &law.ask, &law.deny).unwrap();
    let request =
        Request { extra_rules: Some(&rules), mode: Some(law.mode), ..Request::bash(text.as_bytes()) };
    airlock_policy::decide(&request, &profile).verdict
}

fn compare(seed: u64, count: usize) {
    let mut random = Random::new(seed);
    let mut seen = std::collections::HashMap::new();
    for _ in 0..count {
        let (text, law) = (plain_text(&mut random), law(&mut random));
        let naive =
            decider::decide(&text, &law).unwrap_or_else(|| panic!("{text:?} is not in the test's language"));
        assert_eq!(
            engine(&text, &law),
            naive,
            "{text:?} in {:?}, sandboxed {}, allow {:?}, ask {:?}, deny {:?}",
            law.mode,
            law.sandboxed,
            law.allow,
            law.ask,
            law.deny
        );
        *seen.entry(naive).or_insert(0_usize) += 1;
    }
    println!("{seen:?}");
    // The comparison is only useful if all verdicts occur.
    for verdict in [Verdict::Allow, Verdict::Ask, Verdict::Deny] {
        assert!(seen.get(&verdict).is_some_and(|times| *times > count / 20), "{seen:?}");
    }
}

/// Changes random bytes. The policy must deny every result that the naive decider can read and denies.
#[test]
fn a_changed_text_that_the_naive_decider_denies_is_denied() {
    let mut random = Random::new(5);
    let (mut read, mut denied) = (0, 0);
    for _ in 0..20_000 {
        let mut text: Vec<char> = plain_text(&mut random).chars().collect();
        for _ in 0..=random.below(3) {
            let at = random.below(text.len());
            match random.below(3) {
                0 => drop(text.remove(at)),
                1 => text.insert(at, *random.pick(&[' ', '\'', '"', ';', '|', '&', 'r', 'm', '-', '/', '.'])),
                _ => text[at] = *random.pick(&[' ', '\'', '"', ';', 'l', 's', 'f', '.']),
            }
            if text.is_empty() {
                break;
            }
        }
        let (text, law) = (text.iter().collect::<String>(), law(&mut random));
        let law = Law { mode: Mode::Default, ..law };
        let naive = decider::decide(&text, &law);
        read += usize::from(naive.is_some());
        if naive == Some(Verdict::Deny) {
            denied += 1;
            assert_eq!(engine(&text, &law), Verdict::Deny, "{text:?} with deny {:?}", law.deny);
        }
    }
    assert!(read > 5_000 && denied > 500, "{read} were read, {denied} denied");
}

/// Disguises commands without changing the programs that they run.
fn disguise(seed: u64, count: usize) {
    let mut random = Random::new(seed);
    let mut denied = 0;
    for _ in 0..count {
        let words = words(&mut random);
        let deny = vec![format!("Bash({}:*)", words[0])];
        let law = Law { allow: vec!["Bash".into()], ask: vec![], deny, mode: Mode::Default, sandboxed: true };
        assert_eq!(decider::decide(&words.join(" "), &law), Some(Verdict::Deny));
        let text = disguise::of(&words, &mut random);
        let law = Law { mode: *random.pick(&[Mode::Default, Mode::AcceptEdits]), ..law };
        let verdict = engine(&text, &law);
        assert_ne!(verdict, Verdict::Allow, "{text:?} for {words:?}");
        denied += usize::from(verdict == Verdict::Deny);
    }
    println!("{denied} of {count} were denied");
    // Some disguises hide the name completely, so the policy asks; most do not.
    assert!(denied * 5 > count * 3, "{denied} of {count} were denied");
}

mod sample {
    use super::{compare, disguise};

    #[test]
    fn the_same_verdict_on_plain_text() {
        compare(airlock_sampling::seed(), airlock_sampling::extent(6_000, 24_000));
    }

    #[test]
    fn no_disguise_of_a_denied_text_is_allowed() {
        disguise(airlock_sampling::seed(), airlock_sampling::extent(5_000, 20_000));
    }
}

mod long {
    use super::{compare, disguise};

    const EACH: usize = 6_000;

    #[test]
    fn the_same_verdict_on_plain_text_first_part() {
        compare(1, EACH);
    }

    #[test]
    fn the_same_verdict_on_plain_text_second_part() {
        compare(2, EACH);
    }

    #[test]
    fn the_same_verdict_on_plain_text_third_part() {
        compare(3, EACH);
    }

    #[test]
    fn the_same_verdict_on_plain_text_fourth_part() {
        compare(4, EACH);
    }

    #[test]
    fn no_disguise_of_a_denied_text_is_allowed() {
        disguise(6, 20_000);
    }
}
