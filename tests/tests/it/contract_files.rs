//! Tests of the guarantees in the comments of `file.proto`, with a server and a runner.

use std::io::Cursor;

use airlock_client::{
    Client, ClientError, Progress,
    v1::{self, FileFormat, FileServiceDownloadRequest, UploadHeader},
};
use airlock_tests::{
    reader::{exit_code, run, spec_in},
    site::Site,
};
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

    // Missing directories are created, and the mode is 0644. A repeated request returns the same
    // result.
    for _ in 0..2 {
        assert_eq!(upload(&client, put("a/b", "t"), b"hello").await.unwrap(), 5);
    }
    assert_eq!(client.stat(&session_id, b"/workspace/a/b").await.unwrap().mode, 0o644);
    let other = upload(&client, put("a/c", "t"), b"hello").await.unwrap_err();
    assert_eq!(said(&other), (Some(Code::FailedPrecondition), "TRANSFER_MISMATCH".to_owned()));
    let long = "t".repeat(129);
    assert_eq!(upload(&client, put("d", &long), b"").await.unwrap_err().code(), Some(Code::InvalidArgument));

    // A file is downloaded as a file, a directory as an archive.
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

#[tokio::test]
async fn home_and_tmp_are_roots_beside_the_workspace() {
    let site = Site::new();
    let (_server, _runner) = (site.server(&[]), site.runner(&[]));
    let client = site.ready().await;
    let created = client.create_session(v1::SessionServiceCreateRequest::default()).await.unwrap();
    let session_id = created.session_id;
    let put = |path: &str| UploadHeader {
        session_id: session_id.clone(),
        path: path.into(),
        format: FileFormat::File.into(),
        ..Default::default()
    };
    let get = |path: &str| FileServiceDownloadRequest {
        session_id: session_id.clone(),
        path: path.into(),
        ..Default::default()
    };
    let list = |path: &str| v1::FileServiceListRequest {
        session_id: session_id.clone(),
        path: path.into(),
        ..Default::default()
    };

    // Uploaded files are visible to commands, and files of commands can be downloaded, in each
    // root.
    let roots = ["/workspace", "/home/agent", "/tmp"];
    for root in roots {
        upload(&client, put(&format!("{root}/sent/file")), root.as_bytes()).await.unwrap();
    }
    upload(&client, put("/home/agent/.bashrc"), b"mine").await.unwrap();
    let script = "set -e
        for root in /workspace /home/agent /tmp; do
            test \"$(cat $root/sent/file)\" = $root
            echo made in $root > $root/made
        done
        echo evil > ~/.bashrc
        ln -s /workspace/sent /tmp/way
        ln -s /tmp ~/way";
    upload(&client, put("script"), script.as_bytes()).await.unwrap();
    let story = run(&client, spec_in(&session_id, "bash ./script")).await.unwrap();
    assert_eq!(story.end.as_ref().and_then(exit_code), Some(0), "{story:?}");
    for root in roots {
        let made = format!("{root}/made");
        let text = download(&client, get(&made)).await.unwrap();
        assert_eq!(text, format!("made in {root}\n").into_bytes());
        assert_eq!(client.stat(&session_id, made.as_bytes()).await.unwrap().path, made);
        let listed = client.files(list(root)).await.unwrap().files;
        assert!(listed.iter().any(|file| file.path == made), "{listed:?}");
        assert_eq!(download(&client, get(root)).await.unwrap().len() % 512, 0, "an archive");
    }
    let bashrc = download(&client, get("/home/agent/.bashrc")).await.unwrap();
    assert_eq!(bashrc, b"mine", "a command's change is compared with the upload");

    // No link leads from one root to another.
    for path in ["/tmp/way/file", "/home/agent/way/sent/file"] {
        let refused = (Some(Code::FailedPrecondition), "LINK_LEAVES".to_owned());
        assert_eq!(said(&download(&client, get(path)).await.unwrap_err()), refused, "{path}");
        assert_eq!(said(&upload(&client, put(path), b"evil").await.unwrap_err()), refused, "{path}");
    }
    // Only the workspace can be compared, and paths outside the roots do not exist.
    let diff = |path: &str| v1::FileServiceDiffRequest {
        session_id: session_id.clone(),
        path: path.into(),
        ..Default::default()
    };
    for path in ["/tmp", "/home/agent/made"] {
        let refused = client.changes(diff(path)).await.unwrap_err();
        assert_eq!(refused.code(), Some(Code::InvalidArgument), "{path}");
        assert!(refused.to_string().contains("only /workspace is compared"), "{refused}");
    }
    for path in ["/var/tmp/made", "/home/agent/../made", "/etc/passwd"] {
        let refused = download(&client, get(path)).await.unwrap_err();
        assert_eq!(refused.code(), Some(Code::InvalidArgument), "{path}");
    }
}
