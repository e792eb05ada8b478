//! What the comments of `file.proto` promise, tried against a server and a runner.

use std::io::Cursor;

use airlock_cli::client::{
    Client, ClientError, Progress,
    v1::{self, FileFormat, FileServiceDownloadRequest, UploadHeader},
};
use airlock_tests::site::Site;
use tonic::Code;

fn said(error: &ClientError) -> (Option<Code>, String) {
    (error.code(), error.rejection().map(|rejection| rejection.reason.clone()).unwrap_or_default())
}

async fn upload(client: &Client, header: UploadHeader, data: &[u8]) -> Result<u64, ClientError> {
    let done = client.upload(header, &mut Cursor::new(data.to_vec()), &Progress::default()).await;
    done.map(|done| done.received)
}

async fn download(client: &Client, request: FileServiceDownloadRequest) -> Result<Vec<u8>, ClientError> {
    let mut came = Vec::new();
    client.download(request, u64::MAX).copy_to(&mut came, &Progress::default()).await?;
    Ok(came)
}

#[tokio::test]
async fn uploads_and_downloads_are_as_their_contract_says() {
    let site = Site::new();
    let (_server, _runner) = (site.server(&[]), site.runner(&[]));
    let client = site.ready().await;
    let created = client.create_session(v1::SessionServiceCreateRequest::default()).await.unwrap();
    let session_id = created.session_id;
    let put = |path: &'static str, transfer: &str| UploadHeader {
        session_id: session_id.clone(),
        transfer_id: transfer.to_owned(),
        path: path.into(),
        format: FileFormat::File.into(),
        ..Default::default()
    };
    let get = |path: &'static str| FileServiceDownloadRequest {
        session_id: session_id.clone(),
        path: path.into(),
        ..Default::default()
    };

    // Missing folders are made, the mode is 0644; what was done is answered again.
    for _ in 0..2 {
        assert_eq!(upload(&client, put("a/b", "t"), b"hello").await.unwrap(), 5);
    }
    assert_eq!(client.stat(&session_id, b"/workspace/a/b").await.unwrap().mode, 0o644);
    let other = upload(&client, put("a/c", "t"), b"hello").await.unwrap_err();
    assert_eq!(said(&other), (Some(Code::FailedPrecondition), "TRANSFER_MISMATCH".to_owned()));
    let long = "t".repeat(129);
    assert_eq!(upload(&client, put("d", &long), b"").await.unwrap_err().code(), Some(Code::InvalidArgument));

    // A file for a file, an archive for a folder.
    assert_eq!(download(&client, get("a/b")).await.unwrap(), b"hello");
    let archive = download(&client, get("")).await.unwrap();
    assert_eq!(archive.len() % 512, 0);
    let mut going = client.download(get("a/b"), u64::MAX);
    let transfer_id = going.header().await.unwrap().transfer_id;
    let on = |offset| FileServiceDownloadRequest { transfer_id: transfer_id.clone(), offset, ..get("a/b") };
    while going.next().await.unwrap().is_some() {}

    for (request, expected) in [
        (get("nowhere"), (Code::NotFound, "NO_SUCH_FILE")),
        (FileServiceDownloadRequest { offset: 1, ..get("a/b") }, (Code::InvalidArgument, "")),
        (
            FileServiceDownloadRequest { exclude: vec!["x".to_owned(); 65], ..get("") },
            (Code::InvalidArgument, ""),
        ),
        (
            FileServiceDownloadRequest { transfer_id: "gone".to_owned(), ..get("a/b") },
            (Code::FailedPrecondition, "TRANSFER_GONE"),
        ),
        (on(6), (Code::OutOfRange, "")),
    ] {
        let error = download(&client, request.clone()).await.unwrap_err();
        let (code, reason) = said(&error);
        assert_eq!(code, Some(expected.0), "{request:?}: {error}");
        assert!(expected.1.is_empty() || reason == expected.1, "{request:?}: {reason}");
    }
}
