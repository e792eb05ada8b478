//! Checks of the host against a runner's configuration: directories, uids, disk space, secrets, servers.

use std::{
    fs,
    os::fd::AsRawFd as _,
    path::{Path, PathBuf},
};

use airlock_mounts::TemporaryDir;
use airlock_sandbox::UidIsolation;
use rustix::fs::{
    Access, AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, access, accessat, flock, fstat, openat,
    statvfs,
};
use tokio::task::spawn_blocking;
use tonic::transport::Uri;

use super::{
    finding::Finding,
    host::{Probe, host},
    reach::{Target, Trust, reach},
    secrets,
};
use crate::{
    config::{RunnerConfig, ServerConfig},
    files::as_session,
    floor::{NO_USER, NO_USER_REMEDY, Outside, is_hosts_root},
};

/// The maximum size of a certificate file, in bytes.
const FILE_BYTES: u64 = 1024 * 1024;

/// Checks everything that `config` names, and the host. A runner that uses the configuration is not disturbed.
///
/// # Errors
/// If no temporary directory can be created, or if the check was interrupted.
pub async fn configured(config: RunnerConfig) -> std::io::Result<Vec<Finding>> {
    let own = config.clone();
    let mut found = spawn_blocking(move || local(&own)).await.map_err(std::io::Error::other)??;
    found.extend(secrets::vault(&config).await);
    for server in &config.servers {
        found.extend(dialled(server).await);
    }
    Ok(found)
}

fn local(config: &RunnerConfig) -> std::io::Result<Vec<Finding>> {
    let mut found = vec![state(&config.state_dir)];
    found.extend(room(config));
    found.push(accounts(config));
    found.extend(outside(Outside::of(&config.floor, UidIsolation::detect())));
    found.extend(config.bases.iter().map(|(name, path)| directory(&format!("base {name}"), path)));
    found.extend(config.floor.bind_sources.iter().map(|path| directory("floor.bind_sources", path)));
    found.extend(config.floor.rootfs.iter().map(|path| rootfs(path)));
    found.extend(config.floor.unix_sockets.iter().map(|path| socket(path, config)));
    found.extend(secrets::files(config));
    let scratch = TemporaryDir::new("airlock-doctor-")?;
    // The last uid of the range: sessions take the first free one.
    let uid = config.uids.first.saturating_add(config.uids.count.saturating_sub(1));
    let probe = Probe {
        bwrap: config.bwrap.clone(),
        scratch: scratch.path().to_owned(),
        uid: Some(uid),
        require: config.floor.require.clone(),
        cgroup: config.cgroup.for_launcher(),
        disk: config.workspace.for_sandbox(),
        disk_directory: config.state_dir.ancestors().find(|path| path.exists()).map(Path::to_owned),
    };
    found.extend(host(&probe));
    scratch.close()?;
    Ok(found)
}

fn state(path: &Path) -> Finding {
    const NAME: &str = "state_dir";
    let shown = path.display();
    let there = path.ancestors().find(|path| path.exists()).unwrap_or(path);
    if there != path {
        return match access(there, Access::WRITE_OK) {
            Ok(()) => Finding::ok(NAME, format!("{shown} does not exist and will be created")),
            Err(errno) => Finding::failed(
                NAME,
                format!("{shown} does not exist, and {} is not writable: {errno}", there.display()),
                "create it, and make the runner's user its owner",
            ),
        };
    }
    if let Err(errno) = access(path, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK) {
        let remedy = "make the runner's user its owner";
        return Finding::failed(NAME, format!("{shown} cannot be used: {errno}"), remedy);
    }
    let taken = fs::File::open(path.join("lock"))
        .is_ok_and(|lock| flock(&lock, FlockOperation::NonBlockingLockShared).is_err());
    Finding::ok(NAME, format!("{shown}{}", if taken { "; a running runner uses it" } else { "" }))
}

fn room(config: &RunnerConfig) -> Option<Finding> {
    const MIB: u64 = 1024 * 1024;
    let there = config.state_dir.ancestors().find(|path| path.exists())?;
    let disk = statvfs(there).ok()?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    let what = format!("{} MiB free", free / MIB);
    Some(match free > config.limits.disk_reserve_bytes {
        true => Finding::ok("disk", what),
        false => Finding::failed(
            "disk",
            format!("{what}, less than limits.disk_reserve_bytes"),
            "free disk space: until then, the runner refuses every command",
        ),
    })
}

