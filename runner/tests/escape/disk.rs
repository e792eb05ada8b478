//! Attempts to exceed a session's disk limit that is enforced by counting: the command is ended.

use airlock_domain::Cause;

use crate::{
    fixture::{GROWS, grant},
    site::{LONG, Needs, Site},
    suite::Attempt,
};

/// A command that fills the disk.
struct Fill(&'static str);

const LIMITED: &str = "[workspace]\nbytes = 8388608\ninodes = 200\nwatch_every = \"50ms\"\n";

impl Fill {
    /// Fills the disk and then runs `then`.
    async fn tried(&self, site: &mut Site, then: &str) -> Cause {
        let session = site.session().await;
        let mut grant = grant(session, &format!("{} && {{ {then}; }}", self.0));
        grant.command.timeout = LONG;
        let id = site.it.offer(grant).await;
        site.end(id).await.cause
    }
}

impl Attempt for Fill {
    fn needs(&self) -> Needs {
        Needs { tables: LIMITED, ..Needs::default() }
    }

    async fn make(self, site: &mut Site) {
        assert_eq!(self.tried(site, GROWS).await, Cause::DiskLimit);
        println!("stopped by the watch of the disk");
        let mut unlimited = Site::start(site.user(), Needs::default()).await;
        assert_eq!(self.tried(&mut unlimited, "sleep 3").await, Cause::Exited { code: 0 }, "the control");
        unlimited.stop();
        site.controlled();
    }
}

attempts! {
    bytes_of_one_file: Fill("head -c 32M /dev/zero > file");
    bytes_of_many_files_in_all_folders:
        Fill("for i in {1..10}; do head -c 1M /dev/zero > ~/$i; head -c 1M /dev/zero > /tmp/$i; done");
    bytes_of_files_in_folders:
        Fill("for i in {1..20}; do mkdir $i; head -c 1M /dev/zero > $i/file; done");
    inodes_of_empty_files: Fill("for i in {1..300}; do : > $i; done");
    inodes_of_folders_in_each_other: Fill("for i in {1..300}; do mkdir ~/d && cd -P ~/d && HOME=$PWD; done");
    inodes_of_links: Fill("for i in {1..300}; do ln -s x /tmp/$i; done");
}
