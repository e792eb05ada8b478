//! Tests of the state directory: permissions, the lock, and the files of a dev that died.

use super::*;

fn directory() -> (tempfile::TempDir, StateDirectory) {
    let temp = tempfile::tempdir().unwrap();
    let state = StateDirectory::locate(Some(&temp.path().join("deep/state"))).unwrap();
    (temp, state)
}

fn connection() -> Connection {
    Connection {
        address: "https://127.0.0.1:1".to_owned(),
        ca: "keys/ca.pem".into(),
        token_file: "keys/client.token".into(),
        pid: 77,
        profile: "agent".to_owned(),
        profiles: None,
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o777
}

#[test]
fn the_directory_is_its_owners_alone() {
    let (_temp, state) = directory();
    let _lock = state.take().unwrap();
    assert_eq!(mode(state.path()), 0o700);
    state.publish(&connection()).unwrap();
    assert_eq!(mode(&state.connection_path()), 0o600);
    assert_eq!(state.connection().unwrap(), connection());
}

#[test]
fn a_directory_that_others_can_look_into_is_closed() {
    let (_temp, state) = directory();
    fs::create_dir_all(state.path()).unwrap();
    fs::set_permissions(state.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let _lock = state.take().unwrap();
    assert_eq!(mode(state.path()), 0o700);
}

#[test]
fn a_second_dev_is_refused_and_told_who_is_there() {
    let (_temp, state) = directory();
    let lock = state.take().unwrap();
    state.publish(&connection()).unwrap();
    let error = state.take().unwrap_err().to_string();
    assert!(error.contains("another `airlock dev`") && error.contains("process 77"), "{error}");
    assert_eq!(state.connection().unwrap(), connection(), "the other process's files remain");
    drop(lock);
    let _next = state.take().unwrap();
}

#[test]
fn what_a_dead_dev_left_is_not_believed() {
    let (_temp, state) = directory();
    assert!(matches!(state.connection(), Err(StateError::NotRunning(_))));
    let lock = state.take().unwrap();
    assert!(matches!(state.connection(), Err(StateError::NotReady(_))));
    state.publish(&connection()).unwrap();
    drop(lock);
    let error = state.connection().unwrap_err();
    assert!(matches!(error, StateError::NotRunning(_)));
    assert!(error.to_string().contains("start one with `airlock dev`"));
    let _next = state.take().unwrap();
    assert!(matches!(state.connection(), Err(StateError::NotReady(_))), "the old file was removed");
}

#[test]
fn a_file_that_is_none_is_named() {
    let (_temp, state) = directory();
    let _lock = state.take().unwrap();
    for text in ["", "{}", "{\"address\": 1}", "[]"] {
        fs::write(state.connection_path(), text).unwrap();
        let error = state.connection().unwrap_err().to_string();
        assert!(error.contains("connection.json is not a connection file"), "{error}");
    }
    fs::write(state.connection_path(), vec![b' '; 70_000]).unwrap();
    assert!(state.connection().unwrap_err().to_string().contains("over 65536 bytes"));
}

#[test]
fn a_look_makes_nothing() {
    let (_temp, state) = directory();
    fs::create_dir_all(state.path()).unwrap();
    assert!(matches!(state.connection(), Err(StateError::NotRunning(_))));
    assert_eq!(fs::read_dir(state.path()).unwrap().count(), 0);
    // A directory that cannot be read is not reported as a dev that does not run.
    fs::create_dir(state.lock_path()).unwrap();
    let inside = StateDirectory::locate(Some(&state.path().join("lock/file"))).unwrap();
    fs::remove_dir(state.lock_path()).unwrap();
    fs::write(state.lock_path(), "").unwrap();
    assert!(matches!(inside.connection(), Err(StateError::Io { .. })));
}
