//! The keys of `airlock dev`: an authority, a certificate for the server, one for the runner, and the
//! client's token. Made once, kept, and made anew only when they are no good any more.

use std::{
    fs,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, PublicKeyData as _,
};
use sha2::{Digest as _, Sha256};
use x509_parser::{certificate::X509Certificate, pem::Pem};

use crate::state::{StateError, read_bounded, write_secret};

/// The name in the server's certificate.
pub(super) const SERVER_NAME: &str = "localhost";
/// The name in the runner's certificate.
pub(super) const RUNNER_NAME: &str = "dev-runner";

const AUTHORITY_NAME: &str = "airlock dev authority";
const DAY: Duration = Duration::from_secs(24 * 3600);
const AUTHORITY_VALID: Duration = Duration::from_secs(10 * 365 * 24 * 3600);
const LEAF_VALID: Duration = Duration::from_secs(365 * 24 * 3600);
/// What has less than this left is made anew.
const RENEW_BEFORE: Duration = Duration::from_secs(30 * 24 * 3600);
const FILE_BYTES: u64 = 64 * 1024;
const TOKEN_BYTES: usize = 32;

/// Where the keys are.
#[derive(Debug, Clone)]
pub(super) struct Keys {
    pub(super) ca: PathBuf,
    pub(super) server: Files,
    pub(super) runner: Files,
    pub(super) token_file: PathBuf,
    /// SHA-256 of the token, in hexadecimal.
    pub(super) token_sha256: String,
}

/// A certificate and its key.
#[derive(Debug, Clone)]
pub(super) struct Files {
    pub(super) certificate: PathBuf,
    pub(super) key: PathBuf,
}

/// Why there are no keys.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    /// A file cannot be used.
    #[error(transparent)]
    File(#[from] StateError),
    /// A key or certificate cannot be made.
    #[error("the {what} cannot be made: {source}")]
    Make {
        /// Which.
        what: &'static str,
        /// Why.
        source: rcgen::Error,
    },
    /// The system gives no random bytes.
    #[error("the system gives no random bytes for the token: {0}")]
    Random(getrandom::Error),
}

impl Keys {
    /// The keys in `folder`, made where they are missing or no good at `now`. Must be called by one
    /// process at a time.
    ///
    /// # Errors
    /// See [`KeysError`].
    pub(super) fn ensure(folder: &Path, now: SystemTime) -> Result<Self, KeysError> {
        make_folder(folder)?;
        let files = |name: &str| Files {
            certificate: folder.join(format!("{name}.pem")),
            key: folder.join(format!("{name}.key")),
        };
        let authority = Authority::ensure(&files("ca"), now)?;
        let (server, runner) = (files("server"), files("runner"));
        authority.ensure_leaf(&server, Leaf::Server, now)?;
        authority.ensure_leaf(&runner, Leaf::Runner, now)?;
        let token_file = folder.join("client.token");
        let token_sha256 = ensure_token(&token_file)?;
        Ok(Self { ca: files("ca").certificate, server, runner, token_file, token_sha256 })
    }
}

fn make_folder(folder: &Path) -> Result<(), StateError> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|source| StateError::Io { what: "making", path: folder.to_owned(), source })
}

/// Who signs.
struct Authority {
    pem: Pem,
    issuer: Issuer<'static, KeyPair>,
}

#[derive(Clone, Copy)]
enum Leaf {
    Server,
    Runner,
}

impl Authority {
    fn ensure(files: &Files, now: SystemTime) -> Result<Self, KeysError> {
        let failed = |source| KeysError::Make { what: "authority", source };
        if let Some(pair) = Kept::read(files, now).filter(|kept| kept.is_signed_by(&kept.pem)) {
            let issuer = Issuer::new(authority_params(now), pair.key);
            return Ok(Self { pem: pair.pem, issuer });
        }
        let params = authority_params(now);
        let key = KeyPair::generate().map_err(failed)?;
        let text = params.self_signed(&key).map_err(failed)?.pem();
        write(files, &text, &key)?;
        let pem = parse(text.as_bytes()).ok_or_else(|| failed(rcgen::Error::CouldNotParseCertificate))?;
        Ok(Self { pem, issuer: Issuer::new(params, key) })
    }

