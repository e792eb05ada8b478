//! Tests of reloading: which changes become active, and which versions stay active.

use std::{
    cell::Cell,
    fs, io,
    os::unix::fs::symlink,
    path::Path,
    sync::{Mutex, PoisonError},
    time::SystemTime,
};

use super::*;
use crate::{profiles::BuiltInSettings, shared::NoObserver};

/// Captured log output.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(data)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct World {
    folder: tempfile::TempDir,
    writes: Cell<u64>,
    reload: Reload,
    seen: Seen,
}

fn deny(name: &str, command: &str) -> String {
    format!("name = \"{name}\"\n[policy]\ndeny = [\"Bash({command})\"]\n")
}

impl World {
    /// Creates a directory with the profile `mine`, which the configuration names.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("mine.toml"), deny("mine", "one")).unwrap();
        let settings = BuiltInSettings { self_approval: true, ..BuiltInSettings::default() };
        let live = LiveProfiles::new(Profiles::load_with(&settings, Some(folder.path())).unwrap());
        let reload = Reload {
            folder: folder.path().to_owned(),
            built_in: Profiles::builtin_with(&settings),
            needed: Needed::new(["mine".to_owned(), "strict".to_owned()].into()),
            grace_most: Duration::from_secs(10),
            live,
            observer: Arc::new(NoObserver),
        };
        Self { folder, writes: Cell::new(0), reload, seen: Seen::default() }
    }

    /// Writes a file with a new modification time for each call.
    fn write(&self, name: &str, text: &str) {
        self.writes.set(self.writes.get() + 1);
        let mut file = fs::File::create(self.path(name)).unwrap();
        io::Write::write_all(&mut file, text.as_bytes()).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(self.writes.get())).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Makes the two scans that a change requires. Returns their log output.
    fn look(&mut self) -> String {
        let log = Log::default();
        let writer = log.clone();
        let subscriber =
            tracing_subscriber::fmt().with_writer(move || writer.clone()).with_ansi(false).finish();
        tracing::subscriber::with_default(subscriber, || {
            self.reload.look(&mut self.seen);
            self.reload.look(&mut self.seen);
        });
        let bytes = log.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    /// Returns the active deny rules, or `None` if the profile does not exist.
    fn rules(&self, name: &str) -> Option<Vec<String>> {
        let profile = self.reload.live.get(name)?;
        Some(profile.policy.rules().deny.iter().map(|rule| rule.text().to_owned()).collect())
    }
}

fn one(rule: &str) -> Option<Vec<String>> {
    Some(vec![format!("Bash({rule})")])
}

#[test]
fn what_changes_comes_into_force_when_it_has_been_still_for_a_look() {
    let mut world = World::new();
    assert_eq!(world.look(), "", "nothing has changed");
    let before = world.reload.live.get("mine").unwrap();
    world.write("mine.toml", &deny("mine", "two"));
    world.reload.look(&mut world.seen);
    assert_eq!(world.rules("mine"), one("one"), "it may be half written");
    world.reload.look(&mut world.seen);
    assert_eq!(world.rules("mine"), one("two"));
    let after = world.reload.live.get("mine").unwrap();
    assert_ne!(before.policy.policy_version(), after.policy.policy_version());
    world.write("new.toml", &deny("new", "x"));
    let said = world.look();
    assert!(said.contains("INFO") && said.contains("changed=[\"new\"]"), "{said}");
    assert!(world.reload.live.get("strict").unwrap().self_approval, "the built-in profiles are unchanged");
}

#[test]
fn a_broken_file_leaves_its_last_good_version_and_the_others_go_on() {
    let mut world = World::new();
    world.write("mine.toml", "name = \"mine\"\n[policy]\ndeny = [\"Bosh(x)\", \"Bash(\"]\n");
    world.write("other.toml", &deny("other", "x"));
    let said = world.look();
    assert_eq!((world.rules("mine"), world.rules("other")), (one("one"), one("x")));
    let errors: Vec<&str> = said.lines().filter(|line| line.contains("ERROR")).collect();
    assert_eq!(errors.len(), 2, "{said}");
    assert!(
        errors[0].contains("mine.toml:3:9: `policy.deny[0]`: ")
            && errors[0].contains("the last valid version stays active")
    );
    assert_eq!(world.look(), "", "it is reported once");
    world.write("mine.toml", &deny("mine", "mended"));
    world.look();
    assert_eq!(world.rules("mine"), one("mended"));
    world.write("mine.toml", "");
    assert!(world.look().contains("the file is empty"));
    fs::write(world.path("mine.toml"), [0xff]).unwrap();
    assert!(world.look().contains("not UTF-8"));
    assert_eq!(world.rules("mine"), one("mended"));
}

#[test]
fn a_broken_new_file_is_no_profile() {
    let mut world = World::new();
    world.write("new.toml", "name = \"new\"\nnonsense = 1\n");
    assert!(world.look().contains("new.toml:2:1"));
    assert_eq!(world.rules("new"), None);
}

