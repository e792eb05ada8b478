//! Attempts on protected names that are not mounts: the created or changed file is moved into quarantine, and the
//! previous file is restored.

use airlock_domain::{DecidedPath, Grant, PathAccess, ProtectAction, SessionId, ViolationAction};

use crate::{fixture::grant, site::Site, suite::Attempt};

/// An attempt on one protected name.
struct Plant {
    /// Commands that create the legitimate initial state.
    before: &'static str,
    attack: &'static str,
    /// The protected name, relative to the workspace.
    name: &'static str,
    /// The path that a later program reads.
    read: &'static str,
    /// The contents that it must read.
    expected: &'static str,
}

const NOTHING: &str = "nothing\n";

/// An attempt that creates a missing name.
fn made(name: &'static str, attack: &'static str) -> Plant {
    Plant { before: "mkdir sub", attack, name, read: name, expected: NOTHING }
}

/// An attempt that changes the existing file `sub/.bashrc`.
fn changed(attack: &'static str) -> Plant {
    let name = "sub/.bashrc";
    Plant { before: "mkdir sub; echo kept > sub/.bashrc", attack, name, read: name, expected: "kept\n" }
}

impl Plant {
    fn reading(self, read: &'static str) -> Self {
        Self { read, ..self }
    }

    async fn session(&self, site: &mut Site) -> SessionId {
        let session = site.session().await;
        let mut before = grant(session, self.before);
        let path = format!("/workspace/{}", self.name).into_bytes();
        before.decided.paths = vec![DecidedPath { path, access: PathAccess::Write }];
        let (_, result) = site.run(before).await;
        assert_eq!(result.violations, [], "a command may create what its decision names");
        session
    }

    /// Returns the contents that the next command finds.
    async fn found(&self, site: &mut Site, session: SessionId) -> String {
        let look = format!("cat {} 2>/dev/null || echo nothing", self.read);
        site.it.said(grant(session, &look)).await
    }

    fn attack(&self, session: SessionId, action: ProtectAction) -> Grant {
        let mut attack = grant(session, self.attack);
        attack.profile.protect.action = action;
        attack
    }
}

impl Attempt for Plant {
    async fn make(self, site: &mut Site) {
        let session = self.session(site).await;
        let (_, result) = site.run(self.attack(session, ProtectAction::Quarantine)).await;
        let path = format!("/workspace/{}", self.name).into_bytes();
        let told = |violation: &&airlock_domain::Violation| violation.path == path;
        let told = result.violations.iter().find(told);
        assert_eq!(told.map(|told| told.action), Some(ViolationAction::Quarantined), "{result:?}");
        assert_eq!(self.found(site, session).await, self.expected);
        println!("stopped by quarantine: {}", told.unwrap().kind);

        // The same attempt when changes are only reported.
        let session = self.session(site).await;
        let (_, result) = site.run(self.attack(session, ProtectAction::Report)).await;
        assert!(result.violations.iter().all(|one| one.action == ViolationAction::Reported), "{result:?}");
        assert_eq!(self.found(site, session).await, "planted\n", "the control");
        site.controlled();
    }
}

attempts! {
    through_a_link_to_its_folder: made("sub/.bashrc", "ln -s sub link && echo planted > link/.bashrc");
    through_a_link_that_is_the_name: made("sub/.bashrc", "echo planted > plain && ln -s ../plain sub/.bashrc");
    through_a_link_that_dangled: made("sub/.bashrc", "ln -s sub/.bashrc link && echo planted > link");
    through_a_link_to_a_folder_elsewhere:
        made("sub/.vscode", "mkdir ~/made && echo planted > ~/made/settings.json && ln -s ~/made sub/.vscode")
            .reading("sub/.vscode/settings.json");
    a_change_through_a_link: changed("ln -s sub/.bashrc link && echo planted > link");
    a_change_through_links_to_links: changed("ln -s sub one && ln -s one two && echo planted > two/.bashrc");
    a_link_in_its_place: changed("echo planted > plain && ln -sf ../plain sub/.bashrc");

    by_a_hard_link: made("sub/.bashrc", "echo planted > plain && ln plain sub/.bashrc");
    by_a_hard_link_that_is_filled_later: made("sub/.bashrc", "touch plain && ln plain sub/.bashrc && echo planted > plain");
    a_change_through_a_hard_link: changed("ln sub/.bashrc other && echo planted > other");
    a_hard_link_in_its_place: changed("echo planted > plain && ln -f plain sub/.bashrc");

    by_a_rename: made("sub/.bashrc", "echo planted > plain && mv plain sub/.bashrc");
    by_a_rename_of_a_folder: made("sub/.vscode", "mkdir plain && echo planted > plain/settings.json && mv plain sub/.vscode")
        .reading("sub/.vscode/settings.json");
    by_a_rename_of_the_folder_around_it:
        made("new/.bashrc", "mkdir ~/made && echo planted > ~/made/.bashrc && mv ~/made new");
    by_a_rename_that_differs_in_case: made("sub/.BashRC", "echo planted > plain && mv plain sub/.BashRC");
    a_change_by_a_rename: changed("echo planted > plain && mv plain sub/.bashrc");
    the_folder_around_it_renamed: changed("mv sub away && mkdir sub && echo planted > sub/.bashrc");

    through_proc_self_root: made("sub/.bashrc", "echo planted > /proc/self/root/workspace/sub/.bashrc");
    through_the_root_of_the_shell: made("sub/.bashrc", "echo planted > plain && cp plain /proc/$$/root/workspace/sub/.bashrc");
    a_change_through_proc_self_root: changed("echo planted > /proc/self/root/workspace/sub/.bashrc");
    a_rename_through_proc_self_root: changed("echo planted > plain && mv plain /proc/self/root/workspace/sub/.bashrc");

    through_proc_self_fd: made("sub/.bashrc", "exec 3< sub && echo planted > /proc/self/fd/3/.bashrc");
    through_a_descriptor_of_the_shell: made("sub/.bashrc", "exec 3< sub; echo planted > plain; mv plain /proc/$$/fd/3/.bashrc");
    a_change_through_proc_self_fd: changed("exec 3< sub/.bashrc && echo planted > /proc/self/fd/3");
    a_change_of_what_was_moved_away: changed("exec 3< sub; mv sub away; mkdir sub; echo planted > /proc/self/fd/3/.bashrc; rmdir sub; mv away sub");
    through_proc_self_cwd: made("sub/.bashrc", "cd sub && echo planted > /proc/self/cwd/.bashrc");

    by_an_archive: made("sub/.bashrc", "mkdir -p ~/made && echo planted > ~/made/.bashrc && tar -C ~/made -cf a.tar .bashrc && tar -C sub -xf a.tar");
    by_a_program_that_is_left_running: made("sub/.bashrc", "setsid bash -c \"echo planted > sub/.bashrc; touch done; sleep 1000\" & until [ -e done ]; do :; done");
}
