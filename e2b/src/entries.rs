//! Files as the SDKs see them, and the paths of requests.

use std::time::{Duration, UNIX_EPOCH};

use airlock_client::{
    Client,
    v1::{FileInfo, FileServiceListRequest, FileType as AirlockType, PageRequest},
};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use super::{
    refusal::{Kind, Refusal},
    wire::filesystem::{Entry, FileType},
};

/// The name of the session's own user for the SDKs. It owns every file.
const OWNER: &str = "user";
/// Its name in the sandbox.
const AGENT: &str = "agent";
/// The home directory of that user.
const HOME: &str = "/home/agent";
/// The directory of relative paths.
pub(crate) const WORKSPACE: &str = "/workspace";
/// The users that a caller can name. All are the session's own user.
const USERS: [&str; 3] = ["", OWNER, AGENT];
/// The longest path in bytes.
const PATH_BYTES: usize = 4096;
/// The links that are followed to find the type of a link's target.
const LINKS: usize = 8;
/// The entries of one page.
const PAGE: i32 = 1000;

/// Checks a user that a caller names.
///
/// # Errors
/// If there is no such user.
pub(crate) fn user(name: &str) -> Result<(), Refusal> {
    match USERS.contains(&name) {
        true => Ok(()),
        false => Err(Refusal::invalid(format!(
            "there is no user `{name}`: everything runs as the session's own user; omit the user"
        ))),
    }
}

/// Returns an absolute path without `.`, `..` and double slashes. `~` is the home directory, and a relative path belongs to
/// the workspace.
///
/// # Errors
/// If the path is too long or has a NUL character.
pub(crate) fn absolute(path: &str) -> Result<String, Refusal> {
    if path.len() > PATH_BYTES {
        return Err(Refusal::invalid(format!("the path is longer than {PATH_BYTES} bytes")));
    }
    if path.contains('\0') {
        return Err(Refusal::invalid("the path has a NUL character"));
    }
    let (start, rest) = match path {
        "~" => (HOME, ""),
        _ if path.starts_with("~/") => (HOME, path.get(2..).unwrap_or_default()),
        _ if path.starts_with('/') => ("", path),
        _ => (WORKSPACE, path),
    };
    Ok(joined(start, rest))
}