#[test]
fn a_profile_whose_own_tests_fail_or_whose_parent_is_gone_stays_as_it_was() {
    let mut world = World::new();
    world.write("child.toml", &format!("extends = \"mine\"\n{}", deny("child", "c")));
    world.look();
    let both = Some(vec!["Bash(one)".to_owned(), "Bash(c)".to_owned()]);
    assert_eq!(world.rules("child"), both);
    let failing = format!("{}[[policy.test]]\ncommand = \"ls\"\nexpect = \"deny\"\n", deny("mine", "two"));
    world.write("mine.toml", &failing);
    assert!(world.look().contains("`ls` is allowed"));
    assert_eq!(world.rules("child"), both, "by the active version of the parent");
    world.write("mine.toml", &deny("mine", "three"));
    world.look();
    assert_eq!(
        world.rules("child").unwrap()[0],
        "Bash(three)",
        "a change of a parent also changes its children"
    );
    world.write("child.toml", "name = \"child\"\nextends = \"nowhere\"\n");
    assert!(world.look().contains("`nowhere` is not loaded"));
    assert_eq!(world.rules("child").unwrap()[0], "Bash(three)");
    world.write("mine.toml", "name = \"mine\"\nextends = \"child\"\n");
    world.write("child.toml", "name = \"child\"\nextends = \"mine\"\n");
    assert_eq!(world.look().matches("circular").count(), 2);
    assert_eq!(world.rules("mine"), one("three"));
}

#[test]
fn a_file_that_is_gone_takes_its_profile_along_unless_the_configuration_names_it() {
    let mut world = World::new();
    world.write("other.toml", &deny("other", "x"));
    world.look();
    fs::remove_file(world.path("other.toml")).unwrap();
    fs::remove_file(world.path("mine.toml")).unwrap();
    let said = world.look();
    assert_eq!((world.rules("mine"), world.rules("other")), (one("one"), None));
    assert!(
        said.contains("mine.toml: the file was removed, but the configuration names its profile; restore it"),
        "{said}"
    );
    assert!(said.contains("gone=[\"other\"]"), "{said}");
}

#[test]
fn what_does_not_go_together_with_the_configuration_is_not_taken() {
    let mut world = World::new();
    world.write("mine.toml", &format!("{}[limits]\ngrace = \"11s\"\n", deny("mine", "two")));
    world.write("new.toml", &format!("{}[limits]\ngrace = \"11s\"\n", deny("new", "x")));
    world.write("strict.toml", &deny("strict", "x"));
    let said = world.look();
    assert_eq!((world.rules("mine"), world.rules("new")), (one("one"), None));
    assert_eq!(world.rules("strict"), Some(vec![]));
    assert!(
        said.contains("`limits.grace` is longer than") && said.contains("is a built-in profile"),
        "{said}"
    );
}

#[test]
fn a_folder_that_cannot_be_listed_leaves_everything() {
    let mut world = World::new();
    world.look();
    let aside = world.folder.path().with_extension("aside");
    fs::rename(world.folder.path(), &aside).unwrap();
    let said = world.look();
    assert_eq!(said.matches("cannot be read").count(), 1, "{said}");
    assert_eq!(world.rules("mine"), one("one"));
    fs::rename(&aside, world.folder.path()).unwrap();
    world.write("mine.toml", &deny("mine", "two"));
    world.look();
    assert_eq!(world.rules("mine"), one("two"));
}

/// A ConfigMap as Kubernetes mounts it: all files are links through a single link, which is replaced.
#[test]
fn a_swap_of_the_folder_behind_links_is_seen() {
    let mut world = World::new();
    fs::remove_file(world.path("mine.toml")).unwrap();
    let publish = |folder: &Path, version: &str, rule: &str| {
        fs::create_dir(folder.join(version)).unwrap();
        fs::write(folder.join(version).join("mine.toml"), deny("mine", rule)).unwrap();
        symlink(version, folder.join("..tmp")).unwrap();
        fs::rename(folder.join("..tmp"), folder.join("..data")).unwrap();
    };
    publish(world.folder.path(), "..1", "one");
    symlink("..data/mine.toml", world.path("mine.toml")).unwrap();
    assert_eq!(world.look(), "");
    publish(world.folder.path(), "..2", "two");
    world.look();
    assert_eq!(world.rules("mine"), one("two"));
    fs::remove_file(world.path("..data")).unwrap();
    assert!(world.look().contains("there is no such file"));
    assert_eq!(world.rules("mine"), one("two"), "a link that leads nowhere");
}

#[test]
fn a_write_that_leaves_size_and_times_as_they_are_comes_into_force() {
    let mut world = World::new();
    world.write("mine.toml", &deny("mine", "two"));
    world.look();
    world.write("mine.toml", &deny("mine", "six"));
    // As if both writes had the same timestamp.
    world.seen.applied.as_mut().unwrap().0 = folder::stamp(world.folder.path()).unwrap();
    assert_eq!(world.rules("mine"), one("two"));
    let deadline = std::time::Instant::now() + airlock_store::testing::PATIENCE;
    while world.rules("mine") != one("six") {
        assert!(std::time::Instant::now() < deadline, "it is never read again");
        std::thread::sleep(Duration::from_millis(50));
        world.look();
    }
}
