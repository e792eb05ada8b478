//! The API keys, each with its identity at Airlock. An identity that may use the mode `bypass` is refused.

use std::{fmt, sync::Arc};

use airlock_client::{
    Client, Credentials, Files, Settings,
    v1::{Mode, PageRequest, PolicyServiceListProfilesRequest, Profile, ProfileView},
};
use tokio::sync::{Mutex, Semaphore};

use super::{
    config::{E2bConfig, KeyConfig, OnAsk, ServerConfig},
    refusal::{Kind, Refusal},
    token::KeyHash,
};

/// The profiles of one page.
const PAGE: i32 = 100;
/// The pages of profiles that are read.
const PAGES: usize = 20;

/// One API key and its identity.
pub(crate) struct Account {
    /// The name of the key.
    pub(crate) name: String,
    /// The profile of the sandboxes.
    pub(crate) profile: String,
    pub(crate) on_ask: OnAsk,
    /// One permit for each sandbox.
    pub(crate) places: Arc<Semaphore>,
    /// Held while a request with an idempotency key creates a sandbox.
    pub(crate) creating: Arc<Mutex<()>>,
    hash: KeyHash,
    client: Client,
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Account {
    /// Reads the credentials of a key. Connects at the first call. Needs a runtime.
    ///
    /// # Errors
    /// Returns text if a file cannot be read or the settings are invalid.
    pub(crate) async fn new(key: &KeyConfig, server: &ServerConfig) -> Result<Self, String> {
        let said = |error: String| format!("key `{}`: {error}", key.name);
        let hash = KeyHash::parse(&key.sha256).ok_or_else(|| said("its hash is invalid".to_owned()))?;
        let settings = settings(key, server).await.map_err(said)?;
        let client = Client::connect_lazy(settings).map_err(|error| said(error.to_string()))?;
        Ok(Self {
            name: key.name.clone(),
            profile: key.profile.clone(),
            on_ask: key.on_ask,
            places: Arc::new(Semaphore::new(usize::try_from(key.sandboxes).unwrap_or(usize::MAX))),
            creating: Arc::default(),
            hash,
            client,
        })
    }

    /// Returns the client of the identity. The caller has checked the identity, or uses a sandbox that was created after
    /// such a check.
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Returns the profile of new sandboxes, after a check of every profile that the identity can see.
    ///
    /// # Errors
    /// If one of them permits the mode `bypass`, or if the server cannot be asked.
    pub(crate) async fn profile(&self) -> Result<Profile, Refusal> {
        let mut token = String::new();
        for _ in 0..PAGES {
            let request = PolicyServiceListProfilesRequest {
                page: Some(PageRequest { page_size: PAGE, page_token: token }),
                view: ProfileView::Basic.into(),
                ..Default::default()
            };
            let page = self.client.policy().profiles(request).await?;
            if let Some(loose) = page.profiles.iter().find(|profile| permits_bypass(profile)) {
                return Err(self.too_loose(&loose.name));
            }
            token = page.next_page_token;
            if token.is_empty() {
                break;
            }
        }
        let profile = self.client.policy().profile(&self.profile, ProfileView::Basic).await?;
        if permits_bypass(&profile) {
            return Err(self.too_loose(&profile.name));
        }
        Ok(profile)
    }

    fn too_loose(&self, profile: &str) -> Refusal {
        let message = format!(
            "the identity of the API key `{}` sees the profile `{profile}`, which permits the mode bypass; give the key \
             an identity whose profiles do not permit it",
            self.name
        );
        Refusal::new(Kind::Denied, message)
    }
}

fn permits_bypass(profile: &Profile) -> bool {
    profile.modes().any(|mode| mode == Mode::Bypass) || profile.default_mode() == Mode::Bypass
}

async fn settings(key: &KeyConfig, server: &ServerConfig) -> Result<Settings, String> {
    let mut settings = Settings::new(server.address.as_str());
    settings.ca = Some(content(&server.ca).await?);
    settings.server_name.clone_from(&server.server_name);
    let mut files = Files { ca: Some(server.ca.clone()), ..Files::default() };
    match (&key.token_file, &key.cert, &key.cert_key) {
        (Some(token), _, _) => {
            let text = String::from_utf8(content(token).await?)
                .map_err(|_| format!("`{}` is not a token", token.display()))?;
            if text.trim().is_empty() {
                return Err(format!("`{}` has no token", token.display()));
            }
            settings.credentials = Credentials::Token(text.trim().to_owned());
            files.token = Some(token.clone());
        }
        (None, Some(chain), Some(private)) => {
            settings.credentials =
                Credentials::Certificate { chain: content(chain).await?, key: content(private).await? };
            files.certificate = Some((chain.clone(), private.clone()));
        }
        _ => return Err("it has no identity".to_owned()),
    }
    settings.files = Some(files);
    Ok(settings)
}

async fn content(path: &std::path::Path) -> Result<Vec<u8>, String> {
    tokio::fs::read(path).await.map_err(|error| format!("`{}` cannot be read: {error}", path.display()))
}

/// All API keys.
#[derive(Debug)]
pub(crate) struct Accounts(Vec<Arc<Account>>);

impl Accounts {
    /// Reads the credentials of every key.
    ///
    /// # Errors
    /// Returns text for the first key that cannot be used.
    pub(crate) async fn new(config: &E2bConfig) -> Result<Self, String> {
        let mut accounts = Vec::with_capacity(config.keys.len());
        for key in &config.keys {
            accounts.push(Arc::new(Account::new(key, &config.server).await?));
        }
        Ok(Self(accounts))
    }

    /// Returns the account of an API key. Every key is compared, so that the time does not depend on the position.
    pub(crate) fn of_key(&self, key: &str) -> Option<&Arc<Account>> {
        let hash = KeyHash::of(key);
        self.0
            .iter()
            .fold(None, |found, account| if account.hash.matches(&hash) { Some(account) } else { found })
    }

    /// Checks every identity. A server that cannot be reached now is no problem.
    ///
    /// # Errors
    /// Returns text for the first identity that may use the mode `bypass` or that the server does not accept.
    pub(crate) async fn check(&self) -> Result<(), String> {
        for account in &self.0 {
            match account.profile().await {
                Ok(_) => {}
                Err(refusal) if refusal.kind == Kind::Unavailable => {
                    eprintln!(
                        "airlock-e2b: the key `{}` could not be checked: {}",
                        account.name, refusal.message
                    );
                }
                Err(refusal) => return Err(format!("key `{}`: {}", account.name, refusal.message)),
            }
        }
        Ok(())
    }

    /// Returns accounts with these API keys, whose server does not exist.
    #[cfg(test)]
    pub(crate) fn unreachable(keys: &[&str]) -> Self {
        let account = |key: &&str| {
            let mut settings = Settings::new("http://127.0.0.1:1");
            settings.insecure_loopback = true;
            settings.patience.call = std::time::Duration::ZERO;
            Arc::new(Account {
                name: (*key).to_owned(),
                profile: String::new(),
                on_ask: OnAsk::Fail,
                places: Arc::new(Semaphore::new(2)),
                creating: Arc::default(),
                hash: KeyHash::of(key),
                client: Client::connect_lazy(settings).expect("the settings are valid"),
            })
        };
        Self(keys.iter().map(account).collect())
    }
}