fn joined(start: &str, rest: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in start.split('/').chain(rest.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Returns the last part of an absolute path.
pub(crate) fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// Returns the directory of an absolute path.
pub(crate) fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("/", |(parent, _)| if parent.is_empty() { "/" } else { parent })
}

/// Returns the text of a path that may not be UTF-8.
fn path_of(info: &FileInfo) -> String {
    match info.path_bytes.is_empty() {
        true => info.path.clone(),
        false => String::from_utf8_lossy(&info.path_bytes).into_owned(),
    }
}

/// Describes a file. For a link, the type is that of its target, as far as the target can be found.
///
/// # Errors
/// Those of the calls to the server.
pub(crate) async fn entry(client: &Client, session: &str, info: &FileInfo) -> Result<Entry, Refusal> {
    let path = path_of(info);
    let is_symlink = info.r#type() == AirlockType::Symlink;
    let (mut kind, mut target) = (of_type(info.r#type()), None);
    if is_symlink {
        let (found, end) = followed(client, session, info).await?;
        (kind, target) = (found, Some(end));
    }
    Ok(Entry {
        name: name(&path).to_owned(),
        kind,
        size: info.size.to_string(),
        mode: info.mode,
        permissions: permissions(info),
        owner: OWNER,
        group: OWNER,
        modified_time: modified(info),
        symlink_target: target,
        is_symlink,
        path,
    })
}

/// Returns the type and the path of the file that a link leads to.
async fn followed(client: &Client, session: &str, link: &FileInfo) -> Result<(FileType, String), Refusal> {
    let mut at = link.clone();
    for _ in 0..LINKS {
        let path = path_of(&at);
        let target = match at.link_target_bytes.is_empty() {
            true => at.link_target.clone(),
            false => String::from_utf8_lossy(&at.link_target_bytes).into_owned(),
        };
        let next = if target.starts_with('/') { joined("", &target) } else { joined(parent(&path), &target) };
        match client.stat(session, next.as_bytes()).await.map_err(Refusal::from) {
            Ok(info) if info.r#type() == AirlockType::Symlink => at = info,
            Ok(info) => return Ok((of_type(info.r#type()), next)),
            Err(refusal) if refusal.is_gone() || refusal.kind == Kind::Unavailable => return Err(refusal),
            // A link to nothing, or to a directory that the files of a session do not include.
            Err(_) => return Ok((FileType::Symlink, next)),
        }
    }
    Ok((FileType::Symlink, path_of(&at)))
}

fn of_type(kind: AirlockType) -> FileType {
    match kind {
        AirlockType::Directory => FileType::Directory,
        AirlockType::Symlink => FileType::Symlink,
        // The SDKs leave out entries of other types.
        AirlockType::Regular | AirlockType::Other => FileType::File,
        AirlockType::Unspecified => FileType::Unspecified,
    }
}

fn permissions(info: &FileInfo) -> String {
    let first = match info.r#type() {
        AirlockType::Directory => 'd',
        AirlockType::Symlink => 'L',
        _ => '-',
    };
    let bits = (0..9).rev().zip("rwxrwxrwx".chars());
    let shown = bits.map(|(bit, letter)| if info.mode >> bit & 1 == 1 { letter } else { '-' });
    std::iter::once(first).chain(shown).collect()
}

fn modified(info: &FileInfo) -> Option<String> {
    let modified = info.modified.as_ref()?;
    let (seconds, nanos) = (u64::try_from(modified.seconds).ok()?, u32::try_from(modified.nanos).ok()?);
    let time = UNIX_EPOCH.checked_add(Duration::new(seconds, nanos))?;
    OffsetDateTime::from(time).format(&Rfc3339).ok()
}

/// Returns the files in a directory and in those below it, down to `depth`.
///
/// # Errors
/// If the path is no directory, or has more than `most` entries.
pub(crate) async fn listed(
    client: &Client,
    session: &str,
    path: &str,
    depth: u32,
    most: u32,
) -> Result<Vec<FileInfo>, Refusal> {
    let root = client.stat(session, path.as_bytes()).await?;
    let kind = match root.r#type() {
        AirlockType::Symlink => followed(client, session, &root).await?.0,
        kind => of_type(kind),
    };
    if kind != FileType::Directory {
        return Err(Refusal::invalid(format!("`{path}` is not a directory")));
    }
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let (mut found, mut level) = (Vec::new(), vec![path.to_owned()]);
    for _ in 0..depth {
        let mut below = Vec::new();
        for directory in level {
            let from = found.len();
            if let Err(refusal) = page(client, session, &directory, most, &mut found).await {
                // A directory can disappear while the ones beside it are listed.
                if refusal.kind == Kind::NotFound && directory != path {
                    continue;
                }
                return Err(refusal);
            }
            let new = found.get(from..).unwrap_or_default().iter();
            below.extend(new.filter(|info| info.r#type() == AirlockType::Directory).map(path_of));
        }
        if below.is_empty() {
            break;
        }
        level = below;
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(found)
}

async fn page(
    client: &Client,
    session: &str,
    directory: &str,
    most: usize,
    found: &mut Vec<FileInfo>,
) -> Result<(), Refusal> {
    let mut token = String::new();
    loop {
        let request = FileServiceListRequest {
            session_id: session.to_owned(),
            page: Some(PageRequest { page_size: PAGE, page_token: token }),
            ..Default::default()
        }
        .with_path(directory.as_bytes().to_vec());
        let page = client.files(request).await?;
        found.extend(page.files);
        if found.len() > most {
            return Err(Refusal::new(
                Kind::TooMany,
                format!("there are more than {most} entries; list a smaller directory"),
            ));
        }
        token = page.next_page_token;
        if token.is_empty() {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_absolute_and_never_above_the_root() {
        for (given, expected) in [
            ("", "/workspace"),
            ("a//b/./c", "/workspace/a/b/c"),
            ("~", "/home/agent"),
            ("~/x", "/home/agent/x"),
            ("~other", "/workspace/~other"),
            ("/tmp/../etc/passwd", "/etc/passwd"),
            ("../../../etc/shadow", "/etc/shadow"),
            ("/..", "/"),
            ("-rf", "/workspace/-rf"),
        ] {
            assert_eq!(absolute(given).unwrap(), expected, "{given}");
        }
        assert!(absolute("a\0b").is_err());
        assert!(absolute(&"a".repeat(PATH_BYTES + 1)).is_err());
        assert_eq!((name("/a/b"), parent("/a/b"), parent("/a"), name("/")), ("b", "/a", "/", ""));
    }

    #[test]
    fn only_the_users_of_a_session_exist() {
        assert!(["", "user", "agent"].into_iter().all(|name| user(name).is_ok()));
        assert_eq!(user("root").unwrap_err().kind, Kind::Invalid);
    }

    #[test]
    fn permissions_are_shown_as_by_the_sdks() {
        let info = |kind: AirlockType, mode| FileInfo { r#type: kind.into(), mode, ..Default::default() };
        assert_eq!(permissions(&info(AirlockType::Regular, 0o644)), "-rw-r--r--");
        assert_eq!(permissions(&info(AirlockType::Directory, 0o755)), "drwxr-xr-x");
        assert_eq!(permissions(&info(AirlockType::Symlink, 0o777)), "Lrwxrwxrwx");
    }
}
