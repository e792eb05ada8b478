//! Derives the other inputs of a request from the text: profile, mode, shell and directory. The
//! same text always gives the same request, and all values occur.

use std::sync::LazyLock;

use airlock_policy::{Mode, Profile, Request, Rules, Shell, Unsandboxed};

static PROFILES: LazyLock<Vec<Profile>> = LazyLock::new(|| {
    Profile::builtin_names().iter().map(|name| Profile::builtin(name).expect("its own name")).collect()
});

static RULES: LazyLock<Rules> = LazyLock::new(|| {
    Rules::parse(
        &["Bash(git:*)", "Bash(* --version)", "Read(//etc/**)", "Edit(src/**)"],
        &["Bash(make:*)", "Read(*.pem)"],
        &["Bash(rm:*)", "Bash(git push * --force)", "Read(.env)", "Edit(*.lock)"],
    )
    .expect("rules that are right")
});

/// Reads successive choices out of a number.
struct Choices(u64);

impl Choices {
    fn of(text: &[u8]) -> Self {
        let mixed = text.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self(mixed ^ (mixed >> 32))
    }

    fn pick<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        let count = from.len() as u64;
        let index = self.0 % count;
        self.0 /= count;
        &from[usize::try_from(index).expect("an index")]
    }
}

/// Returns the request for the text.
pub fn question(text: &[u8]) -> (Request<'_>, &'static Profile) {
    let mut choices = Choices::of(text);
    let profile = choices.pick(PROFILES.as_slice());
    let request = Request {
        shell: *choices.pick(&[Shell::Bash, Shell::Bash, Shell::Bash, Shell::Zsh, Shell::Pwsh]),
        mode: *choices.pick(&[
            None,
            Some(Mode::Bypass),
            Some(Mode::AcceptEdits),
            Some(Mode::Default),
            Some(Mode::Plan),
        ]),
        cwd: *choices.pick(&[None, Some("/workspace/sub"), Some("/"), Some("relative/../..")]),
        unsandboxed: *choices.pick(&[None, None, None, Some(Unsandboxed { floor_permits: true })]),
        extra_rules: *choices.pick(&[None, Some(&*RULES)]),
        ..Request::bash(text)
    };
    (request, profile)
}

/// Returns the built-in profile that proves and asks, and the one that permits every mode.
pub fn strict_and_sandboxed() -> (&'static Profile, &'static Profile) {
    let named =
        |name: &str| PROFILES.iter().find(|profile| profile.name() == name).expect("a built-in profile");
    (named("strict"), named("sandboxed"))
}
