//! Random settings: a profile, a mode, and rules made of a text's own words.

use std::fmt;

use airlock_policy::{Decision, Mode, Profile, Request, Rules, decide};
use fastrand::Rng;

/// Rules that may match any text.
const ANY: &[&str] = &[
    "Bash",
    "Bash(rm:*)",
    "Bash(git push:*)",
    "Bash(alpha:*)",
    "Bash(touch q)",
    "Bash(* x)",
    "Bash(git * --force)",
    "Read(**)",
    "Edit(**)",
    "Read(//**)",
    "Edit(//**)",
    "Edit(src/**)",
    "Read(.env)",
    "PowerShell(rm:*)",
];

/// The inputs of a decision other than the text.
#[derive(Clone)]
pub(super) struct Law {
    profile: &'static str,
    pub(super) mode: Mode,
    pub(super) allow: Vec<String>,
    pub(super) ask: Vec<String>,
    pub(super) deny: Vec<String>,
}

impl Law {
    /// Generates settings, some with rules about the text.
    pub(super) fn about(text: &[u8], rng: &mut Rng) -> Self {
        let profile = *rng.choice(Profile::builtin_names()).unwrap();
        let modes = [Mode::Bypass, Mode::AcceptEdits, Mode::Default, Mode::Default, Mode::Plan];
        let mode = *rng.choice(&modes).unwrap();
        let law = Self { profile, mode, allow: Vec::new(), ask: Vec::new(), deny: Vec::new() };
        let facts = Facts { text, decision: law.decide(text) };
        let mut some = |most: usize| -> Vec<String> {
            let count = rng.usize(..=most);
            (0..count).filter_map(|_| rule(&facts, rng)).collect()
        };
        let allow = some(4);
        let (ask, deny) = if law.mode == Mode::Plan { (Vec::new(), some(1)) } else { (some(1), some(1)) };
        Self { allow, ask, deny, ..law }
    }

    pub(super) fn decide(&self, text: &[u8]) -> Decision {
        let profile = Profile::builtin(self.profile).unwrap();
        let rules = Rules::parse(&self.allow, &self.ask, &self.deny).unwrap();
        let request = Request { extra_rules: Some(&rules), mode: Some(self.mode), ..Request::bash(text) };
        decide(&request, &profile)
    }
}

impl fmt::Display for Law {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { profile, mode, allow, ask, deny } = self;
        write!(f, "{profile} {mode:?} allow {allow:?} ask {ask:?} deny {deny:?}")
    }
}

/// The source of the rules' words.
pub(super) struct Facts<'t> {
    pub(super) text: &'t [u8],
    pub(super) decision: Decision,
}

/// Generates a rule about one of the commands or paths, or a general one.
pub(super) fn rule(facts: &Facts<'_>, rng: &mut Rng) -> Option<String> {
    let text = match rng.u8(..8) {
        0 => (*rng.choice(ANY)?).to_owned(),
        1 => {
            let tool = rng.choice(&["Read", "Edit"])?;
            format!("{tool}({})", path(&facts.decision, rng)?)
        }
        // Commands found in a text with an incomplete parse may not exist.
        _ if !facts.decision.parse_complete => format!("Bash({}:*)", name(facts.text, rng)?),
        _ => format!("Bash({})", words(&facts.decision, rng)?),
    };
    airlock_policy::Rule::parse(&text).ok().map(|rule| rule.text().to_owned())
}

/// Returns a word of the text that could be a program's name.
fn name(text: &[u8], rng: &mut Rng) -> Option<String> {
    let text = String::from_utf8_lossy(text).into_owned();
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && !"_-./".contains(c));
    let names: Vec<&str> = words.filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic())).collect();
    rng.choice(&names).map(|name| (*name).to_owned())
}

fn words(facts: &Decision, rng: &mut Rng) -> Option<String> {
    let command = rng.choice(&facts.commands)?;
    let known = command.argv.iter().map_while(|word| quoted(word.text.as_deref()?));
    let known: Vec<String> = known.collect();
    let count = rng.usize(1..=known.len().max(1));
    let mut words: Vec<String> = known.into_iter().take(count).collect();
    for word in words.iter_mut().skip(1).filter(|_| rng.u8(..8) == 0) {
        *word = "*".to_owned();
    }
    let end = *rng.choice(&["", "", ":*", ":*", " *"])?;
    (!words.is_empty()).then(|| words.join(" ") + end)
}

/// Quotes the word for a rule.
fn quoted(word: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(word).ok()?;
    let plain =
        !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_./:=,@+".contains(&b));
    if plain {
        return Some(text.to_owned());
    }
    (!text.contains('\'')).then(|| format!("'{text}'"))
}

fn path(facts: &Decision, rng: &mut Rng) -> Option<String> {
    let known: Vec<&str> = facts.paths.iter().map(|path| path.path.as_str()).collect();
    let path = (*rng.choice(&known)?).to_owned();
    let name = path.rsplit('/').next().unwrap_or_default().to_owned();
    let inside = path.strip_prefix("/workspace/").unwrap_or(&path).to_owned();
    Some(rng.choice(&[format!("/{path}"), name, inside.clone(), format!("{inside}/**")])?.clone())
}
