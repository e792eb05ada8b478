//! Invalid values in requests about files.

use super::*;

const UPLOAD: &str = "/airlock.v1.FileService/Upload";
const DOWNLOAD: &str = "/airlock.v1.FileService/Download";
const STAT: &str = "/airlock.v1.FileService/Stat";
const LIST: &str = "/airlock.v1.FileService/List";
const DIFF: &str = "/airlock.v1.FileService/Diff";
const QUARANTINE: &str = "/airlock.v1.FileService/ListQuarantine";
const RESTORE: &str = "/airlock.v1.FileService/RestoreQuarantine";

fn bad_paths() -> Vec<(&'static str, String)> {
    vec![
        ("at most 4096", long(limits::PATH_BYTES + 1)),
        ("NUL", "a\0b".to_owned()),
        ("/workspace", "/etc/passwd".to_owned()),
        ("without it", "../x".to_owned()),
        ("without it", "/workspace/a/../../x".to_owned()),
        ("/workspace", "/workspaces".to_owned()),
        ("/home/agent", "/home/other/x".to_owned()),
        ("/tmp", "/tmpx".to_owned()),
        ("without it", "/tmp/../workspace/x".to_owned()),
    ]
}

fn bad_globs() -> Vec<(&'static str, Vec<String>)> {
    vec![
        ("at most 64", vec!["a".to_owned(); limits::GLOBS + 1]),
        ("at most 1024", vec![long(limits::GLOB_BYTES + 1)]),
        ("is empty", vec![String::new()]),
    ]
}

fn bad_transfers() -> Vec<(&'static str, String)> {
    vec![
        ("has 129 bytes, at most 128", long(limits::TRANSFER_ID_BYTES + 1)),
        ("has control characters", "a\nb".to_owned()),
    ]
}

fn header() -> v1::UploadHeader {
    let format = v1::FileFormat::Tar.into();
    v1::UploadHeader { session_id: ID.to_owned(), format, ..Default::default() }
}

fn uploads() -> Vec<Case> {
    use v1::file_service_upload_request::Part;
    let mut cases = Vec::new();
    let mut add = |field, said, header| {
        let part = Some(Part::Header(header));
        cases.push(case(UPLOAD, field, said, &v1::FileServiceUploadRequest { part }));
    };
    for (said, session_id) in bad_ids().into_iter().chain([("is missing", String::new())]) {
        add("header.session_id", said, v1::UploadHeader { session_id, ..header() });
    }
    for (said, transfer_id) in bad_transfers() {
        add("header.transfer_id", said, v1::UploadHeader { transfer_id, ..header() });
    }
    for (said, path) in bad_paths() {
        add("header.path", said, v1::UploadHeader { path, ..header() });
    }
    let (path, path_bytes) = ("x".to_owned(), "x".into());
    add("header.path_bytes", TWICE, v1::UploadHeader { path, path_bytes, ..header() });
    for format in [0, 99, -1] {
        add("header.format", "", v1::UploadHeader { format, ..header() });
    }
    for sha256 in [vec![1; 31], vec![1; 33]] {
        add("header.sha256", "32", v1::UploadHeader { sha256: sha256.into(), ..header() });
    }
    for mode in [0o1_0000, 0o4755, 0o2755, u32::MAX] {
        let (format, path) = (v1::FileFormat::File.into(), "x".into());
        add("header.mode", "", v1::UploadHeader { mode, format, path, ..header() });
    }
    cases
}

fn filters() -> Vec<(&'static str, &'static str, v1::FileFilter)> {
    let mut bad = Vec::new();
    for (said, types) in [("is missing", vec![0]), (UNKNOWN, vec![1, 99])] {
        let filter = v1::FileFilter { types, ..Default::default() };
        bad.push(("filter.types", said, filter));
    }
    for (said, globs) in bad_globs() {
        let include = v1::FileFilter { include: globs.clone(), ..Default::default() };
        bad.push(("filter.include", said, include));
        bad.push(("filter.exclude", said, v1::FileFilter { exclude: globs, ..Default::default() }));
    }
    bad
}

fn downloads() -> Vec<Case> {
    let mut cases = Vec::new();
    let good = || v1::FileServiceDownloadRequest { session_id: ID.to_owned(), ..Default::default() };
    let mut add = |field, said, request: v1::FileServiceDownloadRequest| {
        cases.push(case(DOWNLOAD, field, said, &request));
    };
    for (said, transfer_id) in bad_transfers() {
        add("transfer_id", said, v1::FileServiceDownloadRequest { transfer_id, ..good() });
    }
    for format in [99, -1] {
        add("format", UNKNOWN, v1::FileServiceDownloadRequest { format, ..good() });
    }
    add("offset", "transfer_id", v1::FileServiceDownloadRequest { offset: 1, ..good() });
    for (said, exclude) in bad_globs() {
        add("exclude", said, v1::FileServiceDownloadRequest { exclude, ..good() });
    }
    cases
}

