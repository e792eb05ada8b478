//! Writes of files: the body of a request, or the files of a form. A file is received completely before the session is
//! changed.

use std::{
    io::{self, SeekFrom},
    time::Duration,
};

use airlock_client::{
    Progress,
    v1::{FileFormat, UploadHeader},
};
use bytes::Bytes;
use flate2::read::GzDecoder;
use futures::{Stream, TryStreamExt as _, stream};
use http::{Response, StatusCode, header};
use http_body_util::BodyExt as _;
use tokio::{
    fs::File,
    io::{AsyncSeekExt as _, AsyncWriteExt as _},
    time::timeout,
};

use super::{call::Call, query::Query};
use crate::{
    body::{Body, RequestBody, json},
    entries::{self, absolute},
    refusal::{Kind, Refusal},
};

/// The files of one form.
const FILES: usize = 1000;
/// The time between two pieces of a body.
const STALL: Duration = Duration::from_secs(60);
/// The field of a form that is a file.
const FIELD: &str = "file";

/// Writes the files of a request.
pub(super) async fn answer(call: &Call, query: &Query, body: RequestBody) -> Result<Response<Body>, Refusal> {
    if call.headers.keys().any(|name| name.as_str().starts_with("x-metadata-")) {
        return Err(Refusal::unsupported("metadata of files; omit `metadata`"));
    }
    let most = call.front.registry.limits().file_bytes;
    let text = |name| call.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = text(header::CONTENT_TYPE);
    let written = if kind.starts_with("multipart/form-data") {
        let boundary =
            multer::parse_boundary(kind).map_err(|_| Refusal::invalid("the form has no valid boundary"))?;
        form(call, query, pieces(body), boundary, most).await?
    } else if kind.split(';').next().is_some_and(|kind| kind.trim() == "application/octet-stream") {
        let path = query.path.as_deref().filter(|path| !path.is_empty());
        let path = path.ok_or_else(|| Refusal::invalid("the parameter `path` is missing"))?;
        let mut file = received(pieces(body), most).await?;
        match text(header::CONTENT_ENCODING) {
            "" | "identity" => {}
            "gzip" => file = unpacked(file, most).await?,
            _ => return Err(Refusal::invalid("the content encoding must be gzip or identity")),
        }
        vec![write(call, path, file).await?]
    } else {
        return Err(Refusal::invalid(
            "the content type must be multipart/form-data or application/octet-stream",
        ));
    };
    Ok(json(StatusCode::OK, &written))
}

/// Writes the files of a form. With the parameter `path`, the form has one file, and its own name is ignored.
async fn form(
    call: &Call,
    query: &Query,
    pieces: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
    boundary: String,
    most: u64,
) -> Result<Vec<serde_json::Value>, Refusal> {
    let broken = |error: multer::Error| Refusal::invalid(format!("the form is invalid: {error}"));
    let size =
        multer::SizeLimit::new().whole_stream(most.saturating_mul(2)).per_field(most.saturating_add(1));
    let mut form =
        multer::Multipart::with_constraints(pieces, boundary, multer::Constraints::new().size_limit(size));
    let given = query.path.as_deref().filter(|path| !path.is_empty());
    let mut written = Vec::new();
    while let Some(field) = form.next_field().await.map_err(broken)? {
        if field.name() != Some(FIELD) {
            continue;
        }
        if written.len() >= FILES || (given.is_some() && !written.is_empty()) {
            return Err(Refusal::invalid("the form has too many files"));
        }
        let path = given.or(field.file_name()).filter(|path| !path.is_empty()).map(str::to_owned);
        let path = path.ok_or_else(|| Refusal::invalid("a file of the form has no name"))?;
        let file = received(field, most).await?;
        written.push(write(call, &path, file).await?);
    }
    match written.is_empty() {
        true => Err(Refusal::invalid("the form has no field `file`")),
        false => Ok(written),
    }
}

/// Returns the pieces of a body.
fn pieces(body: RequestBody) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    stream::try_unfold(body, |mut body| async move {
        loop {
            match body.frame().await.transpose()? {
                None => return Ok(None),
                Some(frame) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some((data, body)));
                    }
                }
            }
        }
    })
}

/// Receives a file of at most `most` bytes, into a file without a name.
async fn received<E>(pieces: impl Stream<Item = Result<Bytes, E>>, most: u64) -> Result<File, Refusal>
where
    E: std::error::Error + 'static,
{
    let mut pieces = std::pin::pin!(pieces);
    let mut file = File::from_std(tempfile::tempfile().map_err(|error| local(&error))?);
    let mut size = 0_u64;
    loop {
        let piece = timeout(STALL, pieces.try_next())
            .await
            .map_err(|_| Refusal::new(Kind::Late, "the body of the request does not arrive"))?;
        let Some(piece) = piece.map_err(|error| incomplete(&error))? else { break };
        size += piece.len() as u64;
        if size > most {
            return Err(too_large(most));
        }
        file.write_all(&piece).await.map_err(|error| local(&error))?;
    }
    file.flush().await.map_err(|error| local(&error))?;
    Ok(file)
}

fn incomplete(error: &(dyn std::error::Error + 'static)) -> Refusal {
    match error.downcast_ref::<multer::Error>() {
        Some(
            multer::Error::FieldSizeExceeded { limit, .. } | multer::Error::StreamSizeExceeded { limit },
        ) => too_large(*limit),
        _ => Refusal::invalid("the body of the request is incomplete"),
    }
}

fn too_large(most: u64) -> Refusal {
    Refusal::new(Kind::TooLarge, format!("a file has at most {most} bytes"))
}

fn local(error: &io::Error) -> Refusal {
    eprintln!("airlock-e2b: a file could not be received: {error}");
    Refusal::internal("the file could not be received")
}

/// Decompresses a file of at most `most` bytes.
async fn unpacked(mut file: File, most: u64) -> Result<File, Refusal> {
    file.seek(SeekFrom::Start(0)).await.map_err(|error| local(&error))?;
    let packed = file.into_std().await;
    let unpacking = tokio::task::spawn_blocking(move || {
        let mut plain = tempfile::tempfile().map_err(|error| local(&error))?;
        let mut limited = io::Read::take(GzDecoder::new(packed), most.saturating_add(1));
        let size = io::copy(&mut limited, &mut plain)
            .map_err(|_| Refusal::invalid("the body of the request is not valid gzip"))?;
        if size > most { Err(too_large(most)) } else { Ok(plain) }
    });
    let plain = unpacking.await.map_err(|error| Refusal::internal(error.to_string()))??;
    Ok(File::from_std(plain))
}

async fn write(call: &Call, path: &str, mut file: File) -> Result<serde_json::Value, Refusal> {
    let path = absolute(path)?;
    let header = UploadHeader {
        session_id: call.sandbox.session.clone(),
        format: FileFormat::File.into(),
        ..Default::default()
    }
    .with_path(path.as_bytes().to_vec());
    Box::pin(call.sandbox.client().upload(header, &mut file, &Progress::default())).await?;
    Ok(serde_json::json!({"name": entries::name(&path), "type": "file", "path": path}))
}
