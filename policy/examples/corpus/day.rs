//! An agent's day: commands that agents ran, by what they do, and how often a person would be
//! asked about them by each of the built-in profiles that agents get.

use std::collections::BTreeMap;
use std::fmt;

use airlock_policy::{Profile, Verdict};

use super::row::Row;

/// The profiles that are compared.
const PROFILES: [&str; 3] = ["strict", "sandboxed", "agent"];
/// Kinds of commands that a confined agent may be asked about.
const NOT_CONFINED: [&str; 2] = ["danger", "network"];
/// Of all other commands, how many in 100 the profile `agent` allows.
const AGENT: f64 = 98.0;
/// Of reads inside, and of all reads with readable roots, how many in 100 `strict` allows.
const INSIDE: f64 = 97.0;
const WITH_ROOTS: f64 = 95.0;
/// Where people have their projects and caches.
const ROOTS: [&str; 5] = ["/Users", "/home", "/private/tmp", "/git", "/opt"];
/// What is inside, or shown by the sandbox anyway.
const PLACES: [&str; 10] =
    ["/workspace", "/home/agent", "/tmp", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/dev"];

/// How many of how many were allowed.
#[derive(Debug, Clone, Copy, Default)]
struct Share {
    allowed: usize,
    of: usize,
}

impl Share {
    fn add(&mut self, allowed: bool) {
        self.of += 1;
        self.allowed += usize::from(allowed);
    }

    fn rate(self) -> f64 {
        if self.of == 0 { 100.0 } else { 100.0 * self.allowed as f64 / self.of as f64 }
    }
}

/// What came of the commands of agents.
pub(super) struct Day {
    profiles: Vec<Profile>,
    with_roots: Profile,
    /// By profile and kind.
    shares: BTreeMap<(usize, String), Share>,
    confined: Share,
    inside: Share,
    rooted: Share,
    misses: Vec<String>,
}

impl Day {
    /// A day without commands. Without `roots` the usual ones are taken.
    pub(super) fn new(roots: Vec<String>) -> Result<Self, String> {
        let named =
            |name: &str| Profile::builtin(name).ok_or_else(|| format!("the profile {name} is missing"));
        let roots = if roots.is_empty() { ROOTS.map(str::to_owned).to_vec() } else { roots };
        Ok(Self {
            profiles: PROFILES.iter().map(|name| named(name)).collect::<Result<_, _>>()?,
            with_roots: named("strict")?.with_readable_roots(roots),
            shares: BTreeMap::new(),
            confined: Share::default(),
            inside: Share::default(),
            rooted: Share::default(),
            misses: Vec::new(),
        })
    }

    pub(super) fn add(&mut self, row: &Row) -> Result<(), String> {
        let kind = row.kind.clone().unwrap_or_default();
        for index in 0..self.profiles.len() {
            let Some(profile) = self.profiles.get(index).cloned() else { continue };
            let allowed = self.decide(row, &profile, &kind)?;
            self.shares.entry((index, kind.clone())).or_default().add(allowed);
            match profile.name() {
                "strict" if kind == "read" && !names_elsewhere(&row.cmd) => self.inside.add(allowed),
                "agent" if !NOT_CONFINED.contains(&kind.as_str()) => self.confined.add(allowed),
                _ => {}
            }
        }
        if kind == "read" {
            let profile = self.with_roots.clone();
            let allowed = self.decide(row, &profile, "read with roots")?;
            self.rooted.add(allowed);
        }
        Ok(())
    }

    /// Whether the profile allows the command. One that is not allowed where it should be is kept.
    fn decide(&mut self, row: &Row, profile: &Profile, kind: &str) -> Result<bool, String> {
        let decision = row.decide(profile, None)?;
        let allowed = decision.verdict == Verdict::Allow;
        let name = profile.name();
        let wanted = if name == "agent" { !NOT_CONFINED.contains(&kind) } else { kind.starts_with("read") };
        if !allowed && wanted && name != "sandboxed" {
            let reason = decision.reasons.first();
            let (code, message) =
                reason.map_or(("none", ""), |reason| (reason.code, reason.message.as_str()));
            self.misses.push(format!("{name} [{kind}] {:?}: {code}, {message}", row.cmd));
        }
        Ok(allowed)
    }

    /// What must hold, and whether it does; nothing where there were no such commands.
    pub(super) fn bounds(&self) -> Vec<(String, bool)> {
        let lines = [
            (self.confined, AGENT, "of an agent's confined commands allowed by `agent`"),
            (self.inside, INSIDE, "of an agent's reads inside allowed by `strict`"),
            (self.rooted, WITH_ROOTS, "of an agent's reads allowed by `strict` with readable roots"),
        ];
        let measured = lines.into_iter().filter(|(share, ..)| share.of > 0);
        measured
            .map(|(share, least, what)| {
                let (rate, Share { allowed, of }) = (share.rate(), share);
                (format!("{rate:.1} % {what} ({allowed} of {of}); at least {least} %"), rate >= least)
            })
            .collect()
    }
}

/// Whether a word of the text, as it is written, is a path that is neither inside nor of the base.
fn names_elsewhere(text: &str) -> bool {
    let ends = |c: char| c.is_whitespace() || "'\"`;|&<>()=".contains(c);
    text.split(ends).any(|word| {
        let inside = PLACES.iter().any(|place| {
            word.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
        let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@*~".contains(c);
        let absolute = word.starts_with('/') && word.len() > 1 && word.chars().all(plain);
        (absolute && !inside) || word.starts_with("../..")
    })
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.shares.is_empty() {
            return Ok(());
        }
        writeln!(f, "an agent's day")?;
        for (index, profile) in self.profiles.iter().enumerate() {
            let own = self.shares.iter().filter(|((of, _), _)| *of == index);
            let (mut all, mut kinds) = (Share::default(), Vec::new());
            for ((_, kind), share) in own {
                all.allowed += share.allowed;
                all.of += share.of;
                kinds.push(format!("{kind} {}/{}", share.allowed, share.of));
            }
            let asked = 100.0 - all.rate();
            writeln!(
                f,
                "  {:<10} asks or denies {asked:>5.1} in 100; allows {}",
                profile.name(),
                kinds.join(", ")
            )?;
        }
        self.misses.iter().try_for_each(|miss| writeln!(f, "    {miss}"))?;
        writeln!(f)
    }
}
