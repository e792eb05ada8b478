//! `airlock policy`: profiles as files, without a server. Runs their test cases, and creates profiles from the
//! settings of another tool.

mod import;
mod test;

use clap::Subcommand;

use super::Failure;

/// Test profiles in files, or create one from another tool's settings, without a server.
///
/// Use this in CI to see the effect of a changed rule before a server loads it.
#[derive(Debug, Subcommand)]
pub(super) enum Policy {
    /// Decide a profile's own test cases and further cases; no command is run.
    ///
    /// Use this to find out which cases fail. A server does not load a profile with a failing case.
    #[command(
        after_help = "Examples:\n  airlock policy test team.toml\n  printf '[[test]]\\ncommand = \"git push\"\\nexpect = \"deny\"\\n' > more.toml; airlock policy test --cases more.toml team.toml\n\nExit codes: 0 every case passed, 1 a case failed or a file is invalid, 2 wrong usage."
    )]
    Test(test::Test),
    /// Create a profile from the settings.json of Claude Code.
    ///
    /// Use this to keep existing rules. Settings that cannot be converted are listed line by line.
    #[command(
        after_help = "Examples:\n  echo '{\"permissions\": {\"deny\": [\"Bash(git push:*)\"]}}' | airlock policy import -\n  echo '{\"sandbox\": {\"enabled\": true}}' > settings.json; airlock policy import settings.json -o agent.toml\n\nExit codes: 0 every setting was converted, 3 a profile was created without some settings, 1 no profile was\ncreated, 2 wrong usage."
    )]
    Import(import::Import),
}

impl Policy {
    pub(super) fn run(self) -> Result<u8, Failure> {
        match self {
            Self::Test(test) => test.run(),
            Self::Import(import) => import.run(),
        }
    }
}