/// Checks that no account of the host has a uid of the range.
fn accounts(config: &RunnerConfig) -> Finding {
    const NAME: &str = "uids";
    if UidIsolation::detect() == UidIsolation::None {
        return Finding::ok(NAME, "not used: the runner would not be root");
    }
    let first = config.uids.first;
    let last = first.saturating_add(config.uids.count.saturating_sub(1));
    let range = format!("{first} to {last}");
    let inside = |line: &str| {
        let mut parts = line.split(':');
        let name = parts.next()?.to_owned();
        let uid: u32 = parts.nth(1)?.parse().ok()?;
        (first..=last).contains(&uid).then_some(name)
    };
    let overlaps = |line: &str| {
        let mut parts = line.split(':');
        let name = parts.next()?.to_owned();
        let begins: u32 = parts.next()?.parse().ok()?;
        let count: u32 = parts.next()?.trim().parse().ok()?;
        (begins <= last && first < begins.saturating_add(count)).then_some(name)
    };
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let mut taken: Vec<String> = read("/etc/passwd").lines().filter_map(inside).collect();
    taken.extend(
        ["/etc/subuid", "/etc/subgid"]
            .iter()
            .flat_map(|path| read(path).lines().filter_map(overlaps).collect::<Vec<_>>()),
    );
    taken.dedup();
    match taken.is_empty() {
        true => Finding::ok(NAME, format!("{range}; no account has one of them")),
        false => Finding::failed(
            NAME,
            format!("{range}; {} uses the same ids", taken.join(", ")),
            "choose another uids.first: at its start, the runner ends every process with these uids",
        ),
    }
}

/// Checks whether commands can run outside the sandbox, if the configuration permits it.
fn outside(key: Outside) -> Option<Finding> {
    const NAME: &str = "floor.unsandboxed";
    match key {
        Outside::Closed => None,
        Outside::Open => Some(Finding::ok(NAME, "commands may run outside the sandbox, as a session's user")),
        Outside::NoUser => {
            Some(Finding::degraded(NAME, NO_USER, "commands outside the sandbox are refused", NO_USER_REMEDY))
        }
    }
}

fn directory(name: &str, path: &Path) -> Finding {
    let shown = path.display();
    match fs::read_dir(path) {
        Ok(_) => Finding::ok(name, shown.to_string()),
        Err(error) => Finding::failed(
            name,
            format!("{shown} cannot be read: {error}"),
            "create it, or correct the path",
        ),
    }
}

fn rootfs(path: &Path) -> Finding {
    const NAME: &str = "floor.rootfs";
    match is_hosts_root(path) {
        Ok(true) => Finding::failed(
            NAME,
            format!("{} is the host's own root", path.display()),
            "name a directory that contains a root file system; commands cannot use the host's",
        ),
        _ => directory(NAME, path),
    }
}

/// Checks that commands could connect to a socket that profiles may show.
fn socket(path: &Path, config: &RunnerConfig) -> Finding {
    const NAME: &str = "floor.unix_sockets";
    let shown = path.display();
    let failed = |seen: String, remedy: &str| Finding::failed(NAME, format!("{shown} {seen}"), remedy);
    let handle = match openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
        Ok(handle) => handle,
        Err(errno) => {
            let remedy =
                "start the service that creates it; until then, commands of profiles that list it fail";
            return failed(format!("does not exist: {errno}"), remedy);
        }
    };
    let is_socket =
        fstat(&handle).is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Socket);
    if !is_socket || fs::canonicalize(path).ok().as_deref() != Some(path) {
        return failed(
            "is not a socket, or its path contains a symbolic link".to_owned(),
            "use the path without symbolic links",
        );
    }
    let owner = (UidIsolation::detect() == UidIsolation::PerSession)
        .then_some((config.uids.first, config.uids.first));
    let own = format!("/proc/self/fd/{}", handle.as_raw_fd());
    let may = as_session(owner, || accessat(CWD, own.as_str(), Access::WRITE_OK, AtFlags::EACCESS).is_ok());
    match may {
        Ok(true) => Finding::ok(NAME, shown.to_string()),
        _ => failed(
            "is not writable by a session's user".to_owned(),
            "`chmod o+w` it, or an ACL for the uids of the configuration",
        ),
    }
}

async fn dialled(server: &ServerConfig) -> Vec<Finding> {
    let mut found = Vec::new();
    let Some((host, port)) = place(&server.endpoint) else { return found };
    let named = [("ca", &server.ca), ("cert", &server.cert), ("key", &server.key)];
    for (name, path) in named.into_iter().filter_map(|(name, path)| Some((name, path.as_ref()?))) {
        if let Err(error) = fs::File::open(path) {
            let what = format!("{} cannot be read: {error}", path.display());
            found.push(Finding::failed(name, what, "create it, or correct the path"));
        }
    }
    let ca = server.ca.clone().map(|path: PathBuf| read(&path)).transpose();
    let trust = match ca {
        Ok(ca) => ca.map(|ca| Trust { ca, name: server.server_name.clone().unwrap_or_else(|| host.clone()) }),
        // Reported above.
        Err(_) => return found,
    };
    found.extend(reach(&Target { host, port, trust }).await);
    for finding in &mut found {
        finding.name = format!("{} {}", server.endpoint, finding.name);
    }
    found
}

fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut std::io::Read::take(fs::File::open(path)?, FILE_BYTES), &mut bytes)?;
    Ok(bytes)
}

/// Returns host and port of an endpoint.
fn place(endpoint: &str) -> Option<(String, u16)> {
    let uri: Uri = endpoint.parse().ok()?;
    let port = uri.port_u16().unwrap_or(if uri.scheme_str() == Some("http") { 80 } else { 443 });
    Some((uri.host()?.to_owned(), port))
}
