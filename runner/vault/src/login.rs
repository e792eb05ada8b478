//! The token of the runner: from a file, or from a login with the token of its Kubernetes service account.

use std::{fs::File, io::Read as _, path::PathBuf, sync::Arc};

use serde::Serialize;
use tokio::{sync::Mutex, task::spawn_blocking};
use zeroize::Zeroizing;

use crate::{
    answer,
    api::{Api, Ask},
    error::VaultError,
    kept::Lifetime,
    settings::encoded,
};

/// The longest token in a file, in bytes.
const TOKEN: u64 = 16 * 1024;

/// A token. It has no `Debug` form.
pub(crate) type Token = Arc<Zeroizing<String>>;

/// The logins of a runner.
#[derive(Default)]
pub(crate) struct Login {
    /// The token of the last login.
    held: Mutex<Option<(Token, Lifetime)>>,
}

#[derive(Serialize)]
struct Credentials<'a> {
    role: &'a str,
    jwt: &'a str,
}

impl Login {
    /// Returns a token, other than the one that the server has refused.
    ///
    /// # Errors
    /// [`VaultError::Forbidden`] if the file still contains the refused token; otherwise the failure of the file or of
    /// the login.
    pub(crate) async fn token(&self, api: &Api, refused: Option<&Token>) -> Result<Token, VaultError> {
        let Some(role) = &api.settings().kubernetes_role else {
            let token = of_file(api.settings().token_file.clone()).await?;
            let is_new = refused.is_none_or(|refused| ***refused != **token);
            return if is_new { Ok(token) } else { Err(VaultError::Forbidden) };
        };
        let mut held = self.held.lock().await;
        let is_usable = |token: &Token| refused.is_none_or(|refused| ***refused != ***token);
        if let Some((token, _)) = held.as_ref().filter(|(token, time)| time.is_fresh() && is_usable(token)) {
            return Ok(Arc::clone(token));
        }
        let (token, lifetime) = log_in(api, role).await?;
        *held = Some((Arc::clone(&token), lifetime));
        Ok(token)
    }
}

async fn log_in(api: &Api, role: &str) -> Result<(Token, Lifetime), VaultError> {
    let settings = api.settings();
    let jwt = of_file(settings.token_file.clone()).await?;
    let body = serde_json::to_vec(&Credentials { role, jwt: &jwt }).map_err(|_| VaultError::Malformed)?;
    // The configuration was checked.
    let mount = encoded(&settings.kubernetes_mount).ok_or(VaultError::Malformed)?;
    let path = format!("/v1/auth/{mount}/login");
    let answer = api.ask(Ask { path: &path, token: None, body: Some(body), is_in_namespace: true }).await?;
    match answer.status.as_u16() {
        200 => {}
        status @ 400..500 if status != 429 => return Err(VaultError::Login(status)),
        status => return Err(VaultError::Unavailable(status)),
    }
    let found = answer::token(&answer.body)?;
    Ok((Arc::new(found.value), Lifetime::new(found.lease)))
}

/// Reads a token without blanks around it.
async fn of_file(path: PathBuf) -> Result<Token, VaultError> {
    let read = move || {
        let mut text = Zeroizing::new(String::new());
        File::open(path)?.take(TOKEN).read_to_string(&mut text).map(|_| text)
    };
    let failed = |error: std::io::Error| VaultError::TokenFile(error.to_string());
    let text = spawn_blocking(read).await.unwrap_or_else(|error| Err(error.into())).map_err(failed)?;
    let token = text.trim();
    if token.is_empty() {
        return Err(VaultError::TokenFile("it is empty".to_owned()));
    }
    Ok(Arc::new(Zeroizing::new(token.to_owned())))
}
