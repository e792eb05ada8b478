//! Repositories and git settings that a command plants for the next one. They are removed after the command.

use airlock_domain::ViolationAction;

use crate::{fixture::grant, site::Site, suite::Attempt};

/// Files that make the workspace's root a bare repository, which git would find.
struct Bare(&'static [&'static str]);

const IS_REPOSITORY: &str = "git -c safe.bareRepository=all rev-parse --is-bare-repository >/dev/null 2>&1";

impl Attempt for Bare {
    async fn make(self, site: &mut Site) {
        let session = site.session().await;
        let mut told = Vec::new();
        for words in self.0 {
            told.extend(site.run(grant(session, words)).await.1.violations);
        }
        assert!(!told.is_empty() && told.iter().all(|one| one.kind == "bare_repository"), "{told:?}");
        assert!(told.iter().all(|one| one.action == ViolationAction::Quarantined), "{told:?}");
        let look = format!("{IS_REPOSITORY} && echo repository || echo none");
        assert_eq!(site.it.said(grant(session, &look)).await, "none\n");
        println!("stopped by the scrub of repositories: {} names", told.len());

        // A repository that a decision permitted stays.
        let session = site.session().await;
        let mut decided = grant(session, "git init -q --bare .");
        decided.decided.git = vec!["init --bare /workspace".to_owned()];
        assert_eq!(site.run(decided).await.1.violations, []);
        assert_eq!(site.it.said(grant(session, &look)).await, "repository\n", "the control");
        site.controlled();
    }
}

/// A setting that makes git run a program.
struct Setting {
    attack: &'static str,
    look: &'static str,
}

fn setting(attack: &'static str, look: &'static str) -> Setting {
    Setting { attack, look }
}

impl Attempt for Setting {
    async fn make(self, site: &mut Site) {
        for allowed in [false, true] {
            let session = site.session().await;
            let mut init = grant(session, "git init -q .");
            init.decided.git = vec!["init /workspace".to_owned()];
            assert_eq!(site.run(init).await.1.violations, []);
            let mut attack = grant(session, self.attack);
            attack.profile.protect.git_config = allowed;
            let (_, result) = site.run(attack).await;
            let kinds: Vec<_> = result.violations.iter().map(|one| (one.kind.as_str(), one.action)).collect();
            let found = site.it.said(grant(session, &format!("{} || echo none", self.look))).await;
            if allowed {
                assert_ne!(found, "none\n", "the control");
            } else {
                assert_eq!(kinds, [("git_config", ViolationAction::Quarantined)]);
                assert_eq!(found, "none\n");
                println!("stopped by quarantine: git_config");
            }
        }
        site.controlled();
    }
}

const MADE: &str = "git init -q --bare made && mv made/* . && rm -r made";
const BY_HAND: &str = "mkdir -p objects refs/heads && echo ref: refs/heads/main > HEAD && printf '[core]\\nfsmonitor = /tmp/x\\n' > config";

attempts! {
    a_bare_repository: Bare(&[MADE]);
    a_bare_repository_made_by_hand: Bare(&[BY_HAND]);
    a_bare_repository_in_pieces: Bare(&["mkdir -p objects refs/heads", "echo ref: refs/heads/main > HEAD"]);
    a_bare_repository_of_links: Bare(&["git init -q --bare ~/made && ln -s ~/made/HEAD ~/made/objects ~/made/refs ."]);

    a_file_system_monitor: setting("git config core.fsmonitor /tmp/x", "git config core.fsmonitor");
    an_alias: setting("git config alias.look '!/tmp/x'", "git config alias.look");
    a_filter: setting("git config filter.x.clean /tmp/x", "git config filter.x.clean");
    settings_included: setting("git config include.path /tmp/x", "git config include.path");
    settings_written_by_hand: setting("printf '[core]\\n\\tsshCommand = /tmp/x\\n' >> .git/config", "git config core.sshCommand");
    settings_moved_there: setting(
        "cp .git/config new && git config --file new diff.external /tmp/x && mv new .git/config", "git config diff.external");
}
