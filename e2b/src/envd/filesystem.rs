//! The service `filesystem.Filesystem`.

use airlock_client::v1::FileType as AirlockType;
use http::Response;

use super::{call::Call, changes, watch};
use crate::{
    body::{Body, RequestBody},
    connect,
    entries::{self, absolute},
    refusal::{Kind, Refusal},
    wire::{
        Empty,
        filesystem::{EntriesResponse, EntryResponse, ListDirRequest, MoveRequest, PathRequest},
    },
};

/// Answers a call of the service.
pub(super) async fn answer(call: &Call, method: &str, body: RequestBody) -> Response<Body> {
    if let Err(refusal) = call.user() {
        return connect::refused(&refusal);
    }
    let headers = &call.headers;
    macro_rules! unary {
        ($of:path) => {
            connect::unary(headers, body, |request| call.watched(Box::pin($of(call, request)))).await
        };
    }
    match method {
        "Stat" => unary!(stat),
        "MakeDir" => unary!(make_directory),
        "Move" => unary!(move_file),
        "ListDir" => unary!(list),
        "Remove" => unary!(remove),
        "CreateWatcher" => unary!(watch::create),
        "GetWatcherEvents" => unary!(watch::events),
        "RemoveWatcher" => unary!(watch::remove),
        "WatchDir" => {
            let streamed = call.watched(watch::stream(call, body)).await;
            streamed.unwrap_or_else(|refusal| connect::single::<Empty>(Err(refusal)))
        }
        _ => connect::refused(&Refusal::unsupported("this call of the service for files")),
    }
}

/// Describes the file at a path.
async fn entry(call: &Call, path: &str) -> Result<EntryResponse, Refusal> {
    let (client, session) = (call.sandbox.client(), &call.sandbox.session);
    let info = client.stat(session, path.as_bytes()).await?;
    Ok(EntryResponse { entry: entries::entry(client, session, &info).await? })
}

async fn stat(call: &Call, request: PathRequest) -> Result<EntryResponse, Refusal> {
    entry(call, &absolute(&request.path)?).await
}

async fn list(call: &Call, request: ListDirRequest) -> Result<EntriesResponse, Refusal> {
    let (client, session) = (call.sandbox.client(), &call.sandbox.session);
    let most = call.front.registry.limits().entries;
    let path = absolute(&request.path)?;
    let files = entries::listed(client, session, &path, request.depth.max(1), most).await?;
    let mut entries = Vec::with_capacity(files.len());
    for info in &files {
        entries.push(entries::entry(client, session, info).await?);
    }
    Ok(EntriesResponse { entries })
}

async fn make_directory(call: &Call, request: PathRequest) -> Result<EntryResponse, Refusal> {
    let path = absolute(&request.path)?;
    match call.sandbox.client().stat(&call.sandbox.session, path.as_bytes()).await.map_err(Refusal::from) {
        Ok(info) if info.r#type() == AirlockType::Directory => {
            return Err(Refusal::new(Kind::Exists, format!("the directory `{path}` exists")));
        }
        Ok(_) => return Err(Refusal::invalid(format!("`{path}` exists and is not a directory"))),
        Err(refusal) if refusal.kind == Kind::NotFound => {}
        Err(refusal) => return Err(refusal),
    }
    changes::make_directory(&call.sandbox, &path).await?;
    entry(call, &path).await
}

async fn move_file(call: &Call, request: MoveRequest) -> Result<EntryResponse, Refusal> {
    let (from, to) = (absolute(&request.source)?, absolute(&request.destination)?);
    // A missing source has its own error.
    entry(call, &from).await?;
    changes::move_file(&call.sandbox, &from, &to).await?;
    entry(call, &to).await
}

/// Removes a file. As at E2B, a file that does not exist is no error.
async fn remove(call: &Call, request: PathRequest) -> Result<Empty, Refusal> {
    let path = absolute(&request.path)?;
    match entry(call, &path).await {
        Ok(_) => changes::remove(&call.sandbox, &path).await.map(|()| Empty {}),
        Err(refusal) if refusal.kind == Kind::NotFound => Ok(Empty {}),
        Err(refusal) => Err(refusal),
    }
}
