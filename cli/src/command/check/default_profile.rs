//! The default profile of `airlock check`: that of the server that would run the command.

use airlock_policy::Profile;

use super::{Failure, local_profile};
use crate::command::connect::Connect;
use airlock_client::v1;
use airlock_embedded::state::{Connection, StateError};

/// The default profile of a server that does not configure one.
const OF_A_SERVER: &str = "strict";

/// A profile, and a description of the server that uses it by default.
pub(super) struct DefaultProfile {
    pub(super) profile: Profile,
    pub(super) whose: String,
}

/// Returns the default profile of the named server, of the running dev, or of any server.
pub(super) fn of(connect: &Connect) -> Result<DefaultProfile, Failure> {
    if connect.names_address() {
        return of_server(connect);
    }
    let Some(directory) = connect.dev_directory() else {
        return of_any_server();
    };
    match directory.connection() {
        Ok(connection) => of_dev(&connection),
        Err(StateError::NotRunning(_) | StateError::NotReady(_)) => of_any_server(),
        Err(error) => Err(error.into()),
    }
}

fn of_any_server() -> Result<DefaultProfile, Failure> {
    let profile = local_profile::tested(OF_A_SERVER.as_ref())?;
    Ok(DefaultProfile { profile, whose: "a server (no `airlock dev` is running)".to_owned() })
}

/// Returns a built-in profile, or one from the dev's profile directory.
fn of_dev(connection: &Connection) -> Result<DefaultProfile, Failure> {
    let Connection { profile: name, profiles, .. } = connection;
    let file = profiles.as_ref().map(|directory| directory.join(format!("{name}.toml")));
    let file = file.filter(|_| Profile::builtin(name).is_none());
    let named = file.map_or_else(|| name.into(), std::path::PathBuf::into_os_string);
    Ok(DefaultProfile {
        profile: local_profile::tested(&named)?,
        whose: "the running `airlock dev`".to_owned(),
    })
}

/// Asks the server for the name of its default profile. The client has only the contents of built-in profiles.
fn of_server(connect: &Connect) -> Result<DefaultProfile, Failure> {
    // An error means that a provider is already installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(format!("cannot start the async runtime: {error}")))?;
    let found = runtime.block_on(async {
        let client = connect.client().await?;
        Ok::<_, Failure>(client.policy().profile("", v1::ProfileView::Basic).await?)
    })?;
    let profile = Profile::builtin(&found.name).ok_or_else(|| {
        Failure::usage(format!(
            "the server's default profile `{}` is not built in; pass its file with --profile",
            found.name.escape_debug()
        ))
    })?;
    Ok(DefaultProfile { profile, whose: "the server".to_owned() })
}
