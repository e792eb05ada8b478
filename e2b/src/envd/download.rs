//! Reads of files. The bytes are sent while they arrive.

use airlock_client::{
    Download,
    v1::{FileFormat, FileServiceDownloadRequest, FileType},
};
use http::{HeaderValue, Response, header};
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use super::{call::Call, query::Query};
use crate::{
    body::{self, Body},
    entries::{self, absolute},
    refusal::{Kind, Refusal},
};

/// Returns the content of a file.
pub(super) async fn answer(
    call: &Call,
    query: &Query,
    permit: OwnedSemaphorePermit,
) -> Result<Response<Body>, Refusal> {
    let path = absolute(query.path.as_deref().unwrap_or_default())?;
    let most = call.front.registry.limits().file_bytes;
    let request = FileServiceDownloadRequest {
        session_id: call.sandbox.session.clone(),
        format: FileFormat::File.into(),
        ..Default::default()
    }
    .with_path(path.as_bytes().to_vec());
    let info = call.sandbox.client().stat(&call.sandbox.session, path.as_bytes()).await?;
    if info.r#type() == FileType::Directory {
        return Err(Refusal::invalid(format!("`{path}` is a directory; list it")));
    }
    let mut download = call.sandbox.client().download(request, most);
    let described = download.header().await?;
    let size = described.info.map(|info| info.size).unwrap_or_default();
    if size > most {
        return Err(Refusal::new(
            Kind::TooLarge,
            format!("the file has {size} bytes, and at most {most} bytes can be read at once"),
        ));
    }
    let (sender, body) = body::streamed();
    let ended = call.sandbox.ended.clone();
    call.front.registry.tasks().spawn(async move {
        let _permit = permit;
        let _ = ended.run_until_cancelled(copy(download, sender)).await;
    });
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(size));
    // A browser saves the file. It must not display it as a page, because a command may have written it.
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    let name =
        percent_encoding::utf8_percent_encode(entries::name(&path), percent_encoding::NON_ALPHANUMERIC);
    if let Ok(value) = HeaderValue::try_from(format!("attachment; filename*=UTF-8''{name}")) {
        headers.insert(header::CONTENT_DISPOSITION, value);
    }
    Ok(response)
}

/// Sends the bytes. A failure breaks the response off.
async fn copy(mut download: Download, sender: mpsc::Sender<std::io::Result<bytes::Bytes>>) {
    loop {
        let piece = match download.next().await {
            Ok(Some(piece)) => Ok(piece),
            Ok(None) => return,
            Err(error) => Err(std::io::Error::other(error)),
        };
        let failed = piece.is_err();
        if sender.send(piece).await.is_err() || failed {
            return;
        }
    }
}
