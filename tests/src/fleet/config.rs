//! Writes the configurations of a fleet's servers and runners.

use std::fs;

use super::{Fleet, Shared, TOKEN, Timers, UIDS, lead_token, runner_name, server_name};
use crate::site::sha256;

const SHORT_LEASE: &str = "[link]\nlease = \"3s\"\n";
/// A runner drops the link to a server that is silent for three intervals.
const SHORT: &str = "[link]\nlease = \"3s\"\nheartbeat_interval = \"1s\"\nheartbeat_timeout = \"3s\"\n";

impl Fleet {
    pub(super) fn write_server(&self, number: usize, runners: usize, shared: &Shared) {
        let runner_ids: Vec<String> = (0..runners).map(runner_name).collect();
        let outputs = match shared.outputs.as_str() {
            "" => format!("[outputs]\ndirectory = \"{}/outputs\"\n", self.path().display()),
            said => said.to_owned(),
        };
        let (store, more) = (&shared.store, &shared.server);
        let link = match shared.timers {
            Timers::Patient => "",
            Timers::ShortLease => SHORT_LEASE,
            Timers::Short => SHORT,
        };
        fs::write(
            self.path().join(format!("{}.toml", server_name(number))),
            format!(
                r#"server_id = "{name}"
[listen]
address = "{address}"
[listen.tls]
certificate = "{certificate}"
key = "{key}"
client_ca = "{ca}"
{store}{outputs}[profiles]
default = "sandboxed"
[[identity]]
name = "agent"
tenant = "acme"
roles = ["executor", "approver", "admin"]
profiles = ["sandboxed", "strict", "demo", "read_only"]
match = {{ token_sha256 = "{token}" }}
[[identity]]
name = "lead"
tenant = "acme"
roles = ["approver"]
profiles = ["sandboxed", "strict", "demo", "read_only"]
match = {{ token_sha256 = "{lead}" }}
[[identity]]
name = "runners"
tenant = "system"
roles = ["runner"]
runner_ids = {runner_ids:?}
match = {{ common_name = "runner" }}
[[identity]]
name = "servers"
tenant = "system"
roles = ["server"]
match = {{ common_name = "server" }}
{link}
[peers]
advertise = "https://{address}"
server_name = "localhost"
ca = "{ca}"
certificate = "{certificate}"
key = "{key}"
ready_wait = "10s"
{more}"#,
                name = server_name(number),
                address = self.address(number),
                certificate = self.server.certificate.display(),
                key = self.server.key.display(),
                ca = self.pki.ca().display(),
                token = sha256(TOKEN.as_bytes()),
                lead = sha256(lead_token().as_bytes()),
            ),
        )
        .unwrap();
    }

    pub(super) fn write_runner(&self, number: usize, dials: &[usize], shared: &Shared) {
        let (path, name) = (self.path().display(), runner_name(number));
        let pair = self.pki.issue("runner", &[]);
        let servers: String = dials
            .iter()
            .map(|server| {
                format!(
                    "[[server]]\nendpoint = \"https://{address}\"\nserver_name = \"localhost\"\nca = \"{ca}\"\n\
                     cert = \"{cert}\"\nkey = \"{key}\"\n",
                    address = self.address(*server),
                    ca = self.pki.ca().display(),
                    cert = pair.certificate.display(),
                    key = pair.key.display(),
                )
            })
            .collect();
        let first = self.uids + u32::try_from(number).unwrap() * UIDS;
        fs::write(
            self.path().join(format!("{name}.toml")),
            format!(
                "runner_id = \"{name}\"\nslots = 64\nstate_dir = \"{path}/{name}\"\n{servers}[uids]\nfirst = {first}\ncount = {UIDS}\n\
                 [floor]\nservers = [\"localhost\"]\n{}",
                shared.runner
            ),
        )
        .unwrap();
    }
}
