//! The bearer token of the HTTP transport, and the file that holds it.

use std::{
    fs,
    io::{self, Read as _, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::Path,
};

use subtle::ConstantTimeEq as _;

/// The number of random bytes of a new token.
const RANDOM_BYTES: usize = 32;
/// The shortest and the longest token in bytes.
const LENGTH: std::ops::RangeInclusive<usize> = 16..=1024;
/// The mode of a new file.
const MODE: u32 = 0o600;

/// A bearer token.
#[derive(Clone)]
pub struct Token(String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(..)")
    }
}

impl Token {
    /// Reads the token of a file. A missing file is created with a new random token, readable by its owner only.
    ///
    /// # Errors
    /// Returns text if the file cannot be read or written, if other users can read it, or if its token is too short.
    pub fn of_file(path: &Path) -> Result<Self, String> {
        let shown = path.display();
        match fs::OpenOptions::new().write(true).create_new(true).mode(MODE).open(path) {
            Ok(file) => {
                return created(file).map_err(|error| {
                    // An empty file would be refused at the next start.
                    let _ = fs::remove_file(path);
                    format!("cannot write the token file `{shown}`: {error}")
                });
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                return Err(format!(
                    "cannot create the token file `{shown}`: {error}; name another with --http-token-file"
                ));
            }
        }
        let unreadable = |error: io::Error| format!("cannot read the token file `{shown}`: {error}");
        let file = fs::File::open(path).map_err(unreadable)?;
        if file.metadata().map_err(unreadable)?.mode() & 0o077 != 0 {
            return Err(format!(
                "other users can read the token file `{shown}`; restrict it: chmod 600 {shown}"
            ));
        }
        let mut text = String::new();
        file.take(*LENGTH.end() as u64 + 2).read_to_string(&mut text).map_err(unreadable)?;
        let token = text.trim();
        let is_visible = token.bytes().all(|byte| byte.is_ascii_graphic());
        if !LENGTH.contains(&token.len()) || !is_visible {
            return Err(format!(
                "the token file `{shown}` has no token of {} to {} visible ASCII characters; remove it, and a new one is \
                 created",
                LENGTH.start(),
                LENGTH.end()
            ));
        }
        Ok(Self(token.to_owned()))
    }

    /// Reports whether the header `authorization` has this token. The time does not depend on the position of a
    /// difference.
    pub(crate) fn matches(&self, header: &[u8]) -> bool {
        let Some((scheme, given)) = header.split_at_checked(SCHEME.len()) else { return false };
        scheme.eq_ignore_ascii_case(SCHEME) && bool::from(given.ct_eq(self.0.as_bytes()))
    }
}

/// The start of the header.
const SCHEME: &[u8] = b"Bearer ";

fn created(mut file: fs::File) -> io::Result<Token> {
    let mut random = [0; RANDOM_BYTES];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    let token = hex::encode(random);
    file.write_all(format!("{token}\n").as_bytes())?;
    file.sync_all()?;
    Ok(Token(token))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_new_file_is_private_and_keeps_its_token() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("token");
        let token = Token::of_file(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, MODE);
        let again = Token::of_file(&path).unwrap();
        assert_eq!(token.0, again.0);
        assert_eq!(token.0.len(), 2 * RANDOM_BYTES);
        assert!(!format!("{token:?}").contains(&token.0));
    }

    #[test]
    fn a_file_that_others_can_read_or_without_a_token_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("token");
        let told = |text: &str, mode: u32| {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            Token::of_file(&path).unwrap_err()
        };
        assert!(told("0123456789abcdef0123", 0o644).contains("chmod 600"));
        for bad in ["", "short", "0123456789 abcdef0123", &"x".repeat(2000)] {
            assert!(told(bad, 0o600).contains("remove it"), "{bad}");
        }
        let missing = Token::of_file(&directory.path().join("no/such"));
        assert!(missing.unwrap_err().contains("--http-token-file"));
    }

    #[test]
    fn only_the_whole_token_matches() {
        let token = Token("0123456789abcdef".to_owned());
        assert!(token.matches(b"Bearer 0123456789abcdef"));
        assert!(token.matches(b"bearer 0123456789abcdef"));
        for wrong in [
            "",
            "Bearer",
            "Bearer ",
            "Bearer 0123456789abcde",
            "Bearer 0123456789abcdef0",
            "Basic 0123456789abcdef",
        ] {
            assert!(!token.matches(wrong.as_bytes()), "{wrong}");
        }
    }
}
