//! The calls that transfer files and directories.

use std::{fs, path::Path};

use airlock_cli::render::names;
use airlock_client::{Client, ClientError, DirectoryOptions, Progress, v1};
use serde_json::{Map, Value, json};

use super::values::{of_bytes, text_of};

/// The largest file of a case, in bytes.
const MOST: u64 = 64 * 1024 * 1024;

/// Makes a call.
pub(super) async fn call(client: &Client, name: &str, args: &Value) -> Result<Value, ClientError> {
    match name {
        "file.write" => write(client, args).await,
        "file.read" => read(client, args).await,
        "file.stat" => {
            let file = client.stat(text_of(args, "session"), text_of(args, "path").as_bytes()).await?;
            let kind = names::lower::<v1::FileType>(file.r#type);
            Ok(json!({"type": kind, "size": file.size, "mode": file.mode}))
        }
        "file.list" => list(client, args).await,
        "file.diff" => diff(client, args).await,
        "directory.make" => {
            for (name, content) in args["files"].as_object().unwrap() {
                let path = Path::new(text_of(args, "at")).join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, content.as_str().unwrap()).unwrap();
            }
            Ok(json!({}))
        }
        "directory.upload" => {
            let (source, path) = (Path::new(text_of(args, "source")), text_of(args, "path").as_bytes());
            let (session, options) = (text_of(args, "session"), options(args));
            let done = client.upload_directory(session, source, path, &options, &Progress::default()).await?;
            Ok(json!({"files": done.uploaded.files}))
        }
        "directory.download" => {
            let (target, path) = (Path::new(text_of(args, "target")), text_of(args, "path").as_bytes());
            let (session, options) = (text_of(args, "session"), options(args));
            let done =
                client.download_directory(session, path, target, &options, &Progress::default()).await?;
            Ok(json!({"files": done.counts.files}))
        }
        "directory.read" => {
            let (root, mut files) = (Path::new(text_of(args, "at")), Map::new());
            collect(root, root, &mut files);
            Ok(json!({"files": files}))
        }
        other => panic!("there is no call `{other}`"),
    }
}

fn options(args: &Value) -> DirectoryOptions {
    let mut options = DirectoryOptions::new(std::env::temp_dir());
    let exclude = args["exclude"].as_array().into_iter().flatten();
    options.exclude = exclude.map(|glob| glob.as_str().unwrap().to_owned()).collect();
    options
}

async fn write(client: &Client, args: &Value) -> Result<Value, ClientError> {
    let header = v1::UploadHeader {
        session_id: text_of(args, "session").to_owned(),
        path: text_of(args, "path").to_owned(),
        format: v1::FileFormat::File.into(),
        mode: args["mode"].as_u64().map_or(0, |mode| u32::try_from(mode).unwrap()),
        ..Default::default()
    };
    let mut content = std::io::Cursor::new(text_of(args, "content").as_bytes().to_vec());
    client.upload(header, &mut content, &Progress::default()).await.map(|_| json!({}))
}

async fn read(client: &Client, args: &Value) -> Result<Value, ClientError> {
    let request = v1::FileServiceDownloadRequest {
        session_id: text_of(args, "session").to_owned(),
        path: text_of(args, "path").to_owned(),
        format: v1::FileFormat::File.into(),
        ..Default::default()
    };
    let mut content = Vec::new();
    client.download(request, MOST).copy_to(&mut content, &Progress::default()).await?;
    Ok(json!({"content": of_bytes(&content)}))
}

async fn list(client: &Client, args: &Value) -> Result<Value, ClientError> {
    let request = v1::FileServiceListRequest {
        session_id: text_of(args, "session").to_owned(),
        path: text_of(args, "path").to_owned(),
        recursive: args["recursive"] == true,
        ..Default::default()
    };
    let found = client.files(request).await?;
    assert!(found.next_page_token.is_empty(), "one page has all files of a case");
    Ok(json!({"paths": found.files.iter().map(path_of).collect::<Vec<_>>()}))
}

async fn diff(client: &Client, args: &Value) -> Result<Value, ClientError> {
    let request = v1::FileServiceDiffRequest {
        session_id: text_of(args, "session").to_owned(),
        path: text_of(args, "path").to_owned(),
        patch: args["patch"] == true,
        ..Default::default()
    };
    let found = client.changes(request).await?;
    assert!(found.next_page_token.is_empty(), "one page has all changes of a case");
    let of_change = |change: &v1::FileChange| {
        let file = change.after.as_ref().or(change.before.as_ref()).unwrap();
        let kind = names::lower::<v1::ChangeKind>(change.kind);
        json!({"kind": kind, "path": path_of(file), "patch": change.patch})
    };
    Ok(json!({"changes": found.changes.iter().map(of_change).collect::<Vec<_>>()}))
}

fn path_of(file: &v1::FileInfo) -> String {
    String::from_utf8_lossy(file.path()).into_owned()
}

fn collect(root: &Path, directory: &Path, files: &mut Map<String, Value>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(root, &path, files);
        } else {
            let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
            files.insert(name, of_bytes(&fs::read(&path).unwrap()));
        }
    }
}
