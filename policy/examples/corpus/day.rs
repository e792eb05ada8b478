//! The commands of an agent's day by kind, and how often each built-in profile for agents would ask
//! a person about them.

use std::collections::BTreeMap;
use std::fmt;

use airlock_policy::{Profile, Verdict};

use super::row::Row;

/// The profiles that are compared.
const PROFILES: [&str; 3] = ["strict", "sandboxed", "agent"];
/// Kinds of commands that a confined agent may be asked about.
const NOT_CONFINED: [&str; 2] = ["danger", "network"];
/// The percentage of all other commands that the profile `agent` must allow.
const AGENT: f64 = 98.0;
/// The percentage of reads inside that `strict` must allow, and that of all reads with readable
/// roots.
const INSIDE: f64 = 97.0;
const WITH_ROOTS: f64 = 95.0;
/// The usual directories of projects and caches.
const ROOTS: [&str; 5] = ["/Users", "/home", "/private/tmp", "/git", "/opt"];
/// Directories inside the sandbox, including those that every sandbox shows.
const PLACES: [&str; 10] =
    ["/workspace", "/home/agent", "/tmp", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/dev"];

/// The number of allowed commands and the total.
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

/// The decisions about the commands of agents.
pub(super) struct Day {
    profiles: Vec<Profile>,
    with_roots: Profile,
    /// The shares by profile and kind.
    shares: BTreeMap<(usize, String), Share>,
    confined: Share,
    inside: Share,
    rooted: Share,
    misses: Vec<String>,
}

impl Day {
    /// Creates a day without commands. If `roots` is empty, the usual directories are used.
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

    /// Decides a command with a profile and returns whether it is allowed. A command that should be
    /// allowed but is not is recorded.
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

    /// Returns each bound and whether it holds. A bound without commands is omitted.
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

/// Reports whether a word of the text, as written, is a path that is neither inside nor below the
/// base.
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
