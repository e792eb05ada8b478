//! `airlock mcp`: the tools for an agent that uses the Model Context Protocol.

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use airlock_embedded::state::StateDirectory;
use airlock_mcp::{
    Connecting, Options,
    http::{Http, Listener},
    token::Token,
};
use clap::Args;

use super::{
    Failure,
    args::{self, Mode},
    connect::Connect,
    failure::describe,
    interrupt::Interrupts,
    output,
};
use crate::render::approval::approval;
use airlock_client::v1;

/// The default of --wait. Most MCP clients wait longer than this for a tool.
const WAIT: Duration = Duration::from_secs(10 * 60);
/// The longest --wait.
const WAIT_MAX: Duration = Duration::from_secs(60 * 60);
/// The default of --idle-timeout.
const IDLE: Duration = Duration::from_secs(60 * 60);
/// The time by which --idle-timeout must be longer than --wait.
const MARGIN: Duration = Duration::from_secs(60);
/// The name of the token file in the state directory.
const TOKEN_FILE: &str = "mcp.token";
/// The help heading of the options of the HTTP transport.
const HTTP: &str = "HTTP";

/// Serve tools for an agent over the Model Context Protocol (MCP).
///
/// An MCP client such as Claude Code or Codex starts this command and talks to it over standard input and output. The
/// agent then has the tools run, start, output, input, stop, read_file, write_file, edit_file and list_files. They work in
/// a session of Airlock, which is created at the first use and closed when the client ends.
///
/// If policy asks for an approval, the tool call waits. An approver answers with `airlock approve`. The user of the MCP
/// client is asked too, if the profile permits self-approval.
///
/// With --http the command serves any number of clients. Each has its own session, and must send the token of
/// --http-token-file as `authorization: Bearer TOKEN`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  echo '{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"ping\"}' | airlock mcp\n  airlock mcp --http 127.0.0.1:0 &        # for several clients, at a free port of this host\n  kill %1\n\nTo add it to an agent:\n  claude mcp add airlock -- airlock mcp\n  codex mcp add airlock -- airlock mcp\n\nThe log is on standard error. Ctrl-C stops the command and ends what its sessions started."
)]
pub(super) struct Mcp {
    #[command(flatten)]
    connect: Connect,
    /// Use this session, and leave it open [default: a new session for each client]
    #[arg(short, long, value_name = "ID", value_parser = args::session, conflicts_with_all = ["profile", "base"])]
    session: Option<String>,
    /// The profile of a new session [default: the identity's]
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    profile: String,
    /// The base to copy the workspace from [default: an empty workspace]
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    base: String,
    /// The loosest mode of the commands [default: the profile's]
    #[arg(long, value_enum)]
    mode: Option<Mode>,
    /// Leave new sessions open, and let background commands continue when their client ends.
    #[arg(long)]
    keep: bool,
    /// The longest time that a tool call waits for an approval and for its command; the command then continues
    /// [default: 10m]
    #[arg(long, value_name = "TIME", value_parser = args::duration)]
    wait: Option<Duration>,
    /// Serve streamable HTTP at http://ADDRESS/mcp instead of standard input and output; with port 0 the system chooses
    /// one.
    #[arg(long, help_heading = HTTP, value_name = "ADDRESS", value_parser = args::address)]
    http: Option<SocketAddr>,
    /// The file with the bearer token; it is created if it is missing [default: mcp.token in the state directory]
    #[arg(long, help_heading = HTTP, value_name = "FILE", requires = "http")]
    http_token_file: Option<PathBuf>,
    /// Permit an address that other hosts reach. The connection is not encrypted: put a proxy with TLS before it.
    #[arg(long, help_heading = HTTP, requires = "http")]
    allow_remote: bool,
    /// A further name of this server in the header `host`; may be repeated.
    #[arg(long, help_heading = HTTP, value_name = "NAME", requires = "http")]
    host: Vec<String>,
    /// The maximum number of clients at once.
    #[arg(long, help_heading = HTTP, value_name = "N", default_value_t = 16, requires = "http", value_parser = args::count::<u16>)]
    max_sessions: u16,
    /// End a client's session after this time without a request [default: 1h]
    #[arg(long, help_heading = HTTP, value_name = "TIME", value_parser = args::duration, requires = "http")]
    idle_timeout: Option<Duration>,
}

impl Mcp {
    pub(super) async fn run(self) -> Result<u8, Failure> {
        let mut interrupts = Interrupts::new()?;
        let wait = self.wait.unwrap_or(WAIT);
        if wait > WAIT_MAX {
            return Err(Failure::usage("--wait is longer than 1h"));
        }
        let options = self.options(wait)?;
        let stop = async move { interrupts.next().await };
        let Some(listen) = self.http else {
            airlock_mcp::stdio(options, stop).await.map_err(Failure::new)?;
            return Ok(0);
        };
        let idle = self.idle_timeout.unwrap_or(IDLE.max(wait + MARGIN));
        if idle < wait + MARGIN {
            return Err(Failure::usage(
                "--idle-timeout must be at least 1m longer than --wait, so that no tool call is cut off",
            ));
        }
        let file = self.http_token_file.clone().map_or_else(|| default_token_file(&self.connect), Ok)?;
        let http = Http {
            listen,
            allow_remote: self.allow_remote,
            hosts: self.host,
            token: Token::of_file(&file).map_err(Failure::new)?,
            sessions: usize::from(self.max_sessions),
            idle,
        };
        let listener = Listener::bind(http).await.map_err(Failure::new)?;
        output::note(&format!("serving MCP at {} with the token of {}", listener.url(), file.display()));
        listener.serve(options, stop).await.map_err(Failure::new)?;
        Ok(0)
    }

    fn options(&self, wait: Duration) -> Result<Options, Failure> {
        // Wrong settings are reported at the start. A server that does not run yet is reported by the first tool call.
        if self.connect.names_address() {
            self.connect.settings()?;
        }
        let connect = self.connect.clone();
        let connect: Connecting = Arc::new(move || {
            let connect = connect.clone();
            Box::pin(async move { connect.client().await.map_err(|failure| failure.message().to_owned()) })
        });
        Ok(Options {
            connect,
            describe,
            approval,
            log: output::note,
            session: self.session.clone(),
            base: self.base.clone(),
            profile: self.profile.clone(),
            mode: self.mode.map(v1::Mode::from).unwrap_or_default(),
            keep: self.keep,
            wait,
        })
    }
}

/// Returns the token file in the state directory, which is created if necessary.
fn default_token_file(connect: &Connect) -> Result<PathBuf, Failure> {
    let directory = match connect.dev_directory() {
        Some(directory) => directory,
        None => StateDirectory::locate(None)?,
    };
    directory.create()?;
    Ok(directory.path().join(TOKEN_FILE))
}
