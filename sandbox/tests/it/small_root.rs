//! A root file system of a few files: bash and the files that a probe needs.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Copies bash and `programs` with their libraries into a new directory below `parent`.
pub(crate) fn make(parent: &Path, programs: &[&Path]) -> PathBuf {
    let root = parent.join("root");
    let mut files: BTreeSet<PathBuf> = ["/bin/bash".into()].into();
    files.extend(programs.iter().map(|program| program.to_path_buf()));
    for program in files.clone() {
        let said = Command::new("ldd").arg(&program).output().unwrap();
        let said = String::from_utf8(said.stdout).unwrap();
        let words = said.split_whitespace().filter(|word| word.starts_with('/'));
        files.extend(words.map(PathBuf::from));
    }
    for file in files {
        let copy = root.join(file.strip_prefix("/").unwrap());
        let above = copy.parent().unwrap();
        fs::create_dir_all(above).unwrap();
        fs::copy(&file, &copy).unwrap();
        for directory in above.ancestors().take_while(|directory| directory.starts_with(&root)) {
            fs::set_permissions(directory, PermissionsExt::from_mode(0o755)).unwrap();
        }
    }
    root
}
