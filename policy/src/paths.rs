//! Paths that commands name: their absolute form, whether they are outside the workspace, and whether their names are
//! protected. The analysis is lexical; the runner resolves symlinks.

mod writers;

pub(crate) use writers::{WriterPaths, redirect_reads, redirect_writes, writer_paths};

use crate::analysis::Directory;
use crate::decision::{Access, Span};
use crate::parse::Word;
use crate::readonly::PathWord;
use crate::rules::overlap::may_meet;
use crate::tables::names;

/// The directories whose paths do not count as outside the workspace.
#[derive(Debug, Clone)]
pub(crate) struct Places<'a> {
    pub(crate) workspace: &'a str,
    pub(crate) home: &'a str,
    pub(crate) additional: &'a [String],
    /// The profile's readable roots for a sandboxed run, which may also read the base. `None` outside the sandbox.
    pub(crate) readable: Option<&'a [String]>,
}

/// A path in absolute form.
#[derive(Debug, Clone)]
pub(crate) struct Located {
    /// The absolute, normalized path. For a glob or an unknown word, the part before it.
    pub(crate) path: String,
    pub(crate) access: Access,
    pub(crate) span: Span,
    /// Whether the whole path is known.
    pub(crate) exact: bool,
    /// The whole glob, if the path is one.
    pub(crate) glob: Option<String>,
    /// Whether the text contains `..`.
    pub(crate) climbs: bool,
    pub(crate) outside: bool,
    pub(crate) protected: bool,
}

impl Places<'_> {
    fn inside(&self, path: &str) -> bool {
        names::is_unowned_file(path)
            || is_below(path, self.workspace)
            || is_below(path, self.home)
            || is_below(path, "/tmp")
            || self.additional.iter().any(|root| is_below(path, root))
    }

    /// Reports whether the sandbox shows the path, so that reading it needs no question. A root next to the
    /// workspace can be named relative to it (`../other/x`).
    fn shows(&self, path: &str, text: &str) -> bool {
        let climbs_later = climbs(text.trim_start_matches("../"));
        self.readable.is_some_and(|roots| {
            let of_base = !climbs(text) && names::is_base(path);
            of_base || (!climbs_later && roots.iter().any(|root| is_below(path, root)))
        })
    }

    /// Reports whether the names in the directory may be read.
    pub(crate) fn lists(&self, path: &str) -> bool {
        self.readable.is_some() && names::is_listed_directory(path)
    }
}

