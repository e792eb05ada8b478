//! Tests of many concurrent commands in one workspace: each change is found once.

use std::collections::BTreeMap;

use super::*;

#[test]
fn each_change_is_found_once_and_given_back_as_it_was() {
    let mut random = fastrand::Rng::with_seed(4);
    let mut world = World::new();
    world.put("keep/.mcp.json", "mine");
    world.put("keep/file", "mine");
    let (mut alive, mut made) = (Vec::new(), BTreeMap::new());
    let mut found = Vec::new();
    for number in 0..200 {
        alive.push(world.begin(writer()));
        if number % 3 == 0 {
            let (path, content) = (format!("d{number}/.bashrc"), format!("content {number}\n"));
            world.put(&path, &content);
            made.insert(path, content);
        }
        world.put(&format!("d{number}/file"), "mine");
        while alive.len() >= 8 || (number == 199 && !alive.is_empty()) {
            let id = alive.swap_remove(random.usize(..alive.len()));
            if random.usize(..10) == 0 && !alive.is_empty() {
                world.guard.abandon(id);
            } else {
                found.extend(world.end(id));
            }
        }
    }
    let mut told: Vec<_> = told(&found);
    told.sort();
    let expected: Vec<_> = made.keys().map(|path| quarantined(path, "created")).collect();
    let mut expected = expected;
    expected.sort();
    assert_eq!(told, expected);
    assert!((0..200).all(|number| world.has(&format!("d{number}/file"))));
    for held in world.guard.list().unwrap() {
        world.restore(&held.id).unwrap();
    }
    assert!(made.iter().all(|(path, content)| world.get(path) == *content));
    assert_eq!(world.get("keep/.mcp.json"), "mine");
}

#[test]
fn what_one_command_was_decided_about_stays_when_another_ends_first() {
    let mut world = World::new();
    let clones = world.begin(with_git(&["clone"]));
    let other = world.begin(writer());
    world.git("", &["init", "-q", "clone"]);
    assert_eq!(world.end(other), []);
    world.put("clone/.vscode/settings.json", "{}");
    let third = world.begin(writer());
    world.guard.abandon(clones);
    assert_eq!(world.end(third), [], "its end was not observed, so it counts until the next comparison");
    world.put("clone/.bashrc", "x");
    assert_eq!(told(&world.run(writer(), |_| {})), [quarantined("clone/.bashrc", "created")]);
}

#[test]
fn a_writer_that_goes_on_writes_into_the_quarantine_and_makes_no_ghost() {
    let mut world = World::new();
    let long = world.begin(writer());
    let mut file = fs::File::create(world.at(".bashrc")).unwrap();
    let found = world.run(writer(), |_| {});
    assert_eq!(told(&found), [quarantined(".bashrc", "created")]);
    file.write_all(b"later").unwrap();
    assert_eq!(world.end(long), []);
    assert!(!world.has(".bashrc"));
    let held = world.guard.list().unwrap().remove(0);
    assert_eq!(held.size, 5);
    world.restore(&held.id).unwrap();
    assert_eq!(world.get(".bashrc"), "later");
}
