//! Tests that every invalid field of a request about files is named, and that valid requests are accepted.

use airlock_control::api::ApiError;
use airlock_domain::{FileFormat, FileType};
use airlock_proto::v1::{self, file_service_upload_request::Part};

use super::*;

fn fields<T>(result: Result<T, ApiError>) -> Vec<String> {
    match result {
        Err(ApiError::Invalid(violations)) => {
            violations.into_iter().map(|violation| violation.field).collect()
        }
        Err(other) => panic!("{other:?}"),
        Ok(_) => Vec::new(),
    }
}

fn header(change: impl FnOnce(&mut v1::UploadHeader)) -> v1::FileServiceUploadRequest {
    let mut header = v1::UploadHeader {
        session_id: SessionId::new().to_string(),
        path: "src".into(),
        format: v1::FileFormat::Tar.into(),
        ..Default::default()
    };
    change(&mut header);
    v1::FileServiceUploadRequest { part: Some(Part::Header(header)) }
}

#[test]
fn a_good_upload_is_taken_as_it_is() {
    let order = upload(header(|header| {
        header.transfer_id = "mine".to_owned();
        header.format = v1::FileFormat::File.into();
        header.path = "/workspace/a b/\u{1b}é".into();
        header.size = Some(7);
        header.sha256 = vec![9; 32].into();
        header.mode = 0o755;
    }))
    .unwrap();
    assert_eq!((order.transfer_id.as_str(), order.format, order.mode), ("mine", FileFormat::File, 0o755));
    assert_eq!((order.size, order.sha256), (Some(7), Some([9; 32])));
    assert_eq!(order.path, "/workspace/a b/\u{1b}é".as_bytes());

    let bare = upload(header(|_| {})).unwrap();
    assert_eq!((bare.mode, bare.size, bare.sha256), (0o644, None, None));
    let other = upload(header(|_| {})).unwrap();
    assert!(!bare.transfer_id.is_empty() && bare.transfer_id != other.transfer_id);
}

#[test]
fn every_bad_field_of_an_upload_is_named_at_once() {
    let found = fields(upload(header(|header| {
        header.session_id = "no".to_owned();
        header.transfer_id = "x".repeat(129);
        header.path = "a/../b".into();
        header.format = 77;
        header.sha256 = vec![1; 31].into();
        header.mode = 0o10000;
    })));
    let expected = ["session_id", "transfer_id", "path", "format", "sha256", "mode"]
        .map(|name| format!("header.{name}"));
    assert_eq!(found, expected);
}

#[test]
fn what_an_upload_cannot_mean_is_refused() {
    let file = |path: &'static str, mode: u32| {
        header(|header| {
            header.format = v1::FileFormat::File.into();
            header.path = path.into();
            header.mode = mode;
        })
    };
    assert_eq!(fields(upload(file("", 0))), ["header.path"]);
    assert_eq!(fields(upload(file("a/", 0))), ["header.path"]);
    for mode in [0o4755, 0o2755, 0o6000] {
        assert_eq!(fields(upload(file("a", mode))), ["header.mode"], "{mode:o}");
    }
    assert_eq!(fields(upload(file("a", 0o1777))), [""; 0]);
    assert_eq!(fields(upload(header(|header| header.mode = 0o644))), ["header.mode"]);
    assert_eq!(fields(upload(header(|header| header.format = 0))), ["header.format"]);
    assert_eq!(fields(upload(header(|header| header.transfer_id = "a\nb".into()))), ["header.transfer_id"]);
    assert_eq!(fields(upload(v1::FileServiceUploadRequest { part: None })), ["header"]);
    let chunk = v1::FileServiceUploadRequest { part: Some(Part::Chunk(v1::FileChunk::default())) };
    assert_eq!(fields(upload(chunk)), ["header"]);
    assert_eq!(fields(upload_chunk(header(|_| {}))), ["header"]);
    assert_eq!(fields(upload_chunk(v1::FileServiceUploadRequest { part: None })), ["chunk"]);
}

#[test]
fn paths_are_those_of_workspace_home_and_tmp() {
    let stat_of = |path: &[u8]| {
        let session_id = SessionId::new().to_string();
        let request = v1::FileServiceStatRequest { session_id, ..Default::default() };
        fields(stat(request.with_path(path.to_vec())))
    };
    let long = [b"a/".repeat(2048), b"x".to_vec()].concat();
    let good: [&[u8]; 16] = [
        b"",
        b".",
        b"a",
        b"a//b/./c/",
        b"/workspace",
        b"/workspace/",
        b"/workspace/a",
        b"/home/agent",
        b"/home/agent/.bashrc",
        b"/tmp",
        b"/tmp/",
        b"/tmp/a/b",
        b"tmp/a",
        b"..a/b..",
        b"\xff\xfe",
        b"-rf",
    ];
    for path in good {
        assert!(stat_of(path).is_empty(), "{}", path.escape_ascii());
    }
    let name = vec![b'n'; 256];
    let bad: [&[u8]; 18] = [
        b"..",
        b"../a",
        b"a/..",
        b"/workspace/..",
        b"/workspace/../etc/passwd",
        b"/",
        b"/etc/passwd",
        b"/workspacex",
        b"/tmpx/a",
        b"/tmp/../etc/passwd",
        b"/home",
        b"/home/other/a",
        b"/home/agentx",
        b"/var/tmp/a",
        b"//tmp/a",
        b"a\0b",
        &long,
        &name,
    ];
    for path in bad {
        assert_eq!(stat_of(path), ["path"], "{}", path.escape_ascii());
    }
}

