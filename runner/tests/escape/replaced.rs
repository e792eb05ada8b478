//! Attempts of a command to write a secret of the runner such that it is not replaced. At most three bytes of it at one
//! place appear in the stream, in the spool's files, and in the result.

use std::{fs, path::Path};

use airlock_domain::{ExecutionId, ExecutionResult, OutputStream};

use crate::{
    fixture::grant,
    site::{Needs, Site},
    suite::Attempt,
};

const VALUE: &str = "Zq7-Zq7-hunter2-Zq7-Zq8";
const NAME: &str = "DEPLOY_TOKEN";
const TAG: &str = "[secret DEPLOY_TOKEN]";

/// A script that writes the secret in `$S`, in pieces that are read separately, and the expected number of
/// replacements.
struct Writes(&'static str, usize);

/// Returns every text that could contain it: the stream, the spool's files, and the result.
async fn told(site: &mut Site, id: ExecutionId, result: &ExecutionResult) -> Vec<String> {
    let mut all = vec![site.it.text(id, OutputStream::Stdout).await];
    all.push(format!("{:?}", result.inline.as_ref().unwrap()));
    let directory = site.it.state("spool").join(id.to_string());
    let files = fs::read_dir(Path::new(&directory)).unwrap();
    all.extend(
        files.map(|file| String::from_utf8_lossy(&fs::read(file.unwrap().path()).unwrap()).into_owned()),
    );
    all
}

impl Attempt for Writes {
    fn needs(&self) -> Needs {
        let env = vec![("THE_VALUE".to_owned(), VALUE.to_owned())];
        Needs { env, tables: "[secrets.env]\nDEPLOY_TOKEN = \"THE_VALUE\"\n", ..Needs::default() }
    }

    async fn make(self, site: &mut Site) {
        let session = site.session().await;
        // These four bytes occur nowhere else. A text that contains them reveals too much of the secret.
        let words = format!("S={VALUE}; {}", self.0);
        let mut named = grant(session, &words);
        named.profile.secrets = vec![NAME.to_owned()];
        let (id, result) = site.run(named).await;
        let told_of = told(site, id, &result).await;
        assert_eq!(told_of[0].matches(TAG).count(), self.1, "{}", &told_of[0][..told_of[0].len().min(400)]);
        for text in &told_of {
            assert!(!text.contains("hunt") && !text.contains("Zq8"), "{}", &text[..text.len().min(400)]);
        }
        println!("stopped by what replaces secrets, {} times", self.1);

        let (id, result) = site.run(grant(session, &words)).await;
        let told_of = told(site, id, &result).await;
        assert!(told_of[0].contains(VALUE), "control: a secret that the profile does not name is visible");
        site.controlled();
    }
}

attempts! {
    at_once: Writes("echo \"a $S b $S$S\"", 3);
    one_byte_at_a_time: Writes("for ((i = 0; i < ${#S}; i++)); do printf %s \"${S:i:1}\"; sleep 0.01; done", 1);
    in_two_writes: Writes("for i in 1 2 3 4 5 9 15 22; do printf %s \"${S::i}\"; sleep 0.05; printf '%s\\n' \"${S:i}\"; done", 8);
    behind_a_megabyte_of_its_beginning: Writes(
        "for ((i = 0; i < 18; i++)); do p+=${S:0:8}; done; for ((i = 0; i < 13; i++)); do p+=$p; done; printf %s \"$p$S\"", 1);
    between_two_of_its_beginnings: Writes("printf %s \"Zq7-Zq7\"; sleep 0.05; printf %s \"-$S\"; sleep 0.05; printf Zq7-", 1);
    by_both_streams: Writes("printf %s \"${S::9}\" >&2; sleep 0.05; printf %s \"${S:9}\"", 1);
    by_another_process: Writes("export S; printf %s \"${S::9}\"; sleep 0.05; bash -c 'printf %s \"${S:9}\"'", 1);
    as_the_last_bytes_of_a_command_that_is_killed: Writes("printf %s \"$S\"; (printf %s \"$S\"; kill -9 $BASHPID); true", 2);
}