    fn ensure_leaf(&self, files: &Files, leaf: Leaf, now: SystemTime) -> Result<(), KeysError> {
        if Kept::read(files, now).is_some_and(|kept| kept.is_signed_by(&self.pem)) {
            return Ok(());
        }
        let what = match leaf {
            Leaf::Server => "server certificate",
            Leaf::Runner => "runner certificate",
        };
        let failed = |source| KeysError::Make { what, source };
        let params = leaf_params(leaf, now).map_err(failed)?;
        let key = KeyPair::generate().map_err(failed)?;
        let certificate = params.signed_by(&key, &self.issuer).map_err(failed)?;
        write(files, &certificate.pem(), &key)
    }
}

fn authority_params(now: SystemTime) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = named(AUTHORITY_NAME);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.not_before = (now - DAY).into();
    params.not_after = (now + AUTHORITY_VALID).into();
    params
}

fn leaf_params(leaf: Leaf, now: SystemTime) -> Result<CertificateParams, rcgen::Error> {
    let (names, common_name, usage): (&[&str], _, _) = match leaf {
        Leaf::Server => {
            (&[SERVER_NAME, "127.0.0.1", "::1"], SERVER_NAME, ExtendedKeyUsagePurpose::ServerAuth)
        }
        Leaf::Runner => (&[], RUNNER_NAME, ExtendedKeyUsagePurpose::ClientAuth),
    };
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name = named(common_name);
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![usage];
    params.not_before = (now - DAY).into();
    params.not_after = (now + LEAF_VALID).into();
    Ok(params)
}

fn named(common_name: &str) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, common_name);
    name
}

/// A certificate and key that fit each other and are valid for a while yet.
struct Kept {
    pem: Pem,
    key: KeyPair,
}

impl Kept {
    fn read(files: &Files, now: SystemTime) -> Option<Self> {
        let pem = parse(&read_bounded(&files.certificate, FILE_BYTES).ok()?)?;
        let key = String::from_utf8(read_secret(&files.key)?).ok()?;
        let key = KeyPair::from_pem(&key).ok()?;
        let certificate = pem.parse_x509().ok()?;
        let ends = u64::try_from(certificate.validity().not_after.timestamp()).ok()?;
        let needed = (now + RENEW_BEFORE).duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs();
        let fits = certificate.public_key().subject_public_key.data.as_ref() == key.der_bytes();
        (ends > needed && fits).then_some(Self { pem, key })
    }

    fn is_signed_by(&self, authority: &Pem) -> bool {
        let check = |certificate: X509Certificate<'_>, authority: X509Certificate<'_>| {
            certificate.verify_signature(Some(authority.public_key())).is_ok()
        };
        match (self.pem.parse_x509(), authority.parse_x509()) {
            (Ok(certificate), Ok(authority)) => check(certificate, authority),
            _ => false,
        }
    }
}

fn parse(text: &[u8]) -> Option<Pem> {
    let (_, pem) = x509_parser::pem::parse_x509_pem(text).ok()?;
    pem.parse_x509().is_ok().then_some(pem)
}

/// The bytes of a file that nobody else could read; a key that was open to others is no good.
fn read_secret(path: &Path) -> Option<Vec<u8>> {
    let metadata = fs::metadata(path).ok()?;
    let ours = metadata.uid() == nix::unistd::geteuid().as_raw();
    let closed = metadata.permissions().mode() & 0o077 == 0;
    (ours && closed).then(|| read_bounded(path, FILE_BYTES).ok())?
}

/// The key first: a certificate without its key is found wanting and made anew.
fn write(files: &Files, certificate: &str, key: &KeyPair) -> Result<(), KeysError> {
    write_secret(&files.key, key.serialize_pem().as_bytes())?;
    write_secret(&files.certificate, certificate.as_bytes())?;
    Ok(())
}

fn ensure_token(path: &Path) -> Result<String, KeysError> {
    let kept = read_secret(path).and_then(|bytes| String::from_utf8(bytes).ok());
    let kept = kept.map(|text| text.trim().to_owned()).filter(|text| text.len() == 2 * TOKEN_BYTES);
    let token = match kept {
        Some(token) => token,
        None => {
            let mut bytes = [0; TOKEN_BYTES];
            getrandom::fill(&mut bytes).map_err(KeysError::Random)?;
            let token = hex::encode(bytes);
            write_secret(path, token.as_bytes())?;
            token
        }
    };
    Ok(hex::encode(Sha256::digest(token.as_bytes())))
}

#[cfg(test)]
mod tests;
