//! The handler of one MCP connection.

use std::{
    borrow::Cow,
    sync::{Arc, OnceLock},
};

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
        InitializeRequestParams, InitializeResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion,
        ServerCapabilities, ServerConfig, Tool,
    },
    service::RequestContext,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::{
    sync::CancellationToken,
    task::{TaskTracker, task_tracker::TaskTrackerToken},
};

use super::{call::Call, options::Options, tools, workspace::Workspace};

/// The newest version of the protocol that has sessions. Later versions have none, so a session of Airlock could not be
/// bound to one.
const VERSION: ProtocolVersion = ProtocolVersion::V_2025_11_25;
/// The instructions for a model.
const INSTRUCTIONS: &str = "These tools run commands and change files in a sandbox of Airlock, not on this computer. \
    Files and the working directory remain between calls. Policy decides about every command: it can deny one, or ask a \
    person. Lines of a result that begin with `airlock: ` are Airlock's, not the command's. If a command was denied, do \
    not try to get around the decision.";

/// The state that all connections of a server share.
#[derive(Debug, Clone)]
pub(crate) struct Shared {
    options: Arc<Options>,
    /// The connections that may have a session.
    places: Arc<Semaphore>,
    /// The closing of sessions.
    closing: TaskTracker,
    /// Cancelled when all connections end.
    end: CancellationToken,
}

impl Shared {
    /// Creates the shared state of at most `connections` connections.
    pub(crate) fn new(options: Options, connections: usize, end: CancellationToken) -> Self {
        let places = Arc::new(Semaphore::new(connections));
        Self { options: Arc::new(options), places, closing: TaskTracker::new(), end }
    }

    /// Creates the handler of a connection.
    pub(crate) fn handler(&self) -> Handler {
        let ending = self.end.child_token();
        let workspace = Workspace::new(Arc::clone(&self.options), ending.clone());
        Handler {
            shared: self.clone(),
            workspace: Arc::new(workspace),
            ending,
            place: OnceLock::new(),
            counted: self.closing.token(),
        }
    }

    /// Waits until everything that ended connections started has been ended.
    pub(crate) async fn closed(&self) {
        self.closing.close();
        self.closing.wait().await;
    }
}

/// The handler of one connection. Dropping it ends the session and the commands that the connection started.
#[derive(Debug)]
pub(crate) struct Handler {
    shared: Shared,
    workspace: Arc<Workspace>,
    ending: CancellationToken,
    place: OnceLock<OwnedSemaphorePermit>,
    /// Keeps [`Shared::closed`] waiting.
    counted: TaskTrackerToken,
}

impl Handler {
    /// Returns the token whose cancellation ends the running calls of this connection.
    pub(crate) fn ending(&self) -> CancellationToken {
        self.ending.clone()
    }
}

impl Drop for Handler {
    fn drop(&mut self) {
        self.ending.cancel();
        let (workspace, place) = (Arc::clone(&self.workspace), self.place.take());
        let counted = self.counted.clone();
        tokio::spawn(async move {
            workspace.close().await;
            drop((place, counted));
        });
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_protocol_version(VERSION)
            .with_server_info(Implementation::new("airlock", env!("CARGO_PKG_VERSION")).with_title("Airlock"))
            .with_instructions(INSTRUCTIONS)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(ProtocolVersion::known_up_to(&VERSION))
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let Ok(place) = Arc::clone(&self.shared.places).try_acquire_owned() else {
            let text = "too many MCP sessions are open; end one, or allow more with --max-sessions";
            return Err(ErrorData::internal_error(text, None));
        };
        // A repeated request keeps the first place.
        let _ = self.place.set(place);
        context.peer.set_peer_info(request.clone());
        self.negotiate_initialize(&request)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::list()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::list().into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let call = Call { workspace: &self.workspace, context: &context };
        let arguments = request.arguments.unwrap_or_default();
        let Some(reply) = Box::pin(tools::call(&request.name, arguments, &call)).await else {
            let tools: Vec<_> = tools::list().into_iter().map(|tool| format!("`{}`", tool.name)).collect();
            let text = format!("there is no tool `{}`; the tools are {}", request.name, tools.join(", "));
            return Err(ErrorData::invalid_params(text, None));
        };
        let result = match reply {
            Ok(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
            Err(text) => CallToolResult::error(vec![ContentBlock::text(text)]),
        };
        Ok(result.into())
    }
}
