//! Recognizes the clients of a proxy's listener that are processes of its execution.

use std::net::SocketAddr;

use airlock_egress::Processes;
use airlock_sandbox::Control;
use async_trait::async_trait;
use tokio::task::spawn_blocking;

/// The processes of one sandbox.
#[derive(Debug)]
pub(super) struct SandboxProcesses(Control);

impl SandboxProcesses {
    pub(super) fn new(sandbox: &Control) -> Self {
        Self(sandbox.clone())
    }
}

#[async_trait]
impl Processes for SandboxProcesses {
    async fn hold(&self, client: SocketAddr, proxy: SocketAddr) -> bool {
        let (SocketAddr::V4(client), SocketAddr::V4(proxy)) = (client, proxy) else { return false };
        let sandbox = self.0.clone();
        spawn_blocking(move || sandbox.holds(client, proxy)).await.unwrap_or(false)
    }
}