fn paths_in_both_fields() -> [Case; 4] {
    let (id, text, bytes) = (|| ID.to_owned(), || "x".to_owned(), || Bytes::from_static(b"x"));
    let stat = v1::FileServiceStatRequest { session_id: id(), path: text(), path_bytes: bytes() };
    let (session_id, path, path_bytes) = (id(), text(), bytes());
    let list = v1::FileServiceListRequest { session_id, path, path_bytes, ..Default::default() };
    let (session_id, path, path_bytes) = (id(), text(), bytes());
    let diff = v1::FileServiceDiffRequest { session_id, path, path_bytes, ..Default::default() };
    let (session_id, path, path_bytes) = (id(), text(), bytes());
    let download = v1::FileServiceDownloadRequest { session_id, path, path_bytes, ..Default::default() };
    [
        case(STAT, "path_bytes", TWICE, &stat),
        case(LIST, "path_bytes", TWICE, &list),
        case(DIFF, "path_bytes", TWICE, &diff),
        case(DOWNLOAD, "path_bytes", TWICE, &download),
    ]
}

/// Returns every case.
pub(super) fn all() -> Vec<Case> {
    let mut cases = [uploads(), downloads()].concat();
    for (said, session_id) in bad_ids().into_iter().chain([("is missing", String::new())]) {
        let quarantine_id = "0123456789ab".to_owned();
        let restore =
            v1::FileServiceRestoreQuarantineRequest { session_id: session_id.clone(), quarantine_id };
        cases.push(case(RESTORE, "session_id", said, &restore));
        let alone = v1::SessionServiceGetRequest { session_id };
        cases.extend(
            [DOWNLOAD, STAT, LIST, DIFF, QUARANTINE].map(|path| case(path, "session_id", said, &alone)),
        );
    }
    for (said, path) in bad_paths() {
        let session_id = ID.to_owned();
        let (id, path_bytes) = (session_id.clone(), Bytes::new());
        let request = v1::FileServiceStatRequest { session_id: id, path: path.clone(), path_bytes };
        cases.extend([STAT, LIST, DIFF].map(|method| case(method, "path", said, &request)));
        let request = v1::FileServiceDownloadRequest { session_id, path, ..Default::default() };
        cases.push(case(DOWNLOAD, "path", said, &request));
    }
    cases.extend(paths_in_both_fields());
    for path in ["/tmp/x", "/home/agent"] {
        let request =
            v1::FileServiceDiffRequest { session_id: ID.to_owned(), path: path.into(), ..Default::default() };
        cases.push(case(DIFF, "path", "only /workspace is compared", &request));
    }
    for (field, said, filter) in filters() {
        let (session_id, filter) = (ID.to_owned(), Some(filter));
        let list = v1::FileServiceListRequest {
            session_id: session_id.clone(),
            filter: filter.clone(),
            ..Default::default()
        };
        cases.push(case(LIST, field, said, &list));
        let diff = v1::FileServiceDiffRequest { session_id, filter, ..Default::default() };
        cases.push(case(DIFF, field, said, &diff));
    }
    for quarantine_id in ["", "../x", "a b", &long(65)] {
        let (session_id, quarantine_id) = (ID.to_owned(), quarantine_id.to_owned());
        let restore = v1::FileServiceRestoreQuarantineRequest { session_id, quarantine_id };
        cases.push(case(RESTORE, "quarantine_id", "is not an ID from", &restore));
    }
    // Only a caller who may see the session learns whether a page token is invalid.
    for (field, said, page) in bad_pages().into_iter().filter(|(_, said, _)| !said.is_empty()) {
        let (session_id, page) = (ID.to_owned(), Some(page));
        let list = v1::FileServiceListRequest {
            session_id: session_id.clone(),
            page: page.clone(),
            ..Default::default()
        };
        cases.push(case(LIST, field, said, &list));
        let quarantine =
            v1::FileServiceListQuarantineRequest { session_id: session_id.clone(), page: page.clone() };
        cases.push(case(QUARANTINE, field, said, &quarantine));
        let diff = v1::FileServiceDiffRequest { session_id, page, ..Default::default() };
        cases.push(case(DIFF, field, said, &diff));
    }
    cases
}
