//! Tests of keys: file permissions, lifetime and replacement.

use std::collections::BTreeMap;

use super::*;

const FILES: [&str; 8] = [
    "agent.token",
    "ca.key",
    "ca.pem",
    "client.token",
    "runner.key",
    "runner.pem",
    "server.key",
    "server.pem",
];

fn contents(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    fs::read_dir(directory)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())
        })
        .collect()
}

fn changed(before: &BTreeMap<String, Vec<u8>>, after: &BTreeMap<String, Vec<u8>>) -> Vec<String> {
    after
        .iter()
        .filter(|(name, bytes)| before.get(*name) != Some(bytes))
        .map(|(name, _)| name.clone())
        .collect()
}

#[test]
fn keys_are_made_closed_and_kept() {
    let temp = tempfile::tempdir().unwrap();
    let directory = temp.path().join("keys");
    let now = SystemTime::now();
    let keys = Keys::ensure(&directory, now).unwrap();
    assert_eq!(contents(&directory).keys().map(String::as_str).collect::<Vec<_>>(), FILES);
    for name in FILES {
        assert_eq!(fs::metadata(directory.join(name)).unwrap().mode() & 0o777, 0o600, "{name}");
    }
    assert_eq!(fs::metadata(&directory).unwrap().mode() & 0o777, 0o700);
    let token = fs::read(&keys.token_file).unwrap();
    assert_eq!(keys.token_sha256, hex::encode(Sha256::digest(&token)));
    let before = contents(&directory);
    Keys::ensure(&directory, now + 300 * DAY).unwrap();
    assert_eq!(before, contents(&directory), "valid certificates are kept");
}

#[test]
fn what_is_no_good_is_made_anew_and_nothing_else() {
    let temp = tempfile::tempdir().unwrap();
    let directory = temp.path().to_owned();
    let now = SystemTime::now();
    let leaves = ["runner.key", "runner.pem", "server.key", "server.pem"];
    let server = ["server.key", "server.pem"];
    let authority_and_leaves = ["ca.key", "ca.pem", "runner.key", "runner.pem", "server.key", "server.pem"];
    type Harm = fn(&Path);
    let harms: [(&str, Harm, &[&str]); 6] = [
        ("a key is missing", |f| fs::remove_file(f.join("server.key")).unwrap(), &server),
        ("a certificate is none", |f| fs::write(f.join("server.pem"), "x").unwrap(), &server),
        (
            "a key of another",
            |f| {
                fs::copy(f.join("runner.key"), f.join("server.key")).unwrap();
            },
            &server,
        ),
        (
            "a key was open to others",
            |f| fs::set_permissions(f.join("server.key"), fs::Permissions::from_mode(0o644)).unwrap(),
            &server,
        ),
        ("the authority is gone", |f| fs::remove_file(f.join("ca.pem")).unwrap(), &authority_and_leaves),
        ("the token is gone", |f| fs::remove_file(f.join("client.token")).unwrap(), &["client.token"]),
    ];
    Keys::ensure(&directory, now).unwrap();
    for (name, harm, expected) in harms {
        let before = contents(&directory);
        harm(&directory);
        Keys::ensure(&directory, now).unwrap();
        assert_eq!(changed(&before, &contents(&directory)), expected, "{name}");
    }
    let before = contents(&directory);
    Keys::ensure(&directory, now + 340 * DAY).unwrap();
    assert_eq!(changed(&before, &contents(&directory)), leaves, "soon over");
    let before = contents(&directory);
    Keys::ensure(&directory, now + 3640 * DAY).unwrap();
    assert_eq!(
        changed(&before, &contents(&directory)),
        authority_and_leaves,
        "every certificate has expired"
    );
}
