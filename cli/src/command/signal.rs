//! `airlock signal` and `airlock detach`.

use clap::Args;

use super::{Failure, connect::Connect, output};
use airlock_client::{Client, ClientError, v1};

/// The signals that can be sent, by name and number.
const SIGNALS: [(&str, &str, v1::Signal); 9] = [
    ("HUP", "1", v1::Signal::Hup),
    ("INT", "2", v1::Signal::Int),
    ("QUIT", "3", v1::Signal::Quit),
    ("KILL", "9", v1::Signal::Kill),
    ("USR1", "10", v1::Signal::Usr1),
    ("USR2", "12", v1::Signal::Usr2),
    ("TERM", "15", v1::Signal::Term),
    ("CONT", "18", v1::Signal::Cont),
    ("STOP", "19", v1::Signal::Stop),
];

/// Send a signal to every process of running commands.
///
/// A command may ignore the signal. To end a command in any case, use `airlock kill`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  id=$(airlock start -- 'trap \"echo again\" HUP; echo ready; while :; do sleep 0.1; done')\n  until airlock logs $id | grep ready; do sleep 0.1; done\n  airlock signal -s HUP $id\n  airlock signal -s KILL $id\n  airlock wait $id || echo \"exit code $?\""
)]
pub(super) struct Signal {
    #[command(flatten)]
    connect: Connect,
    /// HUP, INT, QUIT, KILL, USR1, USR2, TERM, CONT or STOP, with or without SIG, or the number.
    #[arg(short, long, value_name = "NAME", default_value = "TERM", value_parser = named)]
    signal: v1::Signal,
    /// The executions.
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
}

impl Signal {
    pub(super) async fn run(self) -> Result<u8, Failure> {
        let client = self.connect.client().await?;
        let send = async |client: &Client, id: &str| client.signal(id, self.signal).await;
        each(&client, &self.ids, send).await
    }
}

/// Send running commands to the background, so that their session takes its next command.
///
/// A command without its own timeout then has the profile's maximum, counted from its start.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  session=$(airlock session create)\n  id=$(airlock start --session $session -- 'echo ready; sleep 100')\n  until airlock logs $id | grep ready; do sleep 0.1; done\n  airlock detach $id\n  airlock run --session $session -- 'echo while the other one runs on'\n  airlock kill $id"
)]
pub(super) struct Detach {
    #[command(flatten)]
    connect: Connect,
    /// The executions.
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
}

impl Detach {
    pub(super) async fn run(self) -> Result<u8, Failure> {
        let client = self.connect.client().await?;
        each(&client, &self.ids, async |client: &Client, id: &str| client.detach(id).await).await
    }
}

/// Calls `act` for every execution, and prints the IDs for which it succeeded.
async fn each(
    client: &Client,
    ids: &[String],
    act: impl AsyncFn(&Client, &str) -> Result<v1::Execution, ClientError>,
) -> Result<u8, Failure> {
    let mut code = 0;
    for id in ids {
        match act(client, id).await {
            Ok(_) => output::print(&format!("{id}\n"))?,
            Err(error) => {
                let failure = Failure::from(error).about(id);
                output::report(&failure);
                code = failure.code();
            }
        }
    }
    Ok(code)
}

fn named(text: &str) -> Result<v1::Signal, String> {
    let upper = text.to_uppercase();
    let name = upper.strip_prefix("SIG").unwrap_or(&upper);
    let found = SIGNALS.iter().find(|(known, number, _)| *known == name || *number == name);
    found.map(|(_, _, signal)| *signal).ok_or_else(|| {
        let names: Vec<_> = SIGNALS.iter().map(|(name, _, _)| *name).collect();
        format!("this signal cannot be sent; use one of {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_are_known_by_name_and_number() {
        for text in ["TERM", "term", "SIGTERM", "sigterm", "15"] {
            assert_eq!(named(text).unwrap(), v1::Signal::Term, "{text}");
        }
        assert!(named("WINCH").unwrap_err().contains("HUP, INT"));
        for signal in (1..=9).map(|number| v1::Signal::try_from(number).unwrap()) {
            assert!(SIGNALS.iter().any(|(_, _, known)| *known == signal), "{signal:?}");
        }
    }
}