/// Reports whether the path is the root or is below it.
pub(crate) fn is_below(path: &str, root: &str) -> bool {
    let root = root.trim_end_matches('/');
    path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Reports whether the path contains `..`. After a symlink in a root, `..` leads to another directory than the text
/// shows.
fn climbs(text: &str) -> bool {
    text.split('/').any(|part| part == "..")
}

/// Returns the path of the word from each directory that the shell may be in.
pub(crate) fn locate(path: &PathWord, directory: &Directory, places: &Places<'_>) -> Vec<Located> {
    let word = &path.word;
    let glob = word.glob.then(|| String::from_utf8_lossy(&word.lead).into_owned());
    let writes = path.access != Access::Read;
    let hits_protected = writes && glob.as_deref().is_some_and(may_be_protected);
    let make = |text: String, outside: bool, exact: bool, base: &str| Located {
        protected: writes && (hits_protected || is_protected(&text)),
        glob: glob.as_deref().map(|glob| crate::analysis::join(base, glob)),
        path: text,
        access: path.access,
        span: word.span,
        exact,
        climbs: climbs(&String::from_utf8_lossy(&word.lead)),
        outside,
    };
    if word.foreign_home {
        return vec![make("~".to_owned(), true, false, "/")];
    }
    let exact = word.text.is_some();
    let text = known_part(word);
    let plain_read = !writes && (exact || word.glob);
    let is_outside = |path: &str| !(places.inside(path) || (plain_read && places.shows(path, &text)));
    if exact && (text.is_empty() || text == "-") {
        return Vec::new();
    }
    // A `..` after an unknown part can lead anywhere.
    let strays = word.climbs || is_foreign(&text) || glob.as_deref().is_some_and(|glob| glob.contains(".."));
    if text.starts_with('/') {
        let path = crate::analysis::join("/", &text);
        let outside = strays || is_outside(&path);
        return vec![make(path, outside, exact, "/")];
    }
    let Some(possible) = directory.possible() else {
        return vec![make(text.clone(), !text.is_empty() || exact, exact, "/")];
    };
    possible
        .iter()
        .map(|base| {
            let path = crate::analysis::join(base, &text);
            let outside = strays || is_outside(&path);
            make(path, outside, exact, base)
        })
        .collect()
}

/// Returns the path, or the directory before the first unknown part.
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

/// Reports whether a file at this path controls other programs.
fn is_protected(path: &str) -> bool {
    let mut parts = path.split('/').filter(|part| !part.is_empty()).peekable();
    while let Some(part) = parts.next() {
        let is_last = parts.peek().is_none();
        let protects =
            |name: &str| names::is_protected_directory(name) || (is_last && names::is_protected_file(name));
        let plain = plain(part);
        if protects(&plain)
            || names::protected_names().any(|name| is_short_name(&plain, name) && protects(name))
        {
            return true;
        }
    }
    false
}

/// Reports whether the last component names a repository, also in a form that some file systems accept.
pub(crate) fn names_repository(path: &str) -> bool {
    const NAME: &str = ".git";
    let last = plain(path.rsplit('/').next().unwrap_or_default());
    last == NAME || is_short_name(&last, NAME)
}

/// Reports whether the glob can match a protected name.
///
/// Alternative spellings of protected names that some file systems accept: other letter cases,
/// streams, short names, device names, trailing dots. `HEAD~1`, `...` and a directory `aux` are not
/// alternative spellings of a protected name.
fn may_be_protected(glob: &str) -> bool {
    let lower = glob.to_lowercase();
    let is_glob = |part: &str| part.contains(['*', '?', '[']);
    let mut parts = lower.split('/').filter(|part| !part.is_empty()).peekable();
    while let Some(part) = parts.next() {
        let is_last = parts.peek().is_none();
        let protects = |name: &str| names::is_protected_directory(name) || is_last;
        if is_glob(part) && names::protected_names().any(|name| protects(name) && may_meet(part, name)) {
            return true;
        }
    }
    is_protected(&lower)
}

/// Returns a component of a path in lower case, without the characters that disguise it.
fn plain(part: &str) -> String {
    let visible = part.chars().filter(|c| !is_ignored(*c)).flat_map(char::to_lowercase);
    let folded: String = visible.map(|c| if c == 'ſ' { 's' } else { c }).collect();
    // `.git::$INDEX_ALLOCATION`
    let name = folded.split(':').next().unwrap_or_default();
    let name = name.trim_end_matches(['.', ' ']);
    match name.rsplit_once('.') {
        Some((stem, device)) if !stem.is_empty() && is_device(device) => stem.to_owned(),
        _ => name.to_owned(),
    }
}

/// Reports whether a file system may ignore the character in a name.
fn is_ignored(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{ad}')
}

fn is_device(name: &str) -> bool {
    matches!(name, "con" | "prn" | "aux" | "nul")
        || name
            .strip_prefix("com")
            .or_else(|| name.strip_prefix("lpt"))
            .is_some_and(|number| number.len() == 1 && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Recognizes a short name, such as `GIT~1` for `.git`.
fn is_short_name(part: &str, name: &str) -> bool {
    let Some((start, number)) = part.split_once('~') else {
        return false;
    };
    let letters: String = name.chars().filter(|c| *c != '.').take(6).collect();
    let numbered = number.split('.').next().unwrap_or_default();
    start == letters && !numbered.is_empty() && numbered.bytes().all(|byte| byte.is_ascii_digit())
}

/// Recognizes paths of Windows: `\\server\share`, `\\?\C:\x`.
fn is_foreign(path: &str) -> bool {
    path.starts_with(r"\\")
}
