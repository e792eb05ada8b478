//! `airlock policy`: profiles as files, without a server. Tries their cases, and makes them from the settings of
//! another tool.

mod import;
mod test;

use clap::Subcommand;

use super::Failure;

/// Try profiles in files, or make one from another tool's settings; without a server.
///
/// Why: so that CI finds out what a change of rules does before a server loads it.
#[derive(Debug, Subcommand)]
pub(super) enum Policy {
    /// Decide a profile's own test cases, and more of them; nothing is run.
    ///
    /// Why: a profile whose cases fail does not load, and here is which and why.
    #[command(
        after_help = "Examples:\n  airlock policy test team.toml\n  printf '[[test]]\\ncommand = \"git push\"\\nexpect = \"deny\"\\n' > more.toml; airlock policy test --cases more.toml team.toml\n\nExit codes: 0 every case came out as expected, 1 one did not or a file is wrong, 2 wrong usage."
    )]
    Test(test::Test),
    /// Make a profile from the settings.json of Claude Code.
    ///
    /// Why: rules that people have already are carried over; what cannot be is told, line by line.
    #[command(
        after_help = "Examples:\n  echo '{\"permissions\": {\"deny\": [\"Bash(git push:*)\"]}}' | airlock policy import -\n  echo '{\"sandbox\": {\"enabled\": true}}' > settings.json; airlock policy import settings.json -o agent.toml\n\nExit codes: 0 all was carried over, 3 a profile was made and something was left out, 1 none was made,\n2 wrong usage."
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
