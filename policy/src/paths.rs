//! Paths that commands name: where they lead, whether that is inside, and whether
//! the name is protected. Lexical only; symlinks are the runner's to resolve.

mod disguise;
mod writers;

pub(crate) use writers::{WriterPaths, redirect_reads, redirect_writes, writer_paths};

use crate::analysis::Directory;
use crate::decision::{Access, Span};
use crate::parse::Word;
use crate::readonly::PathWord;
use crate::tables::names;

/// The directories that count as inside.
#[derive(Debug, Clone)]
pub(crate) struct Places<'a> {
    pub(crate) workspace: &'a str,
    pub(crate) home: &'a str,
    pub(crate) additional: &'a [String],
}

/// Where a path leads.
#[derive(Debug, Clone)]
pub(crate) struct Located {
    /// Absolute and normalised; of a glob or an unknown word, the part before.
    pub(crate) path: String,
    pub(crate) access: Access,
    pub(crate) span: Span,
    /// Whether the whole path is known.
    pub(crate) exact: bool,
    /// The whole glob, where it is one.
    pub(crate) glob: Option<String>,
    pub(crate) outside: bool,
    pub(crate) protected: bool,
}

impl Places<'_> {
    fn inside(&self, path: &str) -> bool {
        let below = |root: &str| {
            let root = root.trim_end_matches('/');
            path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        names::is_nobodys(path)
            || below(self.workspace)
            || below(self.home)
            || below("/tmp")
            || self.additional.iter().any(|root| below(root))
    }
}

/// Where the word leads from each directory the shell may be in.
pub(crate) fn locate(path: &PathWord, directory: &Directory, places: &Places<'_>) -> Vec<Located> {
    let word = &path.word;
    let glob = word.glob.then(|| String::from_utf8_lossy(&word.lead).into_owned());
    let writes = path.access != Access::Read;
    let hits_protected = writes && glob.as_deref().is_some_and(disguise::may_be_protected);
    let make = |text: String, outside: bool, exact: bool, base: &str| Located {
        protected: writes && (hits_protected || disguise::is_protected(&text)),
        glob: glob.as_deref().map(|glob| crate::analysis::join(base, glob)),
        path: text,
        access: path.access,
        span: word.span,
        exact,
        outside,
    };
    if word.foreign_home {
        return vec![make("~".to_owned(), true, false, "/")];
    }
    let exact = word.text.is_some();
    let text = known_part(word);
    if exact && (text.is_empty() || text == "-") {
        return Vec::new();
    }
    // A `..` behind a part that is not known may lead anywhere.
    let climbs =
        word.climbs || disguise::is_foreign(&text) || glob.as_deref().is_some_and(|glob| glob.contains(".."));
    if text.starts_with('/') {
        let path = crate::analysis::join("/", &text);
        let outside = climbs || !places.inside(&path);
        return vec![make(path, outside, exact, "/")];
    }
    let Some(possible) = directory.possible() else {
        return vec![make(text.clone(), !text.is_empty() || exact, exact, "/")];
    };
    possible
        .iter()
        .map(|base| {
            let path = crate::analysis::join(base, &text);
            let outside = climbs || !places.inside(&path);
            make(path, outside, exact, base)
        })
        .collect()
}

/// The path, or the directory before the first part that is not known.
fn known_part(word: &Word) -> String {
    if let Some(text) = &word.text {
        return String::from_utf8_lossy(text).into_owned();
    }
    let lead = String::from_utf8_lossy(&word.lead).into_owned();
    let known = match lead.find(['*', '?', '[']).filter(|_| word.glob) {
        Some(at) => lead.get(..at).unwrap_or_default(),
        None => lead.as_str(),
    };
    match known.rfind('/') {
        Some(0) => "/".to_owned(),
        Some(at) => known.get(..at).unwrap_or_default().to_owned(),
        None => String::new(),
    }
}