#[test]
fn only_the_workspace_is_compared_with_how_it_began() {
    let diff_of = |path: &[u8]| {
        let session_id = SessionId::new().to_string();
        let request = v1::FileServiceDiffRequest { session_id, ..Default::default() };
        diff(request.with_path(path.to_vec()))
    };
    for path in [&b""[..], b"a", b"/workspace", b"/workspace/a", b"tmp/a"] {
        assert!(diff_of(path).is_ok(), "{}", path.escape_ascii());
    }
    for (path, root) in [(&b"/tmp"[..], "/tmp"), (b"/tmp/a", "/tmp"), (b"/home/agent/a", "/home/agent")] {
        let Err(ApiError::Invalid(bad)) = diff_of(path) else { panic!("it is not in the workspace") };
        let said: Vec<_> = bad.iter().map(|bad| (bad.field.as_str(), bad.description.as_str())).collect();
        let expected = format!("is in {root}; only /workspace is compared with its initial state");
        assert_eq!(said, [("path", expected.as_str())]);
    }
}

#[test]
fn a_download_goes_on_only_with_its_transfer() {
    let request = |transfer_id: &str, offset| v1::FileServiceDownloadRequest {
        session_id: SessionId::new().to_string(),
        transfer_id: transfer_id.to_owned(),
        offset,
        ..Default::default()
    };
    assert_eq!(fields(download(request("", 1))), ["offset"]);
    let resumed = download(request("mine", 1)).unwrap();
    assert_eq!((resumed.resume, resumed.transfer_id.as_str(), resumed.offset), (true, "mine", 1));
    let fresh = download(request("", 0)).unwrap();
    assert!(!fresh.resume && !fresh.transfer_id.is_empty());
    let globs = v1::FileServiceDownloadRequest {
        exclude: vec!["a".into(), String::new(), "x".repeat(1025), "a\0".into()],
        ..request("", 0)
    };
    assert_eq!(fields(download(globs)), ["exclude[1]", "exclude[2]", "exclude[3]"]);
    let many = v1::FileServiceDownloadRequest { exclude: vec!["a".into(); 65], ..request("", 0) };
    assert_eq!(fields(download(many)), ["exclude"]);
}

#[test]
fn lists_have_sizes_tokens_and_filters() {
    let request = |page_size: i32, page_token: &str, types: Vec<i32>| v1::FileServiceListRequest {
        session_id: SessionId::new().to_string(),
        page: Some(v1::PageRequest { page_size, page_token: page_token.to_owned() }),
        filter: Some(v1::FileFilter { types, ..Default::default() }),
        ..Default::default()
    };
    let (order, token) = list_files(request(0, "", vec![1, 3])).unwrap();
    assert_eq!((order.page_size, token), (100, None));
    assert_eq!(order.filter.types, [FileType::Regular, FileType::Symlink]);
    assert_eq!(list_files(request(1000, "x", vec![])).unwrap().1.as_deref(), Some("x"));
    assert!(list_files(request(1, &"x".repeat(5000), vec![])).is_ok(), "long paths have long tokens");
    let bad = request(1001, &"x".repeat(TOKEN_BYTES + 1), vec![0, 9]);
    let expected = ["page.page_size", "page.page_token", "filter.types[0]", "filter.types[1]"];
    assert_eq!(fields(list_files(bad)), expected);
}

#[test]
fn an_input_names_its_execution_once() {
    let message = |execution_id: &str| v1::ExecutionServiceWriteStdinRequest {
        execution_id: execution_id.to_owned(),
        offset: 3,
        data: "abc".into(),
        end: true,
        take_over: true,
    };
    assert_eq!(fields(write_stdin(message(""))), ["execution_id"]);
    assert_eq!(fields(write_stdin(message("no"))), ["execution_id"]);
    let id = ExecutionId::new();
    let (found, take_over, piece) = write_stdin(message(&id.to_string())).unwrap();
    assert_eq!((found, take_over), (id, true));
    assert_eq!(piece, Piece { offset: 3, data: "abc".into(), closes: true });
    assert_eq!(fields(more_stdin(message(&id.to_string()))), ["execution_id", "take_over"]);
    let more = v1::ExecutionServiceWriteStdinRequest { take_over: false, ..message("") };
    assert!(more_stdin(more).is_ok());
}
